// Takes: recordings that overlap, on one axis by the hub's clock, with who is missing, how far clocks are apart, and the files.

import { computed, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api";
import { hubTime } from "../hub_clock";
import { t } from "../messages";
import { takeWords } from "../messages/takes";
import { hasEarlier, isAllWanted, readTable, readTakes, takes, takesCause, takesFault } from "../read_takes";
import { records } from "../rig";
import { devices, isCurrent, silences } from "../state";
import { type Account, accountOf, isSomebodyMissing, keyOf, lasted, sentencesOf, sizeOfAll, sizeWords } from "../takes";
import { notify } from "../toasts";
import { dayBegin, dayWords, isDaysAgo, moment, second } from "../times";
import type { Take } from "../types";
import { Faults } from "./parts";
import { Lanes } from "./take_lanes";
import "./shared";

const FILTERS = ["today", "yesterday", "week", "all", "missing"] as const;
type Filter = (typeof FILTERS)[number];
const DAYS = 7;
/** So many are drawn at once, and so many of these are open by themselves: a phone is not held up. */
const SHOWN = 30;
const OPEN = 10;

// Kept while other views are open.
const filter = signal<Filter>("today");
/** What a person has opened or closed. */
const opened = signal<ReadonlyMap<number, boolean>>(new Map());

/** Which takes a filter shows: a take is of each day that it touches, and one that runs of today, too. */
function filtersNow(): Record<Filter, (take: Take) => boolean> {
  const [today, yesterday, week] = [dayBegin(0), dayBegin(1), dayBegin(DAYS - 1)];
  const endOf = ({ ended }: Take) => (ended === null ? Infinity : Date.parse(ended));
  return {
    today: (take) => endOf(take) >= today,
    yesterday: (take) => endOf(take) >= yesterday && Date.parse(take.time) < today,
    week: (take) => endOf(take) >= week,
    all: () => true,
    missing: isSomebodyMissing,
  };
}

/** Read them when the hub can be asked, anew after a silence, and when one may have changed. */
function useTakes(): void {
  const current = isCurrent.value;
  const silent = silences.value;
  const cause = takesCause.value;
  const before = useRef<typeof silent | null>(null);
  useEffect(() => {
    if (!current) return;
    const isAnew = before.current !== silent;
    before.current = silent;
    void readTakes(isAnew ? "anew" : "newest");
  }, [current, silent, cause]);
}

export default function Takes() {
  useTakes();
  const all = takes.value ?? [];
  const isOf = filtersNow();
  const [limit, setLimit] = useState(SHOWN);
  const found = all.filter(isOf[filter.value]);
  const choose = (one: Filter) => {
    filter.value = one;
    setLimit(SHOWN);
    if (one !== "all" || isAllWanted.value) return;
    isAllWanted.value = true;
    void readTakes("anew");
  };
  const list = useRef<HTMLOListElement>(null);
  // The button is further down, or gone: who pressed it goes on with what it brought.
  const showMore = () => {
    const go = () => requestAnimationFrame(() => list.current?.children[limit]?.querySelector("h3")?.focus());
    setLimit(limit + SHOWN);
    if (limit >= found.length) void readTakes("earlier").then(go);
    else go();
  };
  const isMore = found.length > limit;
  const isEarlier = isAllWanted.value && hasEarlier.value && (filter.value === "all" || filter.value === "missing");
  return (
    <section aria-labelledby="takes-title">
      <div class="section-head">
        <h2 id="takes-title" tabIndex={-1}>
          {takeWords.title}
        </h2>
        <button type="button" class="add" disabled={found.length === 0} onClick={() => void save(found)}>
          {takeWords.allAsCsv}
        </button>
        <div class="chips" role="group" aria-label={takeWords.filter}>
          {FILTERS.map((one) => (
            <button
              key={one}
              type="button"
              class={`chip${one === "missing" && all.some(isOf.missing) ? " attention" : ""}`}
              aria-pressed={filter.value === one}
              onClick={() => choose(one)}
            >
              {takeWords.filters[one]}
              {takes.value !== null && (one !== "all" || isAllWanted.value) && <span class="number"> {all.filter(isOf[one]).length}</span>}
            </button>
          ))}
        </div>
      </div>
      <Faults id="takes-fault" sentences={takesFault.value ? [takesFault.value] : undefined} />
      {takes.value === null && !takesFault.value && isCurrent.value && <progress aria-label={t.hub.takesLoading} />}
      {takes.value !== null && found.length === 0 && <None last={all[0]} onAll={() => choose("all")} />}
      <ol class="takes" ref={list} aria-labelledby="takes-title">
        {found.slice(0, limit).map((one, index) => (
          <TakePanel key={keyOf(one)} take={one} isNewest={one === all[0]} isFirst={index < OPEN} />
        ))}
      </ol>
      {(isMore || isEarlier) && (
        <p class="actions">
          <button type="button" onClick={showMore}>
            {isMore ? takeWords.more(Math.min(SHOWN, found.length - limit)) : takeWords.earlier}
          </button>
        </p>
      )}
    </section>
  );
}

/** Nothing to show, and where there is something. */
const None = ({ last, onAll }: { last: Take | undefined; onAll: () => void }) => (
  <div class="empty">
    <p>
      {takeWords.noneOf[filter.value]} {last && filter.value !== "missing" && takeWords.lastWas(moment(last.time))}
    </p>
    {filter.value !== "all" && (
      <button type="button" onClick={onAll}>
        {takeWords.showAll}
      </button>
    )}
  </div>
);

// Of all that the hub says of cameras, what takes are drawn anew for.
const namesText = computed(() => JSON.stringify([...devices.value.values()].map((one) => [one.id, one.name])));
const names = computed(() => new Map(JSON.parse(namesText.value) as [number, string][]));
const seenText = computed(() => JSON.stringify(isCurrent.value ? [...devices.value.values()].filter(records).map((one) => one.id) : []));
const seen = computed(() => new Set(JSON.parse(seenText.value) as number[]));

/** Whether a camera is known to record now. */
const isSeen = (id: number): boolean => seen.value.has(id);

/** The time now for one that runs, and when it was last known to. */
function useNow(isRunning: boolean): number {
  const last = useRef(hubTime.peek());
  if (isRunning && isCurrent.value) last.current = hubTime.value;
  return last.current;
}

interface PanelProps {
  take: Take;
  isNewest: boolean;
  /** Whether it is one of the first that are shown. */
  isFirst: boolean;
}

export function TakePanel({ take, isNewest, isFirst }: PanelProps) {
  const account = accountOf(named(take), isSeen);
  const key = keyOf(take);
  const isOpen = opened.value.get(key) ?? (isNewest || account.isRunning || (isFirst && account.isIncomplete));
  const toggle = () => (opened.value = new Map(opened.value).set(key, !isOpen));
  const from = fromWords(take);
  const title = `take-${key}`;
  const size = isOpen || account.isRunning ? null : sizeOfAll(take.recordings, null);
  return (
    <li class={`panel take${isOpen ? "" : " folded"}`}>
      <div class="take-head">
        <Count account={account} />
        <div class="take-words">
          <h3 id={title} tabIndex={-1}>
            <Title take={take} />
          </h3>
          <p>{sentencesOf(account, second)}</p>
        </div>
        {size && <span class="take-size">{sizeWords(size, false)}</span>}
        {isOpen && (
          <button type="button" onClick={() => void save([take])}>
            {takeWords.asCsv}
            <span class="visually-hidden">{takeWords.asCsvOf(from)}</span>
          </button>
        )}
        <button type="button" class="quiet icon fold" aria-expanded={isOpen} aria-label={takeWords.details(from)} onClick={toggle}>
          <svg viewBox="0 0 12 12" aria-hidden="true">
            <path d={isOpen ? "M2.5 4.5 6 8l3.5-3.5" : "M4.5 2.5 8 6l-3.5 3.5"} />
          </svg>
        </button>
      </div>
      {isOpen && <TakeLanes take={take} account={account} labelledBy={title} />}
    </li>
  );
}

/** Time passes for those alone that run. */
function TakeLanes({ take, account, labelledBy }: { take: Take; account: Account; labelledBy: string }) {
  const now = useNow(account.isRunning);
  return <Lanes account={account} from={Date.parse(take.time)} to={take.ended === null ? now : Date.parse(take.ended)} labelledBy={labelledBy} />;
}

/** Cameras by the names that they have now; those that are gone, by the ones that they had. */
function named(take: Take): Take {
  const renamed = <Row extends { device_id: number | null; device_name: string | null }>(row: Row): Row => {
    const name = row.device_id === null ? undefined : names.value.get(row.device_id);
    return name === undefined || name === row.device_name ? row : { ...row, device_name: name };
  };
  return { ...take, recordings: take.recordings.map(renamed), missing: take.missing.map(renamed) };
}

/** When it began, with the day where that is another one. */
const fromWords = ({ time }: Take): string => (isDaysAgo(time, 0) ? second(time) : takeWords.atTime(dayWords(time), second(time)));

function Title({ take }: { take: Take }) {
  const { time, ended } = take;
  const now = useNow(ended === null);
  const from = fromWords(take);
  if (ended === null) return <>{isCurrent.value ? takeWords.running(from, lasted(Date.parse(time), now)) : takeWords.wasRunning(from)}</>;
  const isSameDay = new Date(time).toDateString() === new Date(ended).toDateString();
  const to = isSameDay ? second(ended) : takeWords.atTime(dayWords(ended), second(ended));
  return <>{takeWords.span(from, to, lasted(Date.parse(time), Date.parse(ended)))}</>;
}

const SHAPES = {
  bad: "M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M2.9 2.9 9.1 9.1",
  busy: "M3 6h6M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9",
  good: "M2 6.5 5 9.5 10 3",
};

/** How many of how many: red while somebody can do something about it, amber after. */
function Count({ account: { there, total, isRunning, isIncomplete } }: { account: Account }) {
  if (isRunning && !isCurrent.value) return <span class="badge stale">{takeWords.wasCount(there, total)}</span>;
  const tone = isIncomplete ? (isRunning ? "bad" : "busy") : isRunning ? "recording" : "good";
  return (
    <span class={`badge count-${tone}`}>
      <svg class="shape" viewBox="0 0 12 12" aria-hidden="true">
        {tone === "recording" ? <circle cx="6" cy="6" r="5" /> : <path d={SHAPES[tone]} />}
      </svg>
      {takeWords.count(there, total)}
      <span class="visually-hidden">{takeWords.countOf}</span>
    </span>
  );
}

/** A download has begun by then. */
const KEPT_MS = 60_000;

/** Save takes as a table. */
async function save(wanted: readonly Take[]): Promise<void> {
  const first = wanted[wanted.length - 1];
  if (!first) return;
  try {
    const address = URL.createObjectURL(await readTable(wanted));
    const stamp = first.time.slice(0, 19).replace(/[^\dT]/g, "");
    Object.assign(document.createElement("a"), { href: address, download: `${wanted.length === 1 ? "take" : "takes"}-${stamp}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify("takes", takeWords.notSaved(error.message), "bad");
  }
}
