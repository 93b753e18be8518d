// What happened, the newest first, at a glance: since the page was opened, and before.

import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api";
import { together, togetherText } from "../causes";
import { hubTime } from "../hub_clock";
import { t } from "../messages";
import { allLines, readPast } from "../past_events";
import { isCurrent, type Line, nameOf, silences } from "../state";
import { dayAndSecond, dayOfYear, minute, second } from "../times";

/** A line, and how often it stands there in a row; or what several cameras met at once. */
export interface Repeated {
  line: Line;
  count: number;
  /** The lines that it stands for, each of another camera. */
  of?: readonly Line[];
}

export function merged(all: readonly Line[]): Repeated[] {
  const found: Repeated[] = [];
  const causes = together(all);
  const told = new Set<readonly Line[]>();
  for (const line of all) {
    const group = causes.get(line);
    if (group) {
      if (!told.has(group)) found.push({ line: { ...line, text: togetherText(group), device: null }, count: 1, of: group });
      told.add(group);
      continue;
    }
    const before = found[found.length - 1];
    if (before && before.line.text === line.text && dayOf(before.line) === dayOf(line)) before.count += 1;
    else found.push({ line, count: 1 });
  }
  return found;
}

export const dayOf = (line: Line): string => new Date(line.time).toDateString();

/** Read the past as soon as the hub can be asked; the sentence why it could not. */
export function usePastLines(isAnew: boolean): string {
  const [fault, setFault] = useState("");
  const current = isCurrent.value;
  const silent = silences.value;
  useEffect(() => {
    if (!current) return;
    readPast(isAnew)
      .then(() => setFault(""))
      .catch((error: unknown) => setFault(error instanceof Problem ? error.message : t.hub.failed));
  }, [current, silent]);
  return fault;
}

/** The newest of them, beside the cameras; beside one camera, its own. */
export function EventsAtAGlance({ limit, of }: { limit: number; of: number | null }) {
  usePastLines(false);
  const lines = of === null ? allLines() : allLines().filter((line) => line.device === of);
  const shown = merged(lines.slice(0, 4 * limit)).slice(0, limit);
  return (
    <section class="panel" aria-labelledby="events-title">
      <h2 id="events-title" tabIndex={-1}>
        {t.events.title}
      </h2>
      {shown.length === 0 && <p class="line">{t.events.none}</p>}
      <div role="log" aria-live="off" aria-labelledby="events-title">
        <Lines lines={shown} />
      </div>
    </section>
  );
}

export const Lines = ({ lines, isExact = false }: { lines: readonly Repeated[]; isExact?: boolean }) => (
  <ol class="events">
    {lines.map(({ line, count, of }) => (
      <li key={line.number} class={line.tone}>
        <When time={line.time} isExact={isExact} />
        <span class="mark" aria-hidden="true" />
        <span>
          {line.kind === "hub" ? <bdi>{line.text}</bdi> : line.text}
          {count > 1 && <span class="number"> {t.events.times(count)}</span>}
          {of && <small> {t.events.namesOf([...new Set(of.map((one) => nameOf(one.device ?? 0)))])}</small>}
        </span>
      </li>
    ))}
  </ol>
);

/** The time, to the second where there is room for it, with the day where it is another, and how long ago that is. */
function When({ time, isExact }: { time: string; isExact: boolean }) {
  const isToday = new Date(time).toDateString() === new Date(hubTime.peek()).toDateString();
  const passed = Math.max(0, (hubTime.peek() - Date.parse(time)) / 1_000);
  return (
    <time dateTime={time} title={`${dayAndSecond(time)} (${t.events.ago(passed)})`}>
      {isExact ? second(time) : isToday ? minute(time) : `${dayOfYear(time)} ${minute(time)}`}
    </time>
  );
}
