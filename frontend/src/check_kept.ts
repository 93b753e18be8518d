// What this browser keeps of checks: the limits that a person asks for, and the findings that were accepted here.

import { signal } from "@preact/signals";
import { NOTHING_MORE, type Wanted } from "./check";
import { onForget } from "./state";

const LIMITS = "wifimgrd-check";
const ACCEPTED = "wifimgrd-accepted";

function stored<Value extends object>(key: string, otherwise: Value): Value {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "{}") as object;
    return { ...otherwise, ...found };
  } catch {
    return otherwise;
  }
}

function store(key: string, value: object): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Without storage a reload forgets it.
  }
}

export const limits = signal<Wanted>(stored(LIMITS, NOTHING_MORE));

export function keepLimits(wanted: Wanted): void {
  limits.value = wanted;
  store(LIMITS, wanted);
}

/** What a finding said when it was accepted, by the camera and the code; once it says something else, it counts again. */
export const accepted = signal<Readonly<Record<string, string>>>(stored(ACCEPTED, {}));

// Whoever is at this screen next may not have the token.
onForget(() => forgetAccepted(Object.keys(accepted.value)));

export function accept(finding: string, said: string): void {
  accepted.value = { ...accepted.value, [finding]: said };
  store(ACCEPTED, accepted.value);
}

export function forgetAccepted(findings: readonly string[]): void {
  accepted.value = Object.fromEntries(Object.entries(accepted.value).filter(([key]) => !findings.includes(key)));
  store(ACCEPTED, accepted.value);
}
