// The Wi-Fi adapters at a glance: how many are free, and which channels are in use by whom.

import { countOf, doubtOf, isFree, isKept } from "../camera_state";
import { t } from "../messages";
import { printable } from "../sentences";
import { devices, interfaces, isCurrent, nameOf } from "../state";
import type { Device, Interface } from "../types";
import { byText } from "./order";
import { Name } from "./parts";
import "./shared";

export const inOrder = () => [...interfaces.value.values()].sort((one, other) => byText(one.name, other.name));

/** Whether it is checked, and no camera is on it. */
const isChecked = (one: Interface): boolean => one.state !== "in-use" && doubtOf(one) === "checked";

const isUnusable = (one: Interface): boolean =>
  one.state === "unavailable" || (one.state !== "in-use" && doubtOf(one) === "quarantined");

export function Title({ all }: { all: readonly Interface[] }) {
  const words = isCurrent.value ? t.adapters.count(all.filter(isFree).length, countOf(all), all.filter(isChecked).length) : t.adapters.countUnknown(countOf(all));
  return (
    <h2 id="adapters-title" tabIndex={-1}>
      {t.adapters.title} {all.length > 0 && <span class="count">{words}</span>}
    </h2>
  );
}

/** Beside the cameras: which channels are in use, by whom, and what is free. */
export function AdaptersAtAGlance() {
  return (
    <section class="panel" aria-labelledby="adapters-title">
      <Title all={inOrder()} />
      <Air />
    </section>
  );
}

interface Lane {
  megahertz: number;
  cameras: Device[];
}

/** The cameras that are connected, by channel. */
function lanesOf(everyone: readonly Device[]): Lane[] {
  const lanes = new Map<number, Device[]>();
  for (const one of everyone) {
    if (one.connected && one.frequency !== null) lanes.set(one.frequency, [...(lanes.get(one.frequency) ?? []), one]);
  }
  return [...lanes].map(([megahertz, cameras]) => ({ megahertz, cameras })).sort((one, other) => one.megahertz - other.megahertz);
}

/** One sentence for cameras that share a channel: which, and which of them could leave it. */
function adviceFor({ megahertz, cameras }: Lane): string {
  const names = cameras.map((one) => printable(one.name));
  const isCapable = (one: Device) => one.interface !== null && interfaces.value.get(one.interface)?.bands.includes("5GHz");
  const able = megahertz < FIVE_GHZ ? cameras.filter(isCapable).map((one) => one.interface ?? "") : [];
  return t.adapters.share(names, megahertz, able);
}

const FIVE_GHZ = 5_000;

export function Air() {
  const all = inOrder();
  const everyone = [...devices.value.values()];
  const current = isCurrent.value;
  const lanes = current ? lanesOf(everyone) : [];
  // An attempt has an adapter, and no channel yet.
  const without = current ? everyone.filter((one) => one.interface !== null && !(one.connected && one.frequency !== null)) : [];
  const rest = (name: keyof typeof t.adapters.rests, adapters: readonly Interface[]) =>
    adapters.length > 0 && (
      <li class="lane">
        <span />
        <span>{t.adapters.rests[name]}</span>
        <span class="chips">
          {adapters.map((one) => (
            <span key={one.name} class={`tag ${name}`} title={one.health_reason ?? one.reason ?? undefined}>
              {one.name}
              {name === "reserved" && <For device={one.reserved_device_id} />}
            </span>
          ))}
        </span>
      </li>
    );
  return (
    <>
      <ul class="lanes">
        {lanes.map(({ megahertz, cameras }) => (
          <li key={megahertz} class="lane">
            <strong>{t.adapters.channelNumber(megahertz)}</strong>
            <span>{t.adapters.band(megahertz)}</span>
            <Cameras cameras={cameras} />
          </li>
        ))}
        {without.length > 0 && (
          <li class="lane">
            <span />
            <span>{t.adapters.rests["in-use"]}</span>
            <Cameras cameras={without} />
          </li>
        )}
        {current ? (
          <>
            {rest("free", all.filter(isFree))}
            {rest("reserved", all.filter((one) => isKept(one) && !isChecked(one)))}
            {rest("checked", all.filter(isChecked))}
            {rest("unavailable", all.filter((one) => isUnusable(one) && !isChecked(one)))}
          </>
        ) : (
          rest("unknown", all)
        )}
      </ul>
      {lanes
        .filter((one) => one.cameras.length > 1)
        .map((lane) => (
          <p key={lane.megahertz} class="advice">
            {adviceFor(lane)}
          </p>
        ))}
    </>
  );
}

/** Whom an adapter is kept for. */
export const For = ({ device: id }: { device: number | null }) => (
  <>
    {t.adapters.forWhom}
    <bdi>{nameOf(id ?? 0)}</bdi>
  </>
);

const Cameras = ({ cameras }: { cameras: readonly Device[] }) => (
  <span class="chips">
    {cameras.map((one) => (
      <span key={one.id} class="tag" title={one.interface ?? undefined}>
        <Name text={one.name} />
      </span>
    ))}
  </span>
);
