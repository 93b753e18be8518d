// The Wi-Fi adapters: what they are, who uses them, and why one cannot be used.

import { devices, interfaces, isCurrent } from "../state";
import type { Interface } from "../types";
import { capitalised, Name } from "./parts";

const STATE_WORDS = { available: "Free", "in-use": "In use", unavailable: "Unavailable" };

export function Adapters() {
  const all = [...interfaces.value.values()].sort((one, other) =>
    one.name.localeCompare(other.name, "en", { numeric: true }),
  );
  const free = all.filter((one) => one.state === "available").length;
  return (
    <section aria-labelledby="adapters-title">
      <div class="section-head">
        <h2 id="adapters-title">
          Adapters{" "}
          {all.length > 0 && (
            <span class="count">
              {free} of {all.length} free
            </span>
          )}
        </h2>
      </div>
      {all.length === 0 && <p class="empty">No USB Wi-Fi adapter is plugged in. Each connected camera needs one.</p>}
      <ul class="rows">
        {all.map((one) => (
          <Adapter key={one.name} adapter={one} />
        ))}
      </ul>
    </section>
  );
}

function Adapter({ adapter }: { adapter: Interface }) {
  const current = isCurrent.value;
  const user = adapter.device_id === null ? undefined : devices.value.get(adapter.device_id);
  const about = [adapter.bands.join(", "), adapter.usb.port && `USB port ${adapter.usb.port}`, adapter.mac_address, adapter.driver];
  return (
    <li class="row" data-interface={adapter.name}>
      <div>
        <strong>{adapter.name}</strong> <span>{adapter.usb.product ?? adapter.driver ?? ""}</span>
        <small>{about.filter(Boolean).join(" · ")}</small>
        {adapter.state === "unavailable" && adapter.reason && <small class="why">{capitalised(adapter.reason)}</small>}
      </div>
      <span class={`badge ${current ? adapter.state : "stale"}`}>
        {current ? STATE_WORDS[adapter.state] : "Unknown"}
        {user && (
          <>
            {" by "}
            <Name text={user.name} />
          </>
        )}
      </span>
    </li>
  );
}
