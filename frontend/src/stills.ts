// What cameras see: the latest still of each whose model has a place for it, asked for through the relay, at most once
// a minute, and only while somebody looks at it.

import { signal } from "@preact/signals";
import { jpegSize } from "./jpeg_size";
import { onForget } from "./state";

export interface Still {
  picture: ImageBitmap;
  /** When it arrived, in milliseconds of this page's clock. */
  at: number;
}

const MINUTE_MS = 60_000;
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 4 * 1024 * 1024;
/** What a picture takes in memory depends on these, and not on its bytes. */
const MOST_PIXELS = 24_000_000;
const WIDTH = 800;
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
export function watchStill(element: Element, id: number, path: string): () => void {
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
    // Another view of the same camera may have asked while this one waited for its turn.
    if (isSeen() && (askedAt.get(id) ?? -Infinity) + MINUTE_MS <= performance.now()) {
      askedAt.set(id, performance.now());
      const picture = await readStill(`cameras/${id}${path}`, wish.signal).catch(() => null);
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

/** A picture of a size that can be shown; throws for anything else. */
async function readStill(address: string, isUnwanted: AbortSignal): Promise<ImageBitmap> {
  const patience = new AbortController();
  const giveUp = () => patience.abort();
  isUnwanted.addEventListener("abort", giveUp);
  const timer = setTimeout(giveUp, TIMEOUT_MS);
  try {
    const answer = await fetch(address, { cache: "no-store", redirect: "error", signal: patience.signal });
    if (!answer.ok || !answer.body) throw new Error(answer.statusText);
    const bytes = await readBytes(answer.body);
    const size = jpegSize(bytes);
    if (!size || size.width * size.height > MOST_PIXELS) throw new RangeError();
    return await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }), {
      resizeWidth: Math.min(WIDTH, size.width),
      resizeQuality: "medium",
    });
  } finally {
    clearTimeout(timer);
    isUnwanted.removeEventListener("abort", giveUp);
    patience.abort();
  }
}

async function readBytes(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > MOST_BYTES) throw new RangeError();
    chunks.push(part.value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const one of chunks) {
    bytes.set(one, at);
    at += one.length;
  }
  return bytes;
}
