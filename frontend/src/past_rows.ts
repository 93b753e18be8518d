// What the rows of a camera's history say: what it was, from when until when, and why; in which order, and which are one.
// Values and words alone: nothing is read here, and no clock. `wifimgrctl history` says the same.

import { isEndSeen } from "./losses";
import { t, textOf } from "./messages";
import type { HistoryRow } from "./types";

/** What has no end as long as it lasts. */
const LASTING: ReadonlySet<string> = new Set(["session", "recording", "problem", "recovery"]);
/** What is bad news, */
const BAD: ReadonlySet<string> = new Set(["interruption", "failure", "refusal", "problem"]);
/** and what is where it has a code. */
const BAD_BY_CODE: ReadonlySet<string> = new Set(["session", "wake"]);
/** An adapter goes so shortly before or after it was used, and comes back. */
const NEAR_MS = 60_000;

export const CAME_OR_WENT: ReadonlySet<string | null> = new Set(["plugged-in", "unplugged"]);
/** So many times in a row of an adapter that came and went are one. */
export const FLAPS = 4;

/** A row, and how many like it there were in a row. */
export interface Folded {
  row: HistoryRow;
  times: number;
  /** When the first of them was. */
  first: string;
}

/** The order of the times that are shown, which are those of the begins, the newest first. */
export const inOrder = (rows: readonly HistoryRow[]): HistoryRow[] =>
  [...rows].sort((one, other) => Date.parse(other.time) - Date.parse(one.time) || other.id - one.id);

/** Failures that follow each other and differ only in the time become the last of them, with their number, and so does an
 * adapter that comes and goes. */
export function folded(rows: readonly HistoryRow[]): Folded[] {
  const found: { looks: string | null; rows: HistoryRow[] }[] = [];
  for (const row of inOrder(rows)) {
    const looks = appearance(row);
    const last = found[found.length - 1];
    if (last && looks !== null && last.looks === looks) last.rows.push(row);
    else found.push({ looks, rows: [row] });
  }
  return found.flatMap(({ rows }) => foldedOf(rows));
}

function foldedOf(rows: HistoryRow[]): Folded[] {
  const [row, first] = [rows[0], rows[rows.length - 1]];
  if (!row || !first) return [];
  if (row.kind !== "adapter") return [{ row, times: rows.length, first: first.time }];
  if (rows.length >= FLAPS) return [{ row, times: Math.floor(rows.length / 2), first: first.time }];
  return rows.map((one) => ({ row: one, times: 1, first: one.time }));
}

/** Equal for rows that may be one; null for any other. */
function appearance(row: HistoryRow): string | null {
  const { kind, device_id, device_name, interface: adapter, code, message } = row;
  if (kind === "adapter" && CAME_OR_WENT.has(code)) return JSON.stringify([kind, adapter]);
  const isMoment = BAD.has(kind) && !LASTING.has(kind) && !row.ended;
  return isMoment ? JSON.stringify([kind, device_id, device_name, adapter, code, message]) : null;
}

/** What a row is of; a kind of a later version as it is. */
export function whatOf({ kind, code, ended }: HistoryRow): string {
  if (kind === "wake" && code) return t.past.notWoken;
  return kind === "recording" && !ended ? t.past.records : (textOf(t.past.what, kind) ?? kind);
}

/** What it is of, and when; `format` writes a time. `isSeen`: whether its camera is known to record now. */
export function titleOf({ row, times, first }: Folded, now: number, isSeen: boolean, format: (time: string) => string): string {
  const from = Date.parse(row.time);
  const isFlapping = row.kind === "adapter" && times > 1;
  const words = isFlapping ? t.past.cameAndWent(times) : whatOf(row) + (times > 1 ? ` ${t.events.times(times)}` : "");
  if (row.ended) {
    const say = row.kind !== "recording" || isEndSeen(row.message) ? t.past.lasted : t.past.lastedAtMost;
    return say(words, format(row.time), format(row.ended), (Date.parse(row.ended) - from) / 1_000);
  }
  // Such as of a camera whose link was lost.
  if (row.kind === "recording" && !isSeen) return t.past.recordsUnsure(format(row.time));
  if (LASTING.has(row.kind)) return t.past.lasts(words, format(row.time), Math.max(0, now - from) / 1_000);
  return times > 1 ? t.past.from(words, format(first), format(row.time)) : t.past.at(words, format(row.time));
}

/** Whether a row is bad news. */
export function isBad({ kind, code }: HistoryRow): boolean {
  if (kind === "recording") return code !== null && code !== "stopped";
  return BAD.has(kind) || (BAD_BY_CODE.has(kind) && Boolean(code));
}

/** Whether a session ended otherwise than by a command. */
export const isOutage = (row: HistoryRow): boolean => Boolean(row.code) && row.code !== "cancelled";

/** What happened to the adapters of a camera while it used them, of all rows. */
export function ofItsAdapters(own: readonly HistoryRow[], all: readonly HistoryRow[]): HistoryRow[] {
  const used = own.flatMap(({ interface: name, time, ended, kind }) => {
    const until = ended ?? (LASTING.has(kind) ? null : time);
    return name === null ? [] : [{ name, from: Date.parse(time) - NEAR_MS, to: until === null ? Infinity : Date.parse(until) + NEAR_MS }];
  });
  return all.filter((one) => {
    if (own.includes(one)) return false;
    const at = Date.parse(one.time);
    return one.kind === "adapter" && used.some(({ name, from, to }) => name === one.interface && at >= from && at <= to);
  });
}
