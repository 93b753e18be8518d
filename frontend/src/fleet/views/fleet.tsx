// All hubs of the broker and their cameras: counted, searched, and those in view drawn.

import { signal } from "@preact/signals";
import { STATES } from "../../camera_state";
import { t } from "../../messages";
import { Shape } from "../../views/badge";
import { hubs, isJoined, link } from "../broker";
import { changed, frame } from "../frame";
import { countsOf, type Filter, type KnownState, rowsOf } from "../rows";
import { CameraRow, HubRow } from "./rows";
import { VisibleRows } from "./visible_rows";

const KNOWN_STATES: readonly KnownState[] = [...STATES, "unknown"];
const words = signal("");
const filter = signal<Filter>("");
const opened = signal<ReadonlySet<string>>(new Set());

const nameOf = (state: KnownState) => (state === "unknown" ? t.unknown : t.states[state]);

export function Fleet() {
  void frame.value;
  const isLive = isJoined();
  const all = hubs.all;
  const counts = countsOf(all, isLive);
  const rows = rowsOf(all, { words: words.value.trim().toLowerCase(), filter: filter.value, isLive }, opened.value);
  const areAllOpen = all.length > 0 && opened.value.size >= all.length;

  const toggle = (id: string) => {
    const next = new Set(opened.value);
    if (!next.delete(id)) next.add(id);
    opened.value = next;
    changed();
  };
  return (
    <section aria-labelledby="hubs-title">
      <div class="section-head">
        <h2 id="hubs-title" tabIndex={-1}>
          {isLive ? t.fleet.count(counts.online, all.length) : t.fleet.countUnknown(all.length)}
        </h2>
        <button
          type="button"
          class="quiet"
          disabled={all.length === 0}
          onClick={() => ((opened.value = new Set(areAllOpen ? [] : all.map((one) => one.id))), changed())}
        >
          {areAllOpen ? t.fleet.closeAll : t.fleet.openAll}
        </button>
      </div>
      <ul class="tally" aria-label={t.fleet.cameras(counts.total)}>
        {KNOWN_STATES.map((state) => (
          <li key={state} data-count={state}>
            <span class={`badge ${state === "unknown" ? "stale" : state}`}>
              {state !== "unknown" && <Shape state={state} />}
              {t.fleet.filterCount(nameOf(state), counts.cameras.get(state) ?? 0)}
            </span>
          </li>
        ))}
      </ul>
      <div class="tools">
        <label class="find">
          {t.fleet.find}
          <input
            type="search"
            value={words.value}
            maxLength={200}
            onInput={(event) => ((words.value = event.currentTarget.value), changed())}
            placeholder={t.fleet.findHint}
          />
        </label>
        <div>
          <label for="filter">{t.fleet.filter}</label>
          <select id="filter" value={filter.value} onChange={(event) => ((filter.value = event.currentTarget.value as Filter), changed())}>
            <option value="">{t.fleet.allHubs(all.length)}</option>
            <option value="online">{t.fleet.filterCount(t.fleet.online, counts.online)}</option>
            <option value="offline">{t.fleet.filterCount(t.fleet.offline, all.length - counts.online)}</option>
            {KNOWN_STATES.map((state) => (
              <option key={state} value={state}>
                {t.fleet.filterCount(nameOf(state), counts.cameras.get(state) ?? 0)}
              </option>
            ))}
          </select>
        </div>
      </div>
      {all.length === 0 && link.value === "live" && (
        <p class="empty">
          {t.fleet.none} {t.fleet.noneAdvice}
        </p>
      )}
      {all.length > 0 && rows.length === 0 && <p class="empty">{t.fleet.noMatches}</p>}
      <VisibleRows
        keys={rows.map((one) => one.key)}
        label={t.fleet.title}
        row={(index) => {
          const row = rows[index];
          if (!row) return null;
          const { hub, camera } = row;
          if (camera) return <CameraRow hub={hub} camera={camera} isLive={isLive} />;
          return <HubRow hub={hub} isOpen={rows[index + 1]?.hub === hub} onToggle={() => toggle(hub.id)} isLive={isLive} />;
        }}
      />
    </section>
  );
}
