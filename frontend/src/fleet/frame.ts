// However many messages arrive, what is shown changes at most once a frame.

import { signal } from "@preact/signals";

/** Counts the frames in which something changed. */
export const frame = signal(0);
const beforeFrame = new Set<() => void>();
let isRequested = false;

export function changed(): void {
  if (isRequested) return;
  isRequested = true;
  requestAnimationFrame(() => {
    isRequested = false;
    for (const one of beforeFrame) one();
    frame.value += 1;
  });
}

/** Call something before each of these frames is drawn; the result ends that. */
export function subscribeFrames(call: () => void): () => void {
  beforeFrame.add(call);
  return () => void beforeFrame.delete(call);
}
