// A still of a camera: asked for, read to its end or as the first of a stream, and decoded, all of it within bounds.

import { boundaryOf, firstPart } from "./first_part";
import { jpegSize } from "./jpeg_size";
import type { StillSource } from "./types";

const TIMEOUT_MS = 10_000;
const MOST_BYTES = 4 * 1024 * 1024;
/** What a picture takes in memory depends on these, and not on its bytes. */
const MOST_PIXELS = 24_000_000;
const WIDTH = 800;

/** A picture of a size that can be shown; throws for anything else. The connection is closed then, whatever still comes. */
export async function readStill(id: number, source: StillSource, isUnwanted: AbortSignal): Promise<ImageBitmap> {
  const patience = new AbortController();
  const giveUp = () => patience.abort();
  isUnwanted.addEventListener("abort", giveUp);
  const timer = setTimeout(giveUp, TIMEOUT_MS);
  try {
    const answer = await fetch(`cameras/${id}${source.path}`, {
      cache: "no-store",
      redirect: "error",
      signal: patience.signal,
      ...(source.body === null
        ? {}
        : { method: "POST", body: source.body, headers: { "Content-Type": "application/json;charset=utf-8" } }),
    });
    if (!answer.ok || !answer.body) throw new Error(answer.statusText);
    const bytes = await readPicture(answer.body, boundaryOf(answer.headers.get("Content-Type") ?? ""));
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

/** All of an answer; of one with a boundary the first part. */
async function readPicture(body: ReadableStream<Uint8Array>, boundary: string | null): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let place = boundary === null ? { begin: 0, end: Infinity } : null;
  const reader = body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    chunks.push(part.value);
    place ??= firstPart(joined(chunks, length), boundary ?? "", MOST_BYTES);
    if (place && length >= place.end) break;
    if (length - (place?.begin ?? 0) > MOST_BYTES) throw new RangeError();
  }
  if (!place || (boundary !== null && length < place.end)) throw new RangeError();
  return joined(chunks, length).subarray(place.begin, place.end);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const one of chunks) {
    bytes.set(one, at);
    at += one.length;
  }
  return bytes;
}
