// Where each camera stands on the wall: in the order in which they were registered, until a person moves one in this browser.

import { signal } from "@preact/signals";

const KEY = "wifimgrd-wall";

function stored(): number[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "number") : [];
  } catch {
    return [];
  }
}

const kept = signal<readonly number[]>(stored());

/** Cameras in a person's order; those that came since are last, and ids count up. */
export function inPlaces(ids: readonly number[]): number[] {
  const places = new Map(kept.value.map((id, place) => [id, place]));
  const last = places.size;
  return [...ids].sort((one, other) => (places.get(one) ?? last) - (places.get(other) ?? last) || one - other);
}

/** Give a camera another place among these; the place that it has then. */
export function move(id: number, place: number, ids: readonly number[]): number {
  const others = inPlaces(ids).filter((one) => one !== id);
  const taken = Math.min(Math.max(place, 0), others.length);
  kept.value = [...others.slice(0, taken), id, ...others.slice(taken)];
  try {
    localStorage.setItem(KEY, JSON.stringify(kept.value));
  } catch {
    // Without storage a reload forgets it.
  }
  return taken;
}

/** So many tiles have letters that are seen from three metres. */
export const MOST_TILES = 16;

export interface Seats {
  /** Who has a tile, place by place. */
  shown: number[];
  /** Who has none; the last tile counts them. */
  others: number[];
}

/**
 * Who has a tile. Where there are more cameras than tiles, one that needs somebody borrows the last tile of one that does
 * not: nobody in need is out of sight as long as there is such a tile, and all others stay where they are. Whoever has
 * borrowed a tile keeps it while that is so.
 */
export function seats(ordered: readonly number[], needy: ReadonlySet<number>, before: readonly number[]): Seats {
  if (ordered.length <= MOST_TILES) return { shown: [...ordered], others: [] };
  const shown = ordered.slice(0, MOST_TILES - 1);
  const owners = new Set(shown);
  const isFree = (place: number) => owners.has(shown[place] ?? 0) && !needy.has(shown[place] ?? 0);
  const waiting = new Set(ordered.slice(MOST_TILES - 1).filter((id) => needy.has(id)));
  before.forEach((id, place) => {
    if (waiting.has(id) && place < shown.length && isFree(place)) {
      shown[place] = id;
      waiting.delete(id);
    }
  });
  for (const id of waiting) {
    let place = shown.length - 1;
    while (place >= 0 && !isFree(place)) place -= 1;
    if (place < 0) break;
    shown[place] = id;
  }
  const seen = new Set(shown);
  return { shown, others: ordered.filter((id) => !seen.has(id)) };
}
