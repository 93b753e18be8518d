// The time by the hub's clock, which may differ from this device's by hours: a boat has no time server.

import { signal } from "@preact/signals";

/** The header `Date` has whole seconds. */
const DATE_STEP_MS = 1_000;
const TICK_MS = 500;

/** The hub's clock minus this device's. */
let offsetMs = 0;

/** Milliseconds since the epoch; it goes on by itself. */
export const hubTime = signal(Date.now());

let told: () => void = () => undefined;
/** Done with the first answer of the hub, which each view asks for something. */
export const clockRead = new Promise<void>((resolve) => (told = resolve));

/** The same moment by the hub's clock. */
export const atHub = (at: number): number => at + offsetMs;

setInterval(() => (hubTime.value = atHub(Date.now())), TICK_MS);

/** Take the header `Date` of an answer to a request, which began and ended at these times by this device's clock. */
export function takeDate(date: string | null, begun: number, ended: number): void {
  const made = Date.parse(date ?? "");
  if (Number.isNaN(made)) return;
  // It was made in between, at any time of its second.
  offsetMs = Math.min(Math.max(offsetMs, made - ended), made + DATE_STEP_MS - begun);
  hubTime.value = atHub(Date.now());
  told();
}
