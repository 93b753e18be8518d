// The signal of the last hour in a small picture, with its gaps; values are on the camera's page.

import { computed } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { atHub } from "../hub_clock";
import { t } from "../messages";
import { hourOf, readHour, type Minute } from "../signal_history";
import { samples } from "../state";
import type { Device } from "../types";

const WIDTH = 100;
const HEIGHT = 30;
const HOUR_MS = 3_600_000;
/** Of less there is no picture worth its place. */
const LEAST_MS = 600_000;
/** Two values further apart have a gap between them. */
const GAP_MS = 150_000;

export function Sparkline({ device }: { device: Device }) {
  useEffect(() => void readHour(device.id), [device.id, device.connected]);
  // Drawn anew when this camera's values change, and not with those of all others.
  const { id } = device;
  const live = useMemo(() => computed(() => samples.value.get(id)), [id]).value ?? [];
  const kept = useMemo(() => computed(() => hourOf(id)), [id]).value;
  const end = atHub(Date.now());
  const values = [...kept, ...live.map(({ at, percent }): Minute => [atHub(at), percent])].filter(
    ([at], index, all) => at > end - HOUR_MS && (index === 0 || at > (all[index - 1]?.[0] ?? 0)),
  );
  const newest = live[live.length - 1];
  // What was measured last is so now, too.
  const line = newest ? [...values, [end, newest.percent] as Minute] : values;
  if (end - (line[0]?.[0] ?? end) < LEAST_MS) return null;
  const x = (at: number) => (WIDTH * (1 - (end - at) / HOUR_MS)).toFixed(2);
  const y = (percent: number) => (HEIGHT - 1 - ((HEIGHT - 2) * percent) / 100).toFixed(2);
  const parts: Minute[][] = [];
  for (const one of line) {
    const part = parts[parts.length - 1];
    const before = part?.[part.length - 1];
    if (part && before && (one[0] - before[0] <= GAP_MS || one === line[line.length - 1])) part.push(one);
    else parts.push([one]);
  }
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={t.camera.lastHour}>
      {parts.map((part) => {
        const points = part.map(([at, percent]) => `${x(at)},${y(percent)}`).join(" ");
        const [first, last] = [part[0], part[part.length - 1]];
        if (!first || !last) return null;
        return (
          <g key={first[0]}>
            <polygon points={`${x(first[0])},${HEIGHT} ${points} ${x(last[0])},${HEIGHT}`} />
            <polyline points={points} />
          </g>
        );
      })}
    </svg>
  );
}
