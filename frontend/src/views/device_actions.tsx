// What can be done with a camera in its state: the most likely first.

import { useState } from "preact/hooks";
import { isFreeFor, stateOf } from "../camera_state";
import { command, record, sleep, underWay, wake } from "../commands";
import { hubTime } from "../hub_clock";
import { t } from "../messages";
import { isFresh } from "../reading";
import { interfaces, isCurrent, service } from "../state";
import type { Device } from "../types";
import { Edit, Pair, Password, Remove } from "./device_forms";

type Task = "edit" | "password" | "pair" | "remove";
/** These tell only that the camera's network is not there: it may sleep. */
const MAY_SLEEP: ReadonlySet<string> = new Set(["device-not-reachable", "connection-lost", "wake-failed"]);

export function DeviceActions({ device, describedBy }: { device: Device; describedBy: string }) {
  const [task, setTask] = useState<Task | null>(null);
  const close = () => setTask(null);
  const state = stateOf(device);
  const current = isCurrent.value;
  const isUnderWay = underWay.value.has(device.id);
  const isLeaving = device.connection_status === "disconnecting";
  const code = device.connection_error_code;
  const isRefused = state === "failed" && code === "no-interface-available";
  const isAnyFree = isRefused && [...interfaces.value.values()].some((one) => isFreeFor(device.id, one));

  const button = (words: string, onClick: () => void, isPrimary = false, isCommand = true, key = words) => (
    <button
      key={key}
      type="button"
      class={isPrimary ? "primary" : ""}
      disabled={!current || (isCommand && isLeaving)}
      aria-busy={isCommand && isUnderWay}
      aria-describedby={describedBy}
      onClick={() => {
        if (!isCommand || !isUnderWay) onClick();
      }}
    >
      {isCommand && isUnderWay && <span class="spinner" aria-hidden="true" />}
      {words}
    </button>
  );
  const connect = (isPrimary: boolean) => button(t.camera.connect, () => void command(device, "connect"), isPrimary);
  const changePassword = () => button(t.camera.changePassword, () => setTask("password"), true, false);
  const canWake = device.auto_wake !== null && service.value?.bluetooth_state !== "absent";
  // What is not paired yet is paired first.
  const ifPaired = (act: () => Promise<void>) => () => (device.paired === false ? setTask("pair") : void act());
  const wakes = canWake ? [button(t.camera.wake, ifPaired(() => wake(device)))] : [];
  const wakeAndConnect = (isPrimary: boolean) =>
    button(t.camera.wakeAndConnect, ifPaired(() => command(device, "connect", { wake: true })), isPrimary);
  const disconnect = (words: string) => button(words, () => void command(device, "disconnect"));
  // One button that changes its words keeps the focus.
  const toRecord = (isOn: boolean, key: string) =>
    button(isOn ? t.camera.record : t.camera.stopRecording, () => void record(device, isOn), isOn, true, key);
  const { recording, recording_requested: isRequested } = device.camera ?? {};
  // Some cameras do not say whether they record, and one that should and does not can be told that it need not.
  const isSilent = recording === null && device.camera !== null && isFresh(device.camera, hubTime.peek());
  const isEither = isSilent || (recording === false && isRequested);
  const recordings = device.camera ? [toRecord(!recording, "record"), ...(isEither ? [toRecord(false, "stop")] : [])] : [];
  const choices = {
    connected: () => [
      ...recordings,
      disconnect(t.camera.disconnect),
      ...(device.paired && canWake ? [button(t.camera.sleep, () => void sleep(device))] : []),
    ],
    "not-answering": () => [disconnect(t.camera.disconnect)],
    connecting: () => [disconnect(t.camera.stop)],
    waking: () => [disconnect(t.camera.stop)],
    waiting: () => [disconnect(t.camera.stopWaiting)],
    searching: () => [connect(true), disconnect(t.camera.stopSearching), ...wakes],
    asleep: () =>
      code === "authentication-failed"
        ? [changePassword(), wakeAndConnect(false), ...wakes]
        : [wakeAndConnect(true), ...(device.lost_at ? [disconnect(t.camera.stopSearching)] : []), ...wakes],
    off: () => [connect(true), ...wakes],
    failed: () =>
      code === "authentication-failed"
        ? [changePassword(), connect(false)]
        : isRefused && !isAnyFree
          ? [button(t.camera.connectWhenFree, () => void command(device, "connect", { whenFree: true }), true), connect(false)]
          : code === "not-paired" && device.paired === false
            ? [button(t.bluetooth.pair, () => setTask("pair"), true, false), connect(false)]
            : canWake && code !== null && MAY_SLEEP.has(code)
              ? [wakeAndConnect(true), connect(false), ...wakes]
              : [connect(true), ...wakes],
  };
  return (
    <>
      <div class="actions">
        {choices[state]()}
        <span class="further">
          <button type="button" class="quiet" disabled={!current} onClick={() => setTask("edit")} aria-describedby={describedBy}>
            {t.camera.edit}
          </button>
          <button type="button" class="quiet" disabled={!current} onClick={() => setTask("remove")} aria-describedby={describedBy}>
            {t.camera.remove}
          </button>
        </span>
      </div>
      {task === "edit" && <Edit device={device} onClose={close} />}
      {task === "password" && <Password device={device} onClose={close} />}
      {task === "pair" && <Pair device={device} onClose={close} />}
      {task === "remove" && <Remove device={device} onClose={close} />}
    </>
  );
}
