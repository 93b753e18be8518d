// Short messages over the page: what a click came to, and what happened meanwhile.

import { signal } from "@preact/signals";

export type Tone = "good" | "bad" | "plain";

export interface Toast {
  /** What it is about; a newer one about the same takes its place. */
  about: string;
  number: number;
  /** Its place on the screen, counted from below, which it keeps: what is shown does not move. */
  slot: number;
  text: string;
  tone: Tone;
}

const SLOTS = [0, 1, 2];
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

export function notify(about: string, text: string, tone: Tone): void {
  announce(text);
  const number = numbered;
  const shown = toasts.value;
  const same = shown.find((one) => one.about === about);
  const free = SLOTS.find((slot) => shown.every((one) => one.slot !== slot));
  const slot = same?.slot ?? free ?? shown[0]?.slot ?? 0;
  toasts.value = [...shown.filter((one) => one.slot !== slot), { about, number, slot, text, tone }];
  setTimeout(() => dismiss(number), tone === "bad" ? TROUBLE_SHOWN_MS : SHOWN_MS);
}

export function dismiss(number: number): void {
  toasts.value = toasts.value.filter((one) => one.number !== number);
}
