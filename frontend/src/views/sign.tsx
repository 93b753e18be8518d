// A sign for how the whole is, so that its tone is not told by its colour alone.

import type { Tone } from "../rig";

const SIGNS: Record<Exclude<Tone, "recording">, string> = {
  bad: "M6 1.5v5.5M6 10v.2",
  busy: "M6 1.5v5.5M6 10v.2",
  good: "M2 6.5 5 9.5 10 3",
  unknown: "M3.6 4A2.5 2.5 0 1 1 7 6.2C6.3 6.5 6 7 6 7.8M6 10.4v.1",
  calm: "M3 6h6",
};

export function Sign({ tone }: { tone: Tone }) {
  return (
    <svg class="sign" data-tone={tone} viewBox="-3 -3 18 18" aria-hidden="true">
      {tone === "recording" ? <circle cx="6" cy="6" r="5" /> : <path d={SIGNS[tone]} />}
    </svg>
  );
}
