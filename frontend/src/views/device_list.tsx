// Many cameras: one row each, found by words and by state, sorted, and several commanded at once.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type CameraState, STATES, stateOf } from "../camera_state";
import { commandMany, recordOnMany, type Verb } from "../commands";
import { t } from "../messages";
import { loadModels, modelName } from "../models";
import { takesCommands } from "../reading";
import { printable } from "../sentences";
import { devices, isCurrent } from "../state";
import type { Device } from "../types";
import { StateBadge } from "./state_badge";
import { Name, Signal } from "./parts";
import { ReadingLine } from "./reading";

type Sort = keyof typeof t.cameras.sorts;

// Kept while other views are open.
const words = signal("");
const state = signal<CameraState | "">("");
const sort = signal<Sort>("name");
const chosen = signal<ReadonlySet<number>>(new Set());

/** What a camera is found by. Its state is none of it: that has a filter of its own. */
function searched({ name, connection_settings, codename, address, camera_address }: Device): string {
  const parts = [name, connection_settings.ssid, codename, modelName(codename), address ?? camera_address];
  return parts.filter(Boolean).join("\n").toLowerCase();
}

const byText = (one: string, other: string) => one.localeCompare(other, undefined, { numeric: true, sensitivity: "base" });

const ORDERS: Record<Sort, (one: Device, other: Device) => number> = {
  name: (one, other) => byText(one.name, other.name),
  state: (one, other) => STATES.indexOf(stateOf(one)) - STATES.indexOf(stateOf(other)),
  signal: (one, other) => (other.signal_strength ?? -1) - (one.signal_strength ?? -1),
  network: (one, other) => byText(one.connection_settings.ssid, other.connection_settings.ssid),
  id: () => 0,
};

export function DeviceList({ everyone }: { everyone: readonly Device[] }) {
  useEffect(() => void loadModels().catch(() => undefined), []);
  const current = isCurrent.value;
  const wanted = words.value.trim().toLowerCase();
  const counts = new Map<CameraState, number>();
  for (const one of everyone) counts.set(stateOf(one), (counts.get(stateOf(one)) ?? 0) + 1);
  const shown = everyone
    .filter((one) => (!state.value || stateOf(one) === state.value) && searched(one).includes(wanted))
    .sort((one, other) => ORDERS[sort.value](one, other) || one.id - other.id);
  // What is commanded is what is seen: a row that the filter hides is not among the chosen.
  const picked = shown.filter((one) => chosen.value.has(one.id));
  const able = picked.filter(takesCommands);
  const isAll = shown.length > 0 && picked.length === shown.length;

  const pick = (ids: readonly number[], isPicked: boolean) => {
    const next = new Set([...chosen.value].filter((id) => devices.value.has(id)));
    for (const id of ids) {
      if (isPicked) next.add(id);
      else next.delete(id);
    }
    chosen.value = next;
  };
  const run = (verb: Verb) => {
    void commandMany(picked, verb);
    chosen.value = new Set();
  };

  const runRecording = (isOn: boolean) => {
    void recordOnMany(isOn, able);
    chosen.value = new Set();
  };

  return (
    <>
      <div class="tools">
        <label class="find">
          {t.cameras.find}
          <input
            type="search"
            value={words.value}
            onInput={(event) => (words.value = event.currentTarget.value)}
            placeholder={t.cameras.findHint}
          />
        </label>
        <div>
          <label for="filter-state">{t.cameras.filterState}</label>
          <select
            id="filter-state"
            value={state.value}
            onChange={(event) => (state.value = event.currentTarget.value as CameraState | "")}
          >
            <option value="">{t.cameras.allStates(everyone.length)}</option>
            {STATES.map((one) => (
              <option key={one} value={one}>
                {t.cameras.stateCount(t.states[one], counts.get(one) ?? 0)}
              </option>
            ))}
          </select>
        </div>
        <div>
          <label for="sort">{t.cameras.sort}</label>
          <select id="sort" value={sort.value} onChange={(event) => (sort.value = event.currentTarget.value as Sort)}>
            {(Object.keys(ORDERS) as Sort[]).map((one) => (
              <option key={one} value={one}>
                {t.cameras.sorts[one]}
              </option>
            ))}
          </select>
        </div>
      </div>
      <div class="chosen">
        <span>{t.cameras.selected(picked.length)}</span>
        <button type="button" disabled={!current || picked.length === 0} onClick={() => run("connect")}>
          {t.camera.connect}
        </button>
        <button type="button" disabled={!current || picked.length === 0} onClick={() => run("disconnect")}>
          {t.camera.disconnect}
        </button>
        {everyone.some((one) => one.camera) && (
          <>
            <button type="button" disabled={!current || able.length === 0} onClick={() => runRecording(true)}>
              {t.camera.record}
            </button>
            <button type="button" disabled={!current || able.length === 0} onClick={() => runRecording(false)}>
              {t.camera.stopRecording}
            </button>
          </>
        )}
      </div>
      <table class="list" aria-labelledby="cameras-title">
        <thead>
          <tr>
            <th scope="col" class="pick">
              <label>
                <input type="checkbox" checked={isAll} onChange={() => pick(shown.map((one) => one.id), !isAll)} />
                <span class="visually-hidden">{t.cameras.selectAll}</span>
              </label>
            </th>
            <th scope="col">{t.camera.name}</th>
            <th scope="col" class="in-state">{t.camera.state}</th>
            <th scope="col" class="in-network">{t.camera.network}</th>
            <th scope="col" class="in-model">{t.camera.model}</th>
            <th scope="col" class="in-adapter">{t.camera.adapter}</th>
            <th scope="col" class="in-signal">{t.camera.signal}</th>
            <th scope="col" class="in-address">{t.camera.address}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((device) => (
            <Row key={device.id} device={device} isPicked={chosen.value.has(device.id)} onPick={(on) => pick([device.id], on)} />
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="empty">{t.cameras.noMatches}</p>}
    </>
  );
}

function Row({ device, isPicked, onPick }: { device: Device; isPicked: boolean; onPick: (isPicked: boolean) => void }) {
  return (
    <tr data-device={device.id} class={isPicked ? "picked" : ""}>
      <td class="pick">
        <label>
          <input type="checkbox" checked={isPicked} onChange={(event) => onPick(event.currentTarget.checked)} />
          <span class="visually-hidden">
            <bdi>{t.cameras.select(printable(device.name))}</bdi>
          </span>
        </label>
      </td>
      <th scope="row">
        <a href={`#camera/${device.id}`}>
          <Name text={device.name} />
        </a>
      </th>
      <td class="in-state">
        <StateBadge device={device} />
        <ReadingLine device={device} />
      </td>
      <td class="in-network">
        <Name text={device.connection_settings.ssid} />
      </td>
      <td class="in-model">{modelName(device.codename)}</td>
      <td class="in-adapter">{device.interface}</td>
      <td class="in-signal">{device.signal_strength !== null && <Signal percent={device.signal_strength} />}</td>
      <td class="in-address">{device.connected && (device.address ?? device.camera_address)}</td>
    </tr>
  );
}
