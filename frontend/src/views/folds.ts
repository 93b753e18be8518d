// Equal rows of a list as one: which cameras stand together, and where.

import type { Device } from "../types";

/** With fewer equal rows, each is its own. */
export const LEAST = 3;

export interface Fold {
  key: string;
  devices: Device[];
}

export type Entry = Device | Fold;

export const isFold = (one: Entry): one is Fold => "devices" in one;

/**
 * The rows in order, with those of one key as one, in the place of the first; null is the key of who stands alone. While
 * the list is held, as under a pointer, nothing is folded that was not before, and who leaves a fold comes last: no row moves.
 */
export function foldedOf(
  ordered: readonly Device[],
  keyOf: (device: Device) => string | null,
  before: ReadonlyMap<number, string>,
  isHeld: boolean,
): Entry[] {
  const keys = ordered.map((one) => {
    const key = keyOf(one);
    return isHeld && before.get(one.id) !== key ? null : key;
  });
  const counts = new Map<string, number>();
  for (const key of keys) if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  const folds = new Map<string, Fold>();
  const entries: Entry[] = [];
  const last: Device[] = [];
  ordered.forEach((device, index) => {
    const key = keys[index] ?? null;
    if (key === null || (!isHeld && (counts.get(key) ?? 0) < LEAST)) {
      (isHeld && before.has(device.id) ? last : entries).push(device);
      return;
    }
    const fold = folds.get(key);
    if (fold) fold.devices.push(device);
    else {
      const made: Fold = { key, devices: [device] };
      folds.set(key, made);
      entries.push(made);
    }
  });
  return [...entries, ...last];
}

/** The fold of each camera that is in one. */
export const foldsIn = (entries: readonly Entry[]): Map<number, string> =>
  new Map(entries.filter(isFold).flatMap(({ key, devices }) => devices.map((one) => [one.id, key] as const)));
