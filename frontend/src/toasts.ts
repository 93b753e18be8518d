// Short messages over the page: what a click came to, and what happened meanwhile.

import { signal } from "@preact/signals";
import { atHub } from "./hub_clock";

/** `warn`: not known to be done, and not known to have failed. */
export type Tone = "good" | "warn" | "bad" | "plain";

/** What leads on from a message. */
export interface Step {
  words: string;
  act: () => void;
}

export interface Toast {
  /** What it is about; a newer one about the same takes its place. */
  about: string;
  number: number;
  text: string;
  tone: Tone;
  step: Step | undefined;
  /** When it was so, by the hub's clock, of one that stays: what it says may be otherwise by now. */
  at: Date | null;
}

const MOST = 3;
const SHOWN_MS = 8_000;
const TROUBLE_SHOWN_MS = 15_000;

export const toasts = signal<readonly Toast[]>([]);
/** For the live region: a new number makes the same text be read again. */
export const announced = signal<{ number: number; text: string }>({ number: 0, text: "" });

let numbered = 0;

export function announce(text: string): void {
  numbered += 1;
  announced.value = { number: numbered, text };
}

/** Show a message; one that `stays` does so until it is dismissed, or another one takes its place. */
export function notify(about: string, text: string, tone: Tone, stays = false, step?: Step): void {
  announce(text);
  const number = numbered;
  const others = toasts.value.filter((one) => one.about !== about);
  toasts.value = [...others.slice(1 - MOST), { about, number, text, tone, step, at: stays ? new Date(atHub(Date.now())) : null }];
  const isTrouble = tone === "bad" || tone === "warn";
  if (!stays) setTimeout(() => dismiss(number), isTrouble ? TROUBLE_SHOWN_MS : SHOWN_MS);
}

/** What it says is no longer so, or is said elsewhere. */
export function withdraw(about: string): void {
  toasts.value = toasts.value.filter((one) => one.about !== about);
}

export function dismiss(number: number): void {
  toasts.value = toasts.value.filter((one) => one.number !== number);
}
