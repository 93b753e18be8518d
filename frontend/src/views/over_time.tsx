// A camera over time: its plot, and what happened to it.

import { t } from "../messages";
import type { Device } from "../types";
import { Past, usePast } from "./past";
import "./shared";
import { Timeline } from "./timeline";

export default function OverTime({ device }: { device: Device }) {
  const past = usePast(device);
  return (
    <>
      <section class="panel plot-panel" aria-labelledby="plot-title">
        <h3 id="plot-title" class="visually-hidden">
          {t.plot.title}
        </h3>
        <Timeline device={device} past={past.rows} />
      </section>
      <Past {...past} />
    </>
  );
}
