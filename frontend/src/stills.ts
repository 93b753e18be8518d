// What cameras see: the latest still of each whose model has a place for it, asked for through the relay, at most once
// a minute, and only while somebody looks at it.

import { signal } from "@preact/signals";
import { onForget } from "./state";
import type { StillSource } from "./types";

export interface Still {
  picture: ImageBitmap;
  /** When it arrived, in milliseconds of this page's clock. */
  at: number;
}

const MINUTE_MS = 60_000;
/** A browser has six connections to the hub: cameras that are slow leave enough for all else. */
const AT_ONCE = 2;

export const stills = signal<ReadonlyMap<number, Still>>(new Map());
/** When each camera was asked last, whatever it answered; by a clock that nobody sets. */
const askedAt = new Map<number, number>();
const lanes: Promise<void>[] = Array.from({ length: AT_ONCE }, () => Promise.resolve());
let turn = 0;

onForget(() => {
  for (const id of stills.value.keys()) keepStill(id, null);
  askedAt.clear();
});

/** Keep a camera's still in place of the one before; null: it has none now. */
export function keepStill(id: number, picture: ImageBitmap | null): void {
  const before = stills.value.get(id);
  if (!before && !picture) return;
  const kept = new Map(stills.value);
  if (picture) {
    kept.set(id, { picture, at: Date.now() });
    askedAt.set(id, performance.now());
  }
  else kept.delete(id);
  stills.value = kept;
  before?.picture.close();
}

/** Keep a camera's still up to date while an element is in view; the result ends that. */
export function watchStill(element: Element, id: number, source: StillSource): () => void {
  const wish = new AbortController();
  let isInView = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isSeen = () => isInView && !document.hidden && !wish.signal.aborted;
  const look = () => {
    clearTimeout(timer);
    if (!isSeen()) return;
    const wait = (askedAt.get(id) ?? -Infinity) + MINUTE_MS - performance.now();
    if (wait <= 0) inTurn(() => ask());
    else timer = setTimeout(look, wait);
  };
  const ask = async () => {
    // How to read one is read from the hub with the first: most cameras give none.
    const reader = await import("./read_still").catch(() => null);
    // Another view of the same camera may have asked while this one waited for its turn.
    if (isSeen() && (askedAt.get(id) ?? -Infinity) + MINUTE_MS <= performance.now()) {
      askedAt.set(id, performance.now());
      const picture = (await reader?.readStill(id, source, wish.signal).catch(() => null)) ?? null;
      if (wish.signal.aborted) picture?.close();
      else keepStill(id, picture);
    }
    look();
  };
  const observer = new IntersectionObserver((entries) => {
    isInView = entries[entries.length - 1]?.isIntersecting ?? false;
    look();
  });
  observer.observe(element);
  document.addEventListener("visibilitychange", look);
  return () => {
    wish.abort();
    clearTimeout(timer);
    observer.disconnect();
    document.removeEventListener("visibilitychange", look);
  };
}

function inTurn(job: () => Promise<void>): void {
  turn = (turn + 1) % AT_ONCE;
  lanes[turn] = (lanes[turn] ?? Promise.resolve()).then(job);
}
