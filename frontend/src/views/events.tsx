// What happened, the newest first: since the page was opened, and before.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api";
import { hubTime } from "../hub_clock";
import { t } from "../messages";
import { allLines, pastLines, readPast } from "../past_events";
import { printable } from "../sentences";
import { devices, type EventKind, isCurrent, type Line, silences } from "../state";
import { dayAndSecond, dayOfYear, dayWords, minute } from "../times";
import { byText } from "./order";
import { Faults } from "./parts";
import "./shared";

const KINDS: readonly EventKind[] = ["connection", "recording", "hub"];
type Filter = "" | "bad" | EventKind;

// Kept while other views are open.
const filter = signal<Filter>("");
const camera = signal<number | null>(null);

/** A line, and how often it stands there in a row. */
interface Repeated {
  line: Line;
  count: number;
}

function merged(all: readonly Line[]): Repeated[] {
  const found: Repeated[] = [];
  for (const line of all) {
    const before = found[found.length - 1];
    if (before && before.line.text === line.text && dayOf(before.line) === dayOf(line)) before.count += 1;
    else found.push({ line, count: 1 });
  }
  return found;
}

const dayOf = (line: Line): string => new Date(line.time).toDateString();

const isShown = (line: Line): boolean =>
  (filter.value === "" || (filter.value === "bad" ? line.tone === "bad" : line.kind === filter.value)) &&
  (camera.value === null || line.device === camera.value);

/** Read the past as soon as the hub can be asked; the sentence why it could not. */
function usePastLines(): string {
  const [fault, setFault] = useState("");
  const current = isCurrent.value;
  const silent = silences.value;
  useEffect(() => {
    if (!current) return;
    readPast()
      .then(() => setFault(""))
      .catch((error: unknown) => setFault(error instanceof Problem ? error.message : t.hub.failed));
  }, [current, silent]);
  return fault;
}

export function Events() {
  const fault = usePastLines();
  if (camera.value !== null && !devices.value.has(camera.value)) camera.value = null;
  const shown = merged(allLines().filter(isShown));
  const days = new Map<string, Repeated[]>();
  for (const one of shown) days.set(dayOf(one.line), [...(days.get(dayOf(one.line)) ?? []), one]);
  const chip = (value: Filter, words: string) => (
    <button key={value} type="button" class="chip" aria-pressed={filter.value === value} onClick={() => (filter.value = value)}>
      {words}
    </button>
  );
  return (
    <section aria-labelledby="events-title">
      <div class="section-head">
        <h2 id="events-title" tabIndex={-1}>
          {t.events.title}
        </h2>
        <select
          class="find"
          aria-label={t.camera.camera}
          value={camera.value ?? ""}
          onChange={(event) => (camera.value = event.currentTarget.value ? Number(event.currentTarget.value) : null)}
        >
          <option value="">{t.events.allCameras}</option>
          {[...devices.value.values()]
            .sort((one, other) => byText(one.name, other.name))
            .map((one) => (
              <option key={one.id} value={one.id}>
                {printable(one.name)}
              </option>
            ))}
        </select>
        <div class="chips" role="group" aria-label={t.events.kind}>
          {chip("", t.cameras.all)}
          {chip("bad", t.events.problems)}
          {KINDS.map((one) => chip(one, t.events.kinds[one]))}
        </div>
      </div>
      <Faults id="events-fault" sentences={fault ? [fault] : undefined} />
      {pastLines.value === null && !fault && isCurrent.value && <progress aria-label={t.camera.loading} />}
      {shown.length === 0 && pastLines.value !== null && <p class="empty">{t.events.none}</p>}
      <div role="log" aria-live="off" aria-labelledby="events-title">
        {[...days].map(([day, ofDay]) => (
          <div key={day}>
            <h3 class="day">{dayWords(day)}</h3>
            <Lines lines={ofDay} />
          </div>
        ))}
      </div>
    </section>
  );
}

/** The newest of them, beside the cameras; beside one camera, its own. */
export function EventsAtAGlance({ limit, of }: { limit: number; of: number | null }) {
  usePastLines();
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

const Lines = ({ lines }: { lines: readonly Repeated[] }) => (
  <ol class="events">
    {lines.map(({ line, count }) => (
      <li key={line.number} class={line.tone}>
        <When time={line.time} />
        <span class="mark" aria-hidden="true" />
        <span>
          {line.kind === "hub" ? <bdi>{line.text}</bdi> : line.text}
          {count > 1 && <span class="number"> {t.events.times(count)}</span>}
        </span>
      </li>
    ))}
  </ol>
);

/** The time, with the day where it is another, and how long ago that is. */
function When({ time }: { time: string }) {
  const isToday = new Date(time).toDateString() === new Date(hubTime.peek()).toDateString();
  // Seconds are in its title.
  const passed = Math.max(0, (hubTime.peek() - Date.parse(time)) / 1_000);
  return (
    <time dateTime={time} title={`${dayAndSecond(time)} (${t.events.ago(passed)})`}>
      {isToday ? minute(time) : `${dayOfYear(time)} ${minute(time)}`}
    </time>
  );
}
