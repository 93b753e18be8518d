// One camera's card: its state, what is wrong and what can be done.

import { useEffect, useState } from "preact/hooks";
import { stateOf } from "../camera_state";
import { t } from "../messages";
import { isCurrent } from "../state";
import type { Device } from "../types";
import { StateBadge } from "./state_badge";
import { DeviceActions } from "./device_actions";
import { Copy, moment, Name, Signal } from "./parts";
import { CameraProblems, ReadingFacts, WasRecording } from "./reading";
import { Trouble } from "./trouble";

export function DeviceCard({ device }: { device: Device }) {
  const current = isCurrent.value;
  const title = `camera-${device.id}`;
  return (
    <li class={`card ${current ? stateOf(device) : "stale"}`} aria-labelledby={title} data-device={device.id}>
      <div class="card-head">
        <h3 id={title}>
          <a href={`#camera/${device.id}`}>
            <Name text={device.name} />
          </a>
        </h3>
        <StateBadge device={device} />
      </div>
      <Progress device={device} />
      <WasRecording device={device} />
      <dl class="facts">
        <dt>{t.camera.network}</dt>
        <dd>
          <Name text={device.connection_settings.ssid} />
        </dd>
        <Facts device={device} />
      </dl>
      <Trouble device={device} />
      <CameraProblems device={device} />
      <DeviceActions device={device} describedBy={title} />
    </li>
  );
}

/** What is known of a camera's connection, for a list of facts. */
export function Facts({ device }: { device: Device }) {
  return (
    <>
      {device.interface && (
        <>
          <dt>{t.camera.adapter}</dt>
          <dd>{device.interface}</dd>
        </>
      )}
      {device.connected && device.signal_strength !== null && (
        <>
          <dt>{t.camera.signal}</dt>
          <dd>
            <Signal percent={device.signal_strength} />
          </dd>
        </>
      )}
      <ReadingFacts device={device} />
      {device.connected && <Reached device={device} />}
      {!device.connected && device.last_successful_connection && (
        <>
          <dt>{t.camera.lastConnected}</dt>
          <dd>{moment(device.last_disconnection ?? device.last_successful_connection)}</dd>
        </>
      )}
    </>
  );
}

/** Where programs reach the camera, and a way to its own pages where something answers. */
function Reached({ device }: { device: Device }) {
  const address = device.address ?? device.camera_address;
  if (!address) return null;
  return (
    <>
      <dt>{t.camera.address}</dt>
      <dd class="reached">
        <span>{address}</span> <Copy text={address} />
        {device.reachable && isCurrent.value && (
          <a href={`cameras/${device.id}/`} target="_blank" rel="noopener">
            {t.camera.open}
            <span class="visually-hidden">{t.camera.openWhat}</span>
          </a>
        )}
      </dd>
    </>
  );
}

/** How long a step has taken so far; nobody knows how long it will take. */
export function Progress({ device }: { device: Device }) {
  const status = device.connection_status;
  if (!isCurrent.value) return null;
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
