// The Wi-Fi adapters: what they are, who uses them, and why one cannot be used.

import { isFree, isKept } from "../camera_state";
import { t } from "../messages";
import { devices, interfaces, isCurrent } from "../state";
import type { Interface } from "../types";
import { capitalised, Name } from "./parts";

export function Adapters() {
  const all = [...interfaces.value.values()].sort((one, other) =>
    one.name.localeCompare(other.name, "en", { numeric: true }),
  );
  const free = all.filter(isFree).length;
  const current = isCurrent.value;
  return (
    <section aria-labelledby="adapters-title">
      <div class="section-head">
        <h2 id="adapters-title" tabIndex={-1}>
          {t.adapters.title}{" "}
          {all.length > 0 && (
            <span class="count">{current ? t.adapters.count(free, all.length) : t.adapters.countUnknown(all.length)}</span>
          )}
        </h2>
      </div>
      {all.length === 0 && current && <p class="empty">{t.adapters.none}</p>}
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
  const keeper = adapter.reserved_device_id === null ? undefined : devices.value.get(adapter.reserved_device_id);
  const state = isKept(adapter) ? "reserved" : adapter.state;
  const about = [
    adapter.bands.join(", "),
    adapter.usb.port && t.adapters.port(adapter.usb.port),
    adapter.mac_address,
    adapter.driver,
  ];
  return (
    <li class="row" data-interface={adapter.name}>
      <div>
        <strong>{adapter.name}</strong> <span>{adapter.usb.product ?? adapter.driver ?? ""}</span>
        <small>{about.filter(Boolean).join(" · ")}</small>
        {current && adapter.state === "unavailable" && adapter.reason && (
          <small class="why">{capitalised(adapter.reason)}</small>
        )}
        {current && state !== "reserved" && keeper && keeper !== user && (
          <small>
            {t.adapters.reservedFor}
            <Name text={keeper.name} />
          </small>
        )}
      </div>
      <span class={`badge ${current ? state : "stale"}`}>
        {current ? t.adapters[state] : t.unknown}
        {current && state === "reserved" && (
          <>
            {t.adapters.forWhom}
            {keeper ? <Name text={keeper.name} /> : t.events.camera(adapter.reserved_device_id ?? 0)}
          </>
        )}
        {current && user && (
          <>
            {t.adapters.by}
            <Name text={user.name} />
          </>
        )}
      </span>
    </li>
  );
}
