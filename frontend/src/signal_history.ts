// The signal and the battery of cameras as the hub has kept them, a value a minute; the signal of the last hour is
// read once, then carried on by the channel.

import { signal } from "@preact/signals";
import { deviceAddress, request } from "./api";
import { atHub, clockRead } from "./hub_clock";
import { onForget } from "./state";

/** When, in milliseconds since the epoch, and the mean in percent. */
export type Minute = readonly [at: number, percent: number];

/** As the API has it: time, mean and minimum in percent, and for each sample the battery, null if it is not known. */
export interface History {
  step_s: number;
  samples: [time: string, mean: number, minimum: number][];
  battery: (number | null)[];
}

const HOUR_MS = 3_600_000;
const hours = signal<ReadonlyMap<number, readonly Minute[]>>(new Map());
const asked = new Set<number>();
onForget(() => {
  hours.value = new Map();
  asked.clear();
});

const NOTHING: readonly Minute[] = [];

export const hourOf = (id: number): readonly Minute[] => hours.value.get(id) ?? NOTHING;

/** What the hub has kept of a camera for so many milliseconds; throws Problem. */
export async function readHistory(id: number, ms: number): Promise<History> {
  await clockRead;
  const since = new Date(atHub(Date.now()) - ms);
  return request<History>(deviceAddress(`${id}/signal?since=${since.toISOString()}`));
}

/** Read the last hour of a camera, once; a picture without it begins when the page was opened. */
export async function readHour(id: number): Promise<void> {
  if (asked.has(id)) return;
  asked.add(id);
  try {
    const { samples } = await readHistory(id, HOUR_MS);
    hours.value = new Map(hours.value).set(id, samples.map(([time, mean]): Minute => [Date.parse(time), mean]));
  } catch {
    asked.delete(id);
  }
}
