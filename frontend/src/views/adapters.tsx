// The Wi-Fi adapters: what they are, who uses them, and why one cannot be used.

import { useEffect, useState } from "preact/hooks";
import { deviceAddress, request } from "../api";
import { countOf, isFree, isKept } from "../camera_state";
import { t } from "../messages";
import { devices, interfaces, isCurrent } from "../state";
import type { AbsentAdapter, Interface } from "../types";
import { capitalised, moment, Name } from "./parts";

export function Adapters() {
  const all = [...interfaces.value.values()].sort((one, other) =>
    one.name.localeCompare(other.name, "en", { numeric: true }),
  );
  const free = all.filter(isFree).length;
  const current = isCurrent.value;
  const absent = useAbsent();
  return (
    <section aria-labelledby="adapters-title">
      <div class="section-head">
        <h2 id="adapters-title" tabIndex={-1}>
          {t.adapters.title}{" "}
          {all.length > 0 && (
            <span class="count">{current ? t.adapters.count(free, countOf(all)) : t.adapters.countUnknown(countOf(all))}</span>
          )}
        </h2>
      </div>
      {all.length === 0 && current && <p class="empty">{t.adapters.none}</p>}
      <ul class="rows">
        {all.map((one) => (
          <Adapter key={one.name} adapter={one} />
        ))}
        {absent.map((one) => (
          <Absent key={one.mac_address ?? one.usb_port} adapter={one} />
        ))}
      </ul>
    </section>
  );
}

/** The reserved adapters that are not plugged in; they are read again when what they depend on has changed. */
function useAbsent(): AbsentAdapter[] {
  const [absent, setAbsent] = useState<AbsentAdapter[]>([]);
  const current = isCurrent.value;
  const reserved = [...devices.value.values()].map((one) => [one.id, one.pin, one.warnings]);
  const cause = JSON.stringify([current, [...interfaces.value.keys()], reserved]);
  useEffect(() => {
    let wanted = current;
    if (current)
      request<{ absent_adapters: AbsentAdapter[] }>(deviceAddress("wifi/interfaces"))
        .then((answer) => wanted && setAbsent(answer.absent_adapters))
        .catch(() => undefined);
    return () => {
      wanted = false;
    };
  }, [cause]);
  return absent;
}

/** An adapter that is reserved for a camera, and is not plugged in. */
function Absent({ adapter }: { adapter: AbsentAdapter }) {
  const owner = adapter.device_id === null ? undefined : devices.value.get(adapter.device_id);
  const about = [adapter.usb_port && t.adapters.port(adapter.usb_port), adapter.mac_address];
  return (
    <li class="row" data-absent={adapter.mac_address ?? adapter.usb_port}>
      <div>
        <strong>{adapter.interface ?? t.adapters.unnamed}</strong> <span>{adapter.product ?? ""}</span>
        <small>{about.filter(Boolean).join(" · ")}</small>
        {owner && (
          <small class="why">
            {t.adapters.reservedFor}
            <Name text={owner.name} />
          </small>
        )}
      </div>
      <span class="badge unavailable">
        {adapter.unplugged_at ? t.adapters.unpluggedSince(moment(adapter.unplugged_at)) : t.adapters.away}
      </span>
    </li>
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
        {(!current || state !== "reserved") && keeper && keeper !== user && (
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
