// What several cameras met by one cause, which is told once: "6 cameras were lost: NetworkManager stopped".

import { t, textOf } from "./messages";
import type { Line } from "./state";

/** Why something happened, by its code, and the rest in words. */
export interface Cause {
  code: string;
  why: string;
}

/** Fewer are told one by one. */
const FEWEST = 3;
/** What has one cause happens within this time. */
const TOGETHER_MS = 10_000;

const keyOf = ({ code, why }: Cause): string => `${code} ${why}`;

/** Each line of several cameras that met one cause, with all of those; the others are in none. */
export function together(lines: readonly Line[]): ReadonlyMap<Line, readonly Line[]> {
  const open = new Map<string, Line[]>();
  const found = new Map<Line, readonly Line[]>();
  for (const line of lines) {
    if (!line.cause || line.device === null || !textOf(t.events.met, line.cause.code)) continue;
    const key = keyOf(line.cause);
    const group = open.get(key);
    const first = group?.[0];
    if (group && first && Math.abs(Date.parse(first.time) - Date.parse(line.time)) <= TOGETHER_MS) group.push(line);
    else open.set(key, [line]);
    const now = open.get(key) ?? [];
    if (new Set(now.map((one) => one.device)).size >= FEWEST) for (const one of now) found.set(one, now);
  }
  return found;
}

/** What they have met, as one sentence. */
export function togetherText(lines: readonly Line[]): string {
  const { code, why } = lines[0]?.cause ?? { code: "", why: "" };
  return t.events.together(new Set(lines.map((one) => one.device)).size, textOf(t.events.met, code) ?? "", why);
}
