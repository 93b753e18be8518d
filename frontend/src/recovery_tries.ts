// What the hub has tried for a camera that does not answer: the recovery steps of the last hour, by the history.

import { signal } from "@preact/signals";
import { deviceAddress, request } from "./api";
import { atHub } from "./hub_clock";
import { onForget } from "./state";
import type { HistoryRow } from "./types";

/** A step is taken at most once in this time for one camera. */
const PAUSE_MS = 3_600_000;
const ROWS = 20;

export interface Tries {
  count: number;
  /** Before that no step is taken again. */
  next: string;
}

export const tries = signal<ReadonlyMap<number, Tries>>(new Map());
onForget(() => (tries.value = new Map()));

/** Read them anew, as after each step. */
export async function readTries(id: number): Promise<void> {
  const { history } = await request<{ history: HistoryRow[] }>(deviceAddress(`history?device_id=${id}&limit=${ROWS}`));
  const since = atHub(Date.now()) - PAUSE_MS;
  const begins = history.filter((row) => row.kind === "recovery" && row.ended).map((row) => Date.parse(row.time)).filter((at) => at > since);
  const next = new Map(tries.value);
  if (begins.length > 0) next.set(id, { count: begins.length, next: new Date(Math.min(...begins) + PAUSE_MS).toISOString() });
  else next.delete(id);
  tries.value = next;
}
