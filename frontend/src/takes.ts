// What a take was, by its recordings: who recorded and when, who is missing and why, how far the begins lie apart. Values
// and words alone: nothing is read here, and no clock.

import { isEndSeen, type Loss } from "./losses";
import { t, textOf } from "./messages";
import { takeWords } from "./messages/takes";
import { elapsed, endWords, offsetWords } from "./reading";
import { printable } from "./sentences";
import type { MissingCamera, Recording, Take } from "./types";

/** Who begins later than this after the first was not told to together with it. */
const LATE_MS = 15_000;
/** Who ends by itself so shortly before all is over ends with it. */
const TOGETHER_MS = 2_000;

export interface Gap {
  from: number;
  to: number;
}

/**
 * How a camera took part: it records, it did to the end or until it was told to stop, it ended by itself before the
 * others, or its recording was not seen to end, and nobody knows whether it goes on.
 */
export type LaneState = "recording" | "whole" | "cut" | "unknown";

/** All of a take that one camera recorded. */
export interface Lane {
  key: string;
  id: number | null;
  name: string;
  /** The oldest first. */
  parts: readonly Recording[];
  begun: number;
  /** Null while it runs. */
  ended: number | null;
  state: LaneState;
  /** Where it recorded nothing between two of its recordings. */
  gaps: readonly Gap[];
}

/** What a take comes to. */
export interface Account {
  lanes: readonly Lane[];
  missing: readonly MissingCamera[];
  /** How many of them record, or recorded as they should. */
  there: number;
  /** How many cameras recorded or were expected to. */
  total: number;
  /** Milliseconds between the first and the last begin of those that began together; null with fewer than two. */
  spread: number | null;
  late: readonly Lane[];
  isRunning: boolean;
  /** Whether the hub's clock was set meanwhile: the times of its rows are by the clock of their own begins. */
  isClockSet: boolean;
  /** Whether a camera is missing, ended by itself, has a gap, or may not record. */
  isIncomplete: boolean;
}

const at = (time: string): number => Date.parse(time);

/** A take's own number: that of its first row, which no other take has. */
export const keyOf = (take: Take): number => Math.min(...take.recordings.map((one) => one.id));

/** Whose recording it is: of a row without a device only the name is known. */
const ownerOf = (row: Recording): string => (row.device_id === null ? `name ${row.device_name ?? ""}` : `device ${row.device_id}`);

/** A row outside of its take is by another clock. */
function isSetIn(take: Take): boolean {
  const end = take.ended === null ? Infinity : at(take.ended);
  return take.recordings.some(({ time, ended }) => at(time) < at(take.time) || (ended !== null && at(ended) > end));
}

/** The recordings by camera. `isSeen` says whether a camera is known to record now. */
function lanesOf(take: Take, isSeen: (id: number) => boolean, isClockSet: boolean): Lane[] {
  const owned = new Map<string, Recording[]>();
  for (const row of take.recordings) owned.set(ownerOf(row), [...(owned.get(ownerOf(row)) ?? []), row]);
  return [...owned].map(([key, rows]) => {
    const parts = rows.sort((one, other) => at(one.time) - at(other.time));
    const gaps = parts.slice(1).flatMap((part, index) => {
      const [from, to] = [at(parts[index]?.ended ?? part.time), at(part.time)];
      return to > from && !isClockSet ? [{ from, to }] : [];
    });
    const [first, last] = [parts[0], parts[parts.length - 1]] as [Recording, Recording];
    return {
      key,
      id: first.device_id,
      name: last.device_name ?? "",
      parts,
      begun: at(first.time),
      ended: last.ended === null ? null : at(last.ended),
      state: stateOf(take, last, isSeen),
      gaps,
    };
  });
}

function stateOf(take: Take, { device_id: id, ended, code }: Recording, isSeen: (id: number) => boolean): LaneState {
  if (ended === null) return id !== null && isSeen(id) ? "recording" : "unknown";
  const isEarly = take.ended === null || at(take.ended) - at(ended) > TOGETHER_MS;
  return isEarly && code !== "stopped" ? "cut" : "whole";
}

export function accountOf(take: Take, isSeen: (id: number) => boolean): Account {
  const isClockSet = isSetIn(take);
  const lanes = lanesOf(take, isSeen, isClockSet);
  const isRunning = take.ended === null;
  const first = Math.min(...lanes.map((one) => one.begun));
  const comparable = isClockSet ? [] : lanes;
  const late = comparable.filter((one) => one.begun - first > LATE_MS);
  const together = comparable.filter((one) => one.begun - first <= LATE_MS);
  const isThere = ({ state }: Lane) => (isRunning ? state === "recording" : state === "whole");
  return {
    lanes,
    missing: take.missing,
    there: lanes.filter(isThere).length,
    total: lanes.length + take.missing.length,
    spread: together.length > 1 ? Math.max(...together.map((one) => one.begun)) - first : null,
    late,
    isRunning,
    isClockSet,
    isIncomplete: take.missing.length > 0 || lanes.some(({ state, gaps }) => state === "cut" || state === "unknown" || gaps.length > 0),
  };
}

const incomplete = new WeakMap<Take, boolean>();

/** Whether a camera did not record, or ended by itself before the others. */
export function isSomebodyMissing(take: Take): boolean {
  const isKnown = incomplete.get(take) ?? (take.missing.length > 0 || lanesOf(take, () => true, false).some(({ state }) => state === "cut"));
  incomplete.set(take, isKnown);
  return isKnown;
}

/** How the link was lost that the recording ended with or outlived, by what its row says. */
function lossOf({ message }: Recording): Loss | null {
  if (/was switched off\.?$/.test(message ?? "")) return "off";
  return /while the camera was not connected/.test(message ?? "") ? "link" : null;
}

/** Why a recording ended, as a sentence's end; empty if it runs, or was stopped by a command. */
export const endOf = (row: Recording): string =>
  row.ended === null || row.code === "stopped" ? "" : endWords(row.code ?? "", () => lossOf(row));

/** The same in the fewest words, for a bar. */
export function shortEndOf(row: Recording): string {
  const loss = row.code === "unknown" ? lossOf(row) : null;
  return loss ? takeWords.shortLosses[loss] : (textOf(takeWords.shortEnds, row.code) ?? takeWords.shortEnds.unknown);
}

/** Why a camera did not record, by the code of what it was told; empty if that is not known. */
export const absenceOf = ({ code }: MissingCamera): string => textOf(takeWords.absences, code) ?? uncapitalised(textOf(t.headings, code) ?? "");

const uncapitalised = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "");

/** The names of those that have a word in common, by it, in the order in which they stand. */
function byWords<One>(all: readonly One[], wordsOf: (one: One) => string, nameOf: (one: One) => string): [words: string, names: string[]][] {
  const found = new Map<string, string[]>();
  for (const one of all) found.set(wordsOf(one), [...(found.get(wordsOf(one)) ?? []), nameOf(one)]);
  return [...found];
}

/** What a person has to know of a take, in sentences. `timeOf` is how a time is written. */
export function sentencesOf(account: Account, timeOf: (time: string) => string): string {
  const { lanes, missing, spread, late, isRunning, isClockSet, isIncomplete } = account;
  const named = ({ name }: Lane) => printable(name);
  const parts: string[] = [];
  if (spread !== null) parts.push(isIncomplete || late.length > 0 ? takeWords.begun(spread) : takeWords.begunByAll(spread));
  const first = Math.min(...lanes.map((one) => one.begun));
  for (const one of late) parts.push(takeWords.late(named(one), (one.begun - first) / 1_000));
  for (const [why, names] of byWords(missing, absenceOf, (one) => printable(one.device_name ?? ""))) {
    parts.push(isRunning ? takeWords.doNotRecord(names, why) : takeWords.didNotRecord(names, why));
  }
  const unseen = lanes.filter(({ state }) => state === "unknown");
  if (unseen.length > 0) parts.push(takeWords.notKnown(unseen.map(named)));
  for (const one of lanes) {
    const last = one.parts[one.parts.length - 1];
    if (!last?.ended) continue;
    if (one.state === "cut" || endOf(last)) parts.push((isRunning ? takeWords.missingSince : takeWords.endedAt)(named(one), endTime(last, timeOf), endOf(last)));
    else if (isRunning) parts.push(takeWords.stoppedAt(named(one), timeOf(last.ended)));
  }
  for (const one of lanes) {
    const seconds = one.gaps.reduce((sum, { from, to }) => sum + to - from, 0) / 1_000;
    const why = new Set(one.parts.slice(0, -1).map(endOf));
    if (one.gaps.length > 0) parts.push(takeWords.gap(named(one), one.gaps.length, seconds, why.size === 1 ? ([...why][0] ?? "") : ""));
  }
  if (!isIncomplete && (spread === null || late.length > 0)) parts.push(takeWords.nobodyMissing);
  if (isClockSet) parts.push(takeWords.clockSet);
  return parts.join(" ");
}

/** How long it lasted, as a recorder shows it. */
export const lasted = (from: number, to: number): string => elapsed(Math.max(0, Math.round((to - from) / 1_000)));


export { offsetWords };

/** How long one that has ended lasted. */
export function lengthOf({ time, ended, message }: Recording): string {
  const length = lasted(at(time), at(ended ?? time));
  return isEndSeen(message) ? length : takeWords.atMost(length);
}

/** When one ended that has. */
export const endTime = ({ time, ended, message }: Recording, timeOf: (time: string) => string): string =>
  isEndSeen(message) ? timeOf(ended ?? time) : takeWords.orEarlier(timeOf(ended ?? time));

/** The offsets of a camera's recordings, each once. */
export const offsetsOf = ({ parts }: Lane): string[] => [...new Set(parts.map(offsetWords))];

/** A file's own name: before it stands the folder on the card. */
export const baseOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1) || path;

/** Bytes as people say them; rounded, in powers of ten as on cards. */
export function bytesWords(bytes: number): string {
  if (bytes >= 1e9) return t.reading.gigabytes((bytes / 1e9).toFixed(1));
  return bytes >= 1e6 ? takeWords.megabytes(String(Math.round(bytes / 1e6))) : takeWords.kilobytes(String(Math.ceil(bytes / 1e3)));
}

/** What a recording took of the card: by its files, or else by what was free before and after. */
export interface Size {
  bytes: number;
  isExact: boolean;
}

/** `freeNow` is what is free on the card now, for one that runs; null if that is not known. */
function sizeOf(row: Recording, freeNow: number | null): Size | null {
  const sizes = row.files?.map((one) => one.size);
  if (sizes?.every((one): one is number => one !== null)) return { bytes: sizes.reduce((sum, one) => sum + one, 0), isExact: true };
  const after = row.ended === null ? freeNow : row.storage_free_after;
  if (row.storage_free === null || after === null || after >= row.storage_free) return null;
  return { bytes: row.storage_free - after, isExact: false };
}

/** All of them; null if one is not known. */
export function sizeOfAll(rows: readonly Recording[], freeNow: number | null): Size | null {
  let sum: Size = { bytes: 0, isExact: true };
  for (const row of rows) {
    const one = sizeOf(row, freeNow);
    if (!one) return null;
    sum = { bytes: sum.bytes + one.bytes, isExact: sum.isExact && one.isExact };
  }
  return sum;
}

export const sizeWords = ({ bytes, isExact }: Size, isRunning: boolean): string =>
  isRunning ? takeWords.soFar(bytesWords(bytes)) : isExact ? bytesWords(bytes) : takeWords.about(bytesWords(bytes));

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((one) => one * SECOND),
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((one) => one * MINUTE),
  ...[1, 2, 3, 6, 12, 24].map((one) => one * HOUR),
];
const MOST_TICKS = 5;
/** Nearer to the end a time would stand over the next column. */
const LAST_TICK = 0.94;

/** Round times on the way from one time to another, as parts of it; `zoneMs` is by how much the clock on the wall is ahead of UTC. */
export function ticksOf(from: number, to: number, zoneMs: number): { time: number; at: number }[] {
  const span = Math.max(SECOND, to - from);
  const step = STEPS.find((one) => span / one <= MOST_TICKS) ?? Math.ceil(span / MOST_TICKS / (24 * HOUR)) * 24 * HOUR;
  const found = [];
  for (let time = Math.ceil((from + zoneMs) / step) * step - zoneMs; time <= from + span * LAST_TICK; time += step) {
    found.push({ time, at: (time - from) / span });
  }
  return found;
}
