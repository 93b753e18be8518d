// The cameras: one card each, with its state, what is wrong and what can be done.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { change, connect, disconnect, Problem, remove } from "../api";
import { adviceFor, headingFor } from "../sentences";
import { devices, isCurrent } from "../state";
import type { Device } from "../types";
import { AddCamera, type FieldFaults } from "./add_camera";
import { capitalised, Dialog, Faults, moment, Name, Signal } from "./parts";

const MANY = 8;
const STATE_WORDS = {
  connected: "Connected",
  connecting: "Connecting",
  disconnecting: "Disconnecting",
  disconnected: "Not connected",
};

export const adding = signal(false);

export function Devices() {
  const [filter, setFilter] = useState("");
  const everyone = [...devices.value.values()];
  const wanted = filter.trim().toLowerCase();
  const shown = everyone.filter((one) => !wanted || searched(one).includes(wanted));
  const connected = everyone.filter((one) => one.connected).length;
  return (
    <section aria-labelledby="cameras-title">
      <div class="section-head">
        <h2 id="cameras-title">
          Cameras{" "}
          {everyone.length > 0 && (
            <span class="count">
              {connected} of {everyone.length} connected
            </span>
          )}
        </h2>
        <button type="button" class="primary" disabled={!isCurrent.value} onClick={() => (adding.value = true)}>
          Add a camera
        </button>
      </div>
      {everyone.length > MANY && (
        <label class="filter">
          <span>Find</span>
          <input
            type="search"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
            placeholder="name, network, state"
          />
        </label>
      )}
      {everyone.length === 0 && (
        <div class="empty">
          <p>No camera is registered yet.</p>
          <p>Switch a camera on, then add it here: choose its model, pick its network, type its password.</p>
        </div>
      )}
      <ul class="cards">
        {shown.map((device) => (
          <DeviceCard key={device.id} device={device} />
        ))}
      </ul>
      {wanted && shown.length === 0 && <p class="empty">No camera is like “{filter}”.</p>}
      {adding.value && <AddCamera onClose={() => (adding.value = false)} />}
    </section>
  );
}

function searched(device: Device): string {
  const { name, connection_settings, codename, connection_status, interface: through } = device;
  return [name, connection_settings.ssid, codename, STATE_WORDS[connection_status], through].join(" ").toLowerCase();
}

type Task = "rename" | "password" | "remove";

function DeviceCard({ device }: { device: Device }) {
  const [task, setTask] = useState<Task | null>(null);
  const [refusal, setRefusal] = useState("");
  const current = isCurrent.value;
  const state = device.connection_status;
  const isBusy = state === "connecting" || state === "disconnecting";
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
        <span class={`badge ${current ? state : "stale"}`}>
          {isBusy && current && <span class="spinner" aria-hidden="true" />}
          {current ? STATE_WORDS[state] : `Unknown; was ${STATE_WORDS[state].toLowerCase()}`}
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
        {device.connected && device.camera_address && (
          <>
            <dt>Address</dt>
            <dd>{device.address ?? device.camera_address}</dd>
          </>
        )}
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
            <Name text={sentence(device.connection_error_message)} />
          </p>
          {adviceFor(device.connection_error_code) && <p>{adviceFor(device.connection_error_code)}</p>}
          {device.connection_error_code === "authentication-failed" && (
            <button type="button" disabled={!current} onClick={() => setTask("password")}>
              Change the password
            </button>
          )}
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
        <button type="button" class="quiet" disabled={!current} onClick={() => setTask("rename")} aria-describedby={title}>
          Rename
        </button>
        <button type="button" class="quiet" disabled={!current} onClick={() => setTask("remove")} aria-describedby={title}>
          Remove
        </button>
      </div>
      {task === "rename" && (
        <Edit device={device} title="Rename the camera" field="name" label="Name" value={device.name} onClose={() => setTask(null)} />
      )}
      {task === "password" && (
        <Edit device={device} title="Change the password" field="password" label="Wi-Fi password of the camera" value="" onClose={() => setTask(null)} />
      )}
      {task === "remove" && <Remove device={device} onClose={() => setTask(null)} />}
    </li>
  );
}

const sentence = (text: string) => capitalised(text) + (/[.!?]$/.test(text) ? "" : ".");

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

interface EditProps {
  device: Device;
  title: string;
  field: "name" | "password";
  label: string;
  value: string;
  onClose: () => void;
}

function Edit({ device, title, field, label, value, onClose }: EditProps) {
  const [text, setText] = useState(value);
  const [faults, setFaults] = useState<FieldFaults>({});
  const [isSaving, setSaving] = useState(false);
  const save = async (event: Event) => {
    event.preventDefault();
    setSaving(true);
    try {
      await change(device.id, field === "name" ? { name: text } : { connection_settings: { password: text } });
      onClose();
      if (field === "password") connect(device.id).catch(() => undefined); // the channel tells what becomes of it
    } catch (error) {
      if (error instanceof Problem) setFaults(error.fields[field] ? error.fields : { [field]: [error.message] });
      setSaving(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>
          {label}
          <input
            type={field === "password" ? "password" : "text"}
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            aria-invalid={Boolean(faults[field])}
            aria-describedby="edit-fault"
          />
        </label>
        <Faults id="edit-fault" sentences={faults[field]} />
        <div class="actions">
          <span class="spread" />
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isSaving}>
            {field === "password" ? "Save and connect" : "Save"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Remove({ device, onClose }: { device: Device; onClose: () => void }) {
  const [fault, setFault] = useState("");
  const [isWorking, setWorking] = useState(false);
  const go = async () => {
    setWorking(true);
    try {
      await remove(device.id);
      onClose();
    } catch (error) {
      setFault(error instanceof Problem ? error.message : "");
      setWorking(false);
    }
  };
  return (
    <Dialog title="Remove the camera?" onClose={onClose}>
      <p>
        <Name text={device.name} /> will be disconnected and forgotten, its password too.
      </p>
      <Faults id="remove-fault" sentences={fault ? [fault] : undefined} />
      <div class="actions">
        <span class="spread" />
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="danger" disabled={isWorking} onClick={() => void go()}>
          Remove
        </button>
      </div>
    </Dialog>
  );
}
