// What happened, the newest first, by day, camera and kind: since the page was opened, and before.

import { signal } from "@preact/signals";
import { t } from "../messages";
import { allLines, pastLines } from "../past_events";
import { printable } from "../sentences";
import { devices, type EventKind, isCurrent, type Line } from "../state";
import { dayWords } from "../times";
import { dayOf, Lines, merged, type Repeated, usePastLines } from "./events";
import { byText } from "./order";
import { Faults } from "./parts";
import "./shared";

const KINDS: readonly EventKind[] = ["connection", "recording", "hub"];
type Filter = "" | "bad" | EventKind;

// Kept while other views are open.
const filter = signal<Filter>("");
const camera = signal<number | null>(null);

const isShown = (line: Line): boolean =>
  (filter.value === "" || (filter.value === "bad" ? line.tone === "bad" : line.kind === filter.value)) &&
  (camera.value === null || line.device === camera.value);

export default function Events() {
  const fault = usePastLines(true);
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
            <Lines lines={ofDay} isExact />
          </div>
        ))}
      </div>
    </section>
  );
}
