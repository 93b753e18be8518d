// One camera's card, for one glance: who, state, what is wrong or how the signal is, battery and card, one thing to do.

import { stateOf } from "../camera_state";
import { t } from "../messages";
import { isCurrent } from "../state";
import { moment } from "../times";
import type { Device } from "../types";
import { DeviceActions } from "./device_actions";
import { Tile } from "./device_tile";
import { Name, Signal } from "./parts";
import { Progress } from "./progress";
import { ReadingFacts, WasRecording } from "./reading";
import { Sparkline } from "./sparkline";
import { StateBadge } from "./state_badge";
import { Still } from "./still";
import { TroubleLine, useTrouble } from "./trouble";
import { aboutWords, Where } from "./where";

export function DeviceCard({ device }: { device: Device }) {
  const current = isCurrent.value;
  const title = `camera-${device.id}`;
  const trouble = useTrouble(device);
  const isGoingOn = device.connection_status === "connecting" || device.connection_status === "disconnecting";
  return (
    <li class={`card ${current ? stateOf(device) : "stale"}`} aria-labelledby={title} data-device={device.id}>
      <div class="card-head">
        <Tile device={device} />
        <div>
          <h3 id={title}>
            <a class="whole" href={`#camera/${device.id}`}>
              <Name text={device.name} />
            </a>
          </h3>
          <small>{aboutWords(device)}</small>
        </div>
        <StateBadge device={device} />
      </div>
      <div class="card-middle">
        {trouble ? <TroubleLine line={trouble} />
        : isGoingOn ? <Progress device={device} />
        : device.connected ? <Sparkline device={device} />
        : <WhileOff device={device} />}
        <Still device={device} />
      </div>
      <div class="card-facts">
        {device.connected && device.signal_strength !== null && <Signal percent={device.signal_strength} />}
        <ReadingFacts device={device} />
        <WasRecording device={device} />
      </div>
      <div class="card-foot">
        <DeviceActions device={device} describedBy={title} buttons={1} />
        <Where device={device} />
      </div>
    </li>
  );
}

/** What stands where a connected camera has its signal. */
function WhileOff({ device }: { device: Device }) {
  const seen = device.last_disconnection ?? device.last_successful_connection;
  return <p class="line">{seen ? t.camera.lastConnectedAt(moment(seen)) : t.camera.neverConnected}</p>;
}
