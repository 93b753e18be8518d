// One camera's card: its state, what is wrong and what can be done.

import { useEffect, useState } from "preact/hooks";
import { connect, disconnect, Problem } from "../api";
import { adviceFor, detailOf, headingFor } from "../sentences";
import { isCurrent } from "../state";
import type { Device } from "../types";
import { Edit, Password, Remove } from "./device_forms";
import { Copy, moment, Name, Signal } from "./parts";

export const STATE_WORDS = {
  connected: "Connected",
  connecting: "Connecting",
  disconnecting: "Disconnecting",
  disconnected: "Not connected",
};
const SILENT_WORDS = "Connected, but does not answer";

type Task = "edit" | "password" | "remove";

export function DeviceCard({ device }: { device: Device }) {
  const [task, setTask] = useState<Task | null>(null);
  const [refusal, setRefusal] = useState("");
  const current = isCurrent.value;
  const state = device.connection_status;
  const isBusy = state === "connecting" || state === "disconnecting";
  const isSilent = device.connected && device.reachable === false;
  const words = STATE_WORDS[state];
  const isDown = state === "disconnected" || state === "disconnecting";

  const command = async (what: (id: number) => Promise<unknown>) => {
    setRefusal("");
    try {
      await what(device.id);
    } catch (error) {
      // Why an attempt failed is on the card already, told by the channel.
      if (error instanceof Problem && error.code !== device.connection_error_code) setRefusal(error.message);
    }
  };

  const title = `camera-${device.id}`;
  return (
    <li class={`card ${current ? state : "stale"}`} aria-labelledby={title} data-device={device.id}>
      <div class="card-head">
        <h3 id={title}>
          <Name text={device.name} />
        </h3>
        <span class={`badge ${!current ? "stale" : isSilent ? "silent" : state}`}>
          {isBusy && current && <span class="spinner" aria-hidden="true" />}
          {!current ? `Unknown; was ${words.toLowerCase()}` : isSilent ? SILENT_WORDS : words}
        </span>
      </div>
      {isBusy && current && <Progress isConnecting={state === "connecting"} />}
      <dl class="facts">
        <dt>Network</dt>
        <dd>
          <Name text={device.connection_settings.ssid} />
        </dd>
        {device.interface && (
          <>
            <dt>Adapter</dt>
            <dd>{device.interface}</dd>
          </>
        )}
        {device.connected && device.signal_strength !== null && (
          <>
            <dt>Signal</dt>
            <dd>
              <Signal percent={device.signal_strength} />
            </dd>
          </>
        )}
        {device.connected && <Reached device={device} />}
        {!device.connected && device.last_successful_connection && (
          <>
            <dt>Last connected</dt>
            <dd>{moment(device.last_successful_connection)}</dd>
          </>
        )}
      </dl>
      {device.connection_error_message && !device.connected && (
        <div class="trouble">
          <p>
            <strong>
              {headingFor(device.connection_error_code)} {state === "connecting" && "Trying again."}
            </strong>{" "}
            <Name text={detailOf(device.connection_error_code, device.connection_error_message)} />
          </p>
          {device.lost_at && state === "disconnected" && (
            <p>
              It was lost at {moment(device.lost_at)}, and is connected again by itself when its network is seen and an
              adapter is free.
            </p>
          )}
          {adviceFor(device.connection_error_code) && <p>{adviceFor(device.connection_error_code)}</p>}
          {device.connection_error_code === "authentication-failed" && (
            <button type="button" disabled={!current} onClick={() => setTask("password")}>
              Change the password
            </button>
          )}
        </div>
      )}
      {isSilent && current && (
        <div class="trouble">
          <p>
            <strong>The camera does not answer.</strong> Its Wi-Fi is connected. Restart the camera if it stays so.
          </p>
        </div>
      )}
      {refusal && (
        <p class="fault" role="alert">
          {refusal}
        </p>
      )}
      <div class="actions">
        {isDown ? (
          <button
            type="button"
            class="primary"
            disabled={!current || isBusy}
            onClick={() => void command(connect)}
            aria-describedby={title}
          >
            Connect
          </button>
        ) : (
          <button type="button" disabled={!current} onClick={() => void command(disconnect)} aria-describedby={title}>
            {state === "connecting" ? "Stop" : "Disconnect"}
          </button>
        )}
        <span class="spread" />
        <button type="button" class="quiet" disabled={!current} onClick={() => setTask("edit")} aria-describedby={title}>
          Edit
        </button>
        <button type="button" class="quiet" disabled={!current} onClick={() => setTask("remove")} aria-describedby={title}>
          Remove
        </button>
      </div>
      {task === "edit" && <Edit device={device} onClose={() => setTask(null)} />}
      {task === "password" && <Password device={device} onClose={() => setTask(null)} />}
      {task === "remove" && <Remove device={device} onClose={() => setTask(null)} />}
    </li>
  );
}

/** Where programs reach the camera, and a way to its own pages. */
function Reached({ device }: { device: Device }) {
  const address = device.address ?? device.camera_address;
  if (!address) return null;
  return (
    <>
      <dt>Address</dt>
      <dd class="reached">
        <span>{address}</span> <Copy text={address} />
        <a href={`cameras/${device.id}/`} target="_blank" rel="noopener">
          Open
          <span class="visually-hidden"> the camera's own page</span>
        </a>
      </dd>
    </>
  );
}

/** How long it has taken so far; nobody knows how long it will take. */
function Progress({ isConnecting }: { isConnecting: boolean }) {
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
      <progress aria-label={isConnecting ? "Connecting" : "Disconnecting"} />
      {seconds > 0 && <span>{seconds} s</span>}
    </div>
  );
}
