// All hubs of the broker and their cameras: counted, searched, and those in view drawn.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { STATES } from "../../camera_state";
import { t } from "../../messages";
import { fleetWords } from "../../messages/fleet";
import { hubs, isJoined, link } from "../broker";
import { changed, frame } from "../frame";
import { countsOf, type Filter, type KnownState, ordered, rowsOf } from "../rows";
import { CameraRow, HubRow } from "./rows";
import { isUnderHand, VisibleRows } from "./visible_rows";

const KNOWN_STATES: readonly KnownState[] = [...STATES, "unknown"];
const words = signal("");
const filter = signal<Filter>("");
const opened = signal<ReadonlySet<string>>(new Set());

const nameOf = (state: KnownState) => (state === "unknown" ? t.unknown : t.states[state]);

type Chip = readonly [filter: Filter, name: string, count: number];

/** The ids in the order in which they are shown: no row moves under a hand. */
let order: readonly string[] = [];
const isHeld = (): boolean => isUnderHand.value || document.querySelector(".fleet :focus-visible") !== null;

export function Fleet() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  void frame.value;
  const isLive = isJoined();
  const all = hubs.all;
  const counts = countsOf(all, isLive);
  const inOrder = ordered(all, isHeld() ? order : null);
  order = inOrder.map((one) => one.id);
  const rows = rowsOf(inOrder, { words: words.value.trim().toLowerCase(), filter: filter.value, isLive }, opened.value);
  const areAllOpen = all.length > 0 && opened.value.size >= all.length;

  const toggle = (id: string) => {
    const next = new Set(opened.value);
    if (!next.delete(id)) next.add(id);
    opened.value = next;
    changed();
  };
  const states = KNOWN_STATES.map((state) => [state, counts.cameras.get(state) ?? 0] as const);
  // The one that is chosen stays, with none left: the button keeps its place and the focus.
  const isThere = ([one, , number]: Chip): boolean => one === "" || number > 0 || one === filter.value;
  const ofHubs: Chip[] = [
    ["", t.cameras.all, all.length],
    ["attention", t.cameras.attention, counts.inNeed],
    ["offline", fleetWords.offline, isLive ? all.length - counts.online : 0],
  ];
  const ofCameras = states.map(([state, number]): Chip => [state, nameOf(state), number]);
  return (
    <section aria-labelledby="hubs-title">
      <div class="section-head camera-tools filtered finding">
        <h2 id="hubs-title" ref={heading} tabIndex={-1}>
          {isLive ? fleetWords.count(counts.online, all.length) : fleetWords.countUnknown(all.length)}
        </h2>
        <input
          type="search"
          class="find"
          aria-label={fleetWords.find}
          value={words.value}
          maxLength={200}
          onInput={(event) => ((words.value = event.currentTarget.value), changed())}
          placeholder={fleetWords.findHint}
          title={fleetWords.findWhat}
        />
        <div class="chips" role="group" aria-label={fleetWords.filter}>
          <Chips of={fleetWords.hubs} chips={ofHubs.filter(isThere)} />
          <Chips of={fleetWords.cameras} chips={ofCameras.filter(isThere)} />
        </div>
        <button
          type="button"
          disabled={all.length === 0}
          onClick={() => ((opened.value = new Set(areAllOpen ? [] : all.map((one) => one.id))), changed())}
        >
          {areAllOpen ? fleetWords.closeAll : fleetWords.openAll}
        </button>
      </div>
      {all.length === 0 && link.value === "live" && (
        <p class="empty">
          {fleetWords.none} {fleetWords.noneAdvice}
        </p>
      )}
      {all.length > 0 && rows.length === 0 && <p class="empty">{fleetWords.noMatches}</p>}
      <VisibleRows
        keys={rows.map((one) => one.key)}
        label={fleetWords.title}
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

/** What can be shown alone, of hubs or of cameras; nothing while there is none. */
function Chips({ of, chips }: { of: string; chips: readonly Chip[] }) {
  if (chips.length === 0) return null;
  return (
    <>
      <span class="chips-of">{of}</span>
      {chips.map(([one, name, number]) => (
        <button
          key={one}
          type="button"
          class={`chip ${one}`}
          data-count={one}
          aria-pressed={filter.value === one}
          onClick={() => ((filter.value = filter.value === one ? "" : one), changed())}
        >
          {name} <span class="number">{number}</span>
        </button>
      ))}
    </>
  );
}
