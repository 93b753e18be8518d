// How long a step has taken so far; nobody knows how long it will take.

import { useEffect, useState } from "preact/hooks";
import { t } from "../messages";
import { isCurrent } from "../state";
import type { Device } from "../types";

export function Progress({ device }: { device: Device }) {
  const status = device.connection_status;
  if (!isCurrent.value) return null;
  if (device.recovery_step) return <Elapsed key="recovering" words={t.states.recovering} />;
  if (device.connection_phase === "waking") return <Elapsed key="waking" words={t.states.waking} />;
  if (status !== "connecting" && status !== "disconnecting") return null;
  return <Elapsed key={status} words={status === "connecting" ? t.states.connecting : t.disconnecting} />;
}

/** A step that takes its time, and for how long it has. */
export function Elapsed({ words }: { words: string }) {
  const [begun] = useState(Date.now());
  const [now, setNow] = useState(begun);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  // The service's clock may differ from this device's: only what passed since the page saw it counts.
  const seconds = Math.max(0, Math.round((now - begun) / 1000));
  return (
    <div class="progress">
      <progress aria-label={words} />
      {seconds > 0 && <span>{t.seconds(seconds)}</span>}
    </div>
  );
}
