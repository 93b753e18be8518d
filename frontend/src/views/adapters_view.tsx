// The Wi-Fi adapters: what they are, who uses them, why one cannot be used, and which have gone.

import { useEffect, useState } from "preact/hooks";
import { deviceAddress, request } from "../api";
import { doubtOf, isKept } from "../camera_state";
import { t, textOf } from "../messages";
import { capitalised, doubtWords, printable } from "../sentences";
import { awayIn, devices, interfaces, isCurrent } from "../state";
import { moment } from "../times";
import type { AbsentAdapter, Device, Interface } from "../types";
import { Air, For, inOrder, Title } from "./adapters";
import { Name, Signal } from "./parts";
import "./shared";

/** docs/operating.md says it, too. */
const UNBLOCK = "rfkill unblock wifi";

/** What is on the air, and hub, ports and adapters as they are plugged in, with those that have gone. */
export default function Adapters() {
  const all = inOrder();
  const { absent, unmatched } = useReserved();
  const buses = new Map<string, Interface[]>();
  for (const one of all) {
    const bus = one.usb.port?.split("-")[0] ?? "";
    buses.set(bus, [...(buses.get(bus) ?? []), one]);
  }
  return (
    <section aria-labelledby="adapters-title">
      <div class="section-head">
        <Title all={all} />
      </div>
      {all.length === 0 && isCurrent.value && <p class="empty">{t.adapters.none}</p>}
      {all.length > 0 && (
        <section class="panel air" aria-labelledby="air-title">
          <h3 id="air-title">{t.adapters.channels}</h3>
          <Air />
        </section>
      )}
      <ul class="buses">
        {[...buses].map(([bus, adapters]) => (
          <li key={bus}>
            <h3>{bus ? t.adapters.bus(bus) : t.adapters.noBus}</h3>
            <ul class="ports">
              {adapters.map((one) => (
                <Adapter key={one.name} adapter={one} />
              ))}
            </ul>
          </li>
        ))}
        {absent.length > 0 && (
          <li>
            <h3>{t.adapters.absent}</h3>
            <ul class="ports">
              {absent.map((one) => (
                <Absent key={one.mac_address ?? one.usb_port} adapter={one} />
              ))}
            </ul>
          </li>
        )}
        {unmatched.length > 0 && (
          <li>
            <h3>{t.adapters.unmatched}</h3>
            {unmatched.map((one) => (
              <p key={one} class="why">
                {capitalised(printable(one))}.
              </p>
            ))}
          </li>
        )}
      </ul>
    </section>
  );
}

interface Reserved {
  /** The adapters that are reserved, or were there, and are not plugged in. */
  absent: AbsentAdapter[];
  /** The reservations that name no registered camera, as sentences. */
  unmatched: string[];
}

/** What is reserved or has gone, and is no interface; it is read again when what it depends on has changed. */
function useReserved(): Reserved {
  const [found, setFound] = useState<Reserved>({ absent: [], unmatched: [] });
  const current = isCurrent.value;
  const reserved = [...devices.value.values()].map((one) => [one.id, one.name, one.pin, one.warnings]);
  const cause = JSON.stringify([current, [...interfaces.value.keys()], reserved]);
  useEffect(() => {
    let wanted = current;
    if (current)
      request<{ absent_adapters: AbsentAdapter[]; unmatched_reservations: string[] }>(deviceAddress("wifi/interfaces"))
        .then((read) => wanted && setFound({ absent: read.absent_adapters, unmatched: read.unmatched_reservations }))
        .catch(() => undefined);
    return () => {
      wanted = false;
    };
  }, [cause]);
  return found;
}

const known = (id: number | null): Device | undefined => (id === null ? undefined : devices.value.get(id));

/** An adapter that is not plugged in: for whom it is kept, or who used it last, and why it is away. */
function Absent({ adapter }: { adapter: AbsentAdapter }) {
  const owner = known(adapter.device_id);
  const user = known(adapter.last_device_id);
  const running = textOf(t.adapters.awayIn, (user ?? owner)?.recovery_step ?? null);
  const step = running ? "" : awayIn.value.get(adapter.interface ?? "");
  const since = adapter.unplugged_at && moment(adapter.unplugged_at);
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
        {user && user !== owner && (
          <small>
            {t.adapters.lastUsedBy}
            <Name text={user.name} />
          </small>
        )}
        {step && <small class="why">{t.adapters.wentAway(step)}</small>}
      </div>
      <span class={`badge ${running ? "checked" : "unavailable"}`}>
        {running ?? (!since ? t.adapters.away : step ? t.adapters.awaySince(since) : t.adapters.unpluggedSince(since))}
      </span>
    </li>
  );
}

/** What goes through an adapter now. */
function Traffic({ device }: { device: Device }) {
  const { frequency, tx_bitrate: sent, rx_bitrate: received, signal_strength: percent } = device;
  return (
    <span class="traffic">
      {frequency !== null && <span>{t.adapters.onAir(frequency)}</span>}
      {sent !== null && <span>{t.adapters.sent(sent)}</span>}
      {received !== null && <span>{t.adapters.received(received)}</span>}
      {percent !== null && <Signal percent={percent} />}
    </span>
  );
}

/** What a person can do about an adapter that is blocked. */
function WayOut({ reason }: { reason: string | null }) {
  const blocked = /^blocked by rfkill \((soft|hard)/.exec(reason ?? "");
  if (!blocked) return null;
  if (blocked[1] === "hard") return <small>{t.adapters.unblockHard}</small>;
  return (
    <small>
      {t.adapters.unblock}
      <code>{UNBLOCK}</code>
    </small>
  );
}

function Adapter({ adapter }: { adapter: Interface }) {
  const current = isCurrent.value;
  const user = adapter.device_id === null ? undefined : devices.value.get(adapter.device_id);
  const keeper = adapter.reserved_device_id === null ? undefined : devices.value.get(adapter.reserved_device_id);
  const doubt = doubtOf(adapter);
  const state = adapter.state !== "in-use" && doubt ? doubt : isKept(adapter) ? "reserved" : adapter.state;
  const reason = adapter.state === "unavailable" ? printable(adapter.reason ?? "") : "";
  const why = capitalised(doubt && adapter.health_reason ? doubtWords(doubt, adapter) : reason);
  const about = [
    adapter.bands.map((band) => band.replace("GHz", " GHz")).join(", "),
    adapter.usb.port && t.adapters.port(adapter.usb.port),
    adapter.mac_address,
    adapter.driver,
  ];
  return (
    <li class="row" data-interface={adapter.name}>
      <div>
        <strong>{adapter.name}</strong> <span>{adapter.usb.product ?? adapter.driver ?? ""}</span>
        <small class="about-adapter">{about.filter(Boolean).join(" · ")}</small>
        {current && why && <small class="why">{why}</small>}
        {current && <WayOut reason={adapter.reason} />}
        {(!current || state !== "reserved") && keeper && (
          <small>
            {t.adapters.reservedFor}
            <Name text={keeper.name} />
          </small>
        )}
      </div>
      {current && user?.connected && <Traffic device={user} />}
      <span class={`badge ${current ? state : "stale"}`}>
        {current ? t.adapters[state] : t.unknown}
        {current && state === "reserved" && <For device={adapter.reserved_device_id} />}
        {current && user && (
          <>
            {t.adapters.by}
            <a href={`#camera/${user.id}`}>
              <Name text={user.name} />
            </a>
          </>
        )}
      </span>
    </li>
  );
}
