// A state's badge: its word and its shape, so that no state is told by its colour alone.

import type { ReadonlySignal } from "@preact/signals";
import type { CameraState } from "../camera_state";
import { t } from "../messages";

/** In a square of 12: stroked, but for the filled parts of `connected`. */
const SHAPES: Record<CameraState, string> = {
  connected: "M2 6.5 5 9.5 10 3",
  connecting: "M6 1.5A4.5 4.5 0 1 1 1.5 6",
  waiting: "M3 1h6L3 11h6z",
  waking: "M2.5 8.5a3.5 3.5 0 0 1 7 0zM6 .8v1.8M1.4 3.2l1.3 1.3M10.6 3.2 9.3 4.5",
  searching: "M5 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7M7.6 7.6 11 11",
  recovering: "M10 6a4 4 0 1 1-1.2-2.8M10 .8v2.7H7.3",
  "not-answering": "M6 1 11.2 11H.8zM6 4.6v3M6 9.1v.3",
  "not-recording": "M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M2.9 2.9 9.1 9.1",
  "still-recording": "M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M6 5.5v1M5.5 6h1",
  "recording-unconfirmed": "M3.6 4A2.5 2.5 0 1 1 7 6.2C6.3 6.5 6 7 6 7.8M6 10.6v.1",
  failed: "M2 2 10 10M10 2 2 10",
  "no-adapter": "M3 6h6M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9",
  asleep: "M9.8 7.6A4.4 4.4 0 1 1 4.6 2.2a3.6 3.6 0 0 0 5.2 5.4z",
  off: "M6 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8",
};

const TURNING: ReadonlySet<CameraState> = new Set(["connecting", "recovering"]);

export function Shape({ state }: { state: CameraState }) {
  return (
    <svg class={`shape${TURNING.has(state) ? " turning" : ""}`} data-shape={state} viewBox="0 0 12 12" aria-hidden="true">
      <path d={SHAPES[state]} />
    </svg>
  );
}

export function Badge({ state, isCurrent }: { state: CameraState; isCurrent: boolean }) {
  if (!isCurrent) {
    return (
      <span class="badge stale">
        <span>
          {t.unknown}
          <span class="last-known">, {t.lastKnown(t.states[state])}</span>
        </span>
      </span>
    );
  }
  return (
    <span class={`badge ${state}`}>
      <Shape state={state} />
      {t.states[state]}
    </span>
  );
}

/**
 * In place of `Connected`. No live region: it is read aloud where somebody looks for it, and not each second.
 * A label that is a signal changes its text alone, so that two hundred of them go on at little cost.
 */
export function RecordingBadge({ label }: { label: string | ReadonlySignal<string> }) {
  return (
    <span class="badge recording">
      <svg class="shape" data-shape="recording" viewBox="0 0 12 12" aria-hidden="true">
        <circle cx="6" cy="6" r="5" />
      </svg>
      {label}
    </span>
  );
}
