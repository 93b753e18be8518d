// The cameras: how many, found by name, and one more.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { devices, isCurrent } from "../state";
import type { Device } from "../types";
import { AddCamera } from "./add_camera";
import { DeviceCard, STATE_WORDS } from "./device_card";

const MANY = 8;

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
