// The time by the hub's clock, which may differ from this device's by hours: a boat has no time server.

import { signal } from "@preact/signals";

/** The header `Date` has whole seconds. */
const DATE_STEP_MS = 1_000;
const TICK_MS = 500;

/** The hub's clock minus this device's. */
let offsetMs = 0;

/** Milliseconds since the epoch; it goes on by itself. */
export const hubTime = signal(Date.now());

setInterval(() => (hubTime.value = Date.now() + offsetMs), TICK_MS);

/** Take the header `Date` of an answer to a request, which began and ended at these times by this device's clock. */
export function takeDate(date: string | null, begun: number, ended: number): void {
  const told = Date.parse(date ?? "");
  if (Number.isNaN(told)) return;
  // It was made in between, at any time of its second.
  offsetMs = Math.min(Math.max(offsetMs, told - ended), told + DATE_STEP_MS - begun);
}
