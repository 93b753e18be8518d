// One camera's card, for one glance: who, state, what is wrong or how the signal is, its values, one thing to do. Each has
// a row of its own height, so that cards beside each other line up whatever their states are.

import { useEffect, useState } from "preact/hooks";
import { KIND_OF, linkOf, markOf, stateOf } from "../camera_state";
import { t } from "../messages";
import { isCurrent } from "../state";
import { moment, momentInShort } from "../times";
import type { Device } from "../types";
import { DeviceActions } from "./device_actions";
import { Tile } from "./device_tile";
import { Name, Signal } from "./parts";
import { Progress } from "./progress";
import { CardValues } from "./reading";
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
    <li class={`card ${current ? `${stateOf(device)} ${markOf(device)}` : "stale"}`} aria-labelledby={title} data-device={device.id}>
      <div class="card-head">
        <Tile device={device} />
        <div>
          <h3 id={title}>
            <a class="whole" href={`#camera/${device.id}`} title={device.name}>
              <Name text={device.name} />
            </a>
          </h3>
          <small>{aboutWords(device)}</small>
        </div>
      </div>
      <div class="card-state">
        <StateBadge device={device} />
        {current && <Since device={device} />}
      </div>
      <div class="card-middle">
        {trouble ? <TroubleLine line={trouble} />
        : isGoingOn ? <Progress device={device} />
        : device.connected ? <Sparkline device={device} />
        : null}
        {!trouble && <Still device={device} />}
      </div>
      <div class="card-values">
        {device.connected && device.signal_strength !== null && <Signal percent={device.signal_strength} />}
        <CardValues device={device} />
      </div>
      <div class="card-foot">
        <DeviceActions device={device} describedBy={title} buttons={1} />
        <Where device={device} />
      </div>
    </li>
  );
}

/** Since when its connection is as it is, or when it became so; null where that is not known, or the state says it. */
function sinceOf(device: Device): [words: (time: string) => string, time: string | null] | null {
  const { since, at, seen } = t.camera;
  const link = linkOf(device);
  if (stateOf(device) !== link || device.camera?.recording) return null;
  switch (link) {
    case "connected":
      return [since, device.last_successful_connection];
    case "searching":
      return [since, device.lost_at];
    case "waiting":
      return [since, device.waiting_since];
    case "asleep":
      return [seen, device.last_seen];
    case "off":
      return [since, device.last_disconnection];
    default:
      return KIND_OF[link] === "act" || link === "no-adapter" ? [at, device.connection_error_at] : null;
  }
}

function Since({ device }: { device: Device }) {
  // Not in the first frame: the first format of times takes a browser 10 ms.
  const [isLater, setLater] = useState(false);
  useEffect(() => setLater(true), []);
  const [words, time] = sinceOf(device) ?? [];
  if (!isLater || !words || !time) return null;
  return (
    <span class="since" title={moment(time)}>
      {words(momentInShort(time))}
    </span>
  );
}
