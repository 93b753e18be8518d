// The takes that the hub has kept, the newest first: those of a week, or all of them. They are read again when a recording
// may have begun or ended, of them the newest ones alone, and never because time passed.

import { computed, signal } from "@preact/signals";
import { deviceAddress, Problem, request } from "./api";
import { clockRead } from "./hub_clock";
import { t } from "./messages";
import { devices, onForget, takesEnded } from "./state";
import { keyOf } from "./takes";
import { dayBegin } from "./times";
import type { Device, Take } from "./types";

/** As many as the hub gives at once. */
const MOST = 1_000;
/** What is older than so many takes does not change any more. */
const CHANGING = 10;
const DAYS = 7;

/** null until they are read. */
export const takes = signal<readonly Take[] | null>(null);
export const takesFault = signal("");
/** Whether all are wanted, or those of a week. */
export const isAllWanted = signal(false);
/** Whether there may be earlier ones than the last that is here. */
export const hasEarlier = signal(true);

/** How often all was forgotten: what was asked for before that is not kept. */
let forgotten = 0;

onForget(() => {
  forgotten += 1;
  takes.value = null;
  takesFault.value = "";
  isAllWanted.value = false;
  hasEarlier.value = true;
});

/** What a take may change with: who records or was told to, what came of that, and what is free after it. */
const causeOf = ({ id, camera }: Device) =>
  camera && [id, camera.recording, camera.recording_requested, camera.problems, camera.recording ? null : camera.storage_free];
/** Changes where they have to be read again. */
export const takesCause = computed(() => JSON.stringify([takesEnded.value, [...devices.value.values()].map(causeOf)]));

/** The first moment of the week that ends today. */
const weekBegin = (): string => new Date(dayBegin(DAYS - 1)).toISOString();

type Query = { since?: string; until?: string };

const address = (query: Query): string => deviceAddress(`takes?${new URLSearchParams({ limit: String(MOST), ...query }).toString()}`);

const ask = async (query: Query): Promise<readonly Take[]> => (await request<{ takes: Take[] }>(address(query))).takes;

type Wish = "newest" | "anew" | "earlier";
let wish: Wish | null = null;
let isReading = false;

/** Read what is wanted; a wish during that is carried out after it. */
export async function readTakes(wanted: Wish): Promise<void> {
  wish = wish === null || wanted !== "newest" ? wanted : wish;
  if (isReading) return;
  isReading = true;
  try {
    await clockRead;
    while (wish !== null) {
      const now: Wish = wish;
      wish = null;
      await carryOut(now);
    }
    takesFault.value = "";
  } catch (error) {
    takesFault.value = error instanceof Problem ? error.message : t.hub.failed;
  } finally {
    isReading = false;
  }
}

async function carryOut(wanted: Wish): Promise<void> {
  const before = forgotten;
  const known = takes.value;
  const oldest = known?.[known.length - 1];
  if (wanted === "earlier" && known && oldest) {
    const found = await ask({ until: oldest.time });
    if (forgotten !== before) return;
    hasEarlier.value = found.length > 0;
    takes.value = merged(known, found);
    return;
  }
  const since = wanted === "newest" ? known?.[Math.min(CHANGING, known.length) - 1]?.time : undefined;
  const isAll = isAllWanted.value;
  const found = await ask(since !== undefined ? { since } : isAll ? {} : { since: weekBegin() });
  if (forgotten !== before) return;
  if (since !== undefined && known) {
    takes.value = merged(found, known.filter((one) => one.time < since));
    return;
  }
  hasEarlier.value = !isAll || found.length > 0;
  takes.value = found;
}

/** Those of both, each once, as the first has it. */
function merged(first: readonly Take[], second: readonly Take[]): Take[] {
  const keys = new Set(first.map(keyOf));
  return [...first, ...second.filter((one) => !keys.has(keyOf(one)))];
}

const CSV = "text/csv";
/** A line of a table, whose texts may have breaks in quotes; it begins with the begin of its take. */
const LINE = /(?:"(?:[^"]|"")*"|[^"\n])*\n/g;
const beginOf = (line: string): string => line.slice(0, line.indexOf(","));
/** Times have whole milliseconds here, and microseconds at the hub. */
const STEP_MS = 1;

/** Some takes, the newest first, as the hub's table for spreadsheets; throws Problem. */
export async function readTable(wanted: readonly Take[]): Promise<Blob> {
  const missing = new Set(wanted.map((one) => one.time));
  const lines: string[] = [];
  const oldest = wanted[wanted.length - 1]?.time ?? "";
  let until = new Date(Date.parse(wanted[0]?.time ?? "") + STEP_MS).toISOString();
  // An answer may have fewer than all of that time: the next one goes on where it ends.
  while (missing.size > 0) {
    const [header = "", ...rest] = (await request<string>(address({ since: oldest, until }), { accept: CSV })).match(LINE) ?? [];
    if (lines.length === 0) lines.push(header);
    const told = new Set(rest.map(beginOf));
    lines.push(...rest.filter((line) => missing.has(beginOf(line))));
    told.forEach((time) => missing.delete(time));
    const last = rest.length > 0 ? beginOf(rest[rest.length - 1] ?? "") : until;
    if (last >= until) break;
    until = last;
  }
  return new Blob(lines, { type: CSV });
}
