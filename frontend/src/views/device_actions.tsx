// What can be done with a camera in its state: the most likely first.

import { useState } from "preact/hooks";
import { isFreeFor, stateOf } from "../camera_state";
import { command, underWay } from "../commands";
import { t } from "../messages";
import { interfaces, isCurrent } from "../state";
import type { Device } from "../types";
import { Edit, Password, Remove } from "./device_forms";

type Task = "edit" | "password" | "remove";

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

  const button = (words: string, onClick: () => void, isPrimary = false, isCommand = true) => (
    <button
      key={words}
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
  const disconnect = (words: string) => button(words, () => void command(device, "disconnect"));
  const choices = {
    connected: () => [disconnect(t.camera.disconnect)],
    "not-answering": () => [disconnect(t.camera.disconnect)],
    connecting: () => [disconnect(t.camera.stop)],
    waiting: () => [disconnect(t.camera.stopWaiting)],
    searching: () => [connect(true), disconnect(t.camera.stopSearching)],
    off: () => [connect(true)],
    failed: () =>
      code === "authentication-failed"
        ? [button(t.camera.changePassword, () => setTask("password"), true, false), connect(false)]
        : isRefused && !isAnyFree
          ? [button(t.camera.connectWhenFree, () => void command(device, "connect", true), true), connect(false)]
          : [connect(true)],
  };
  return (
    <>
      <div class="actions">
        {choices[state]()}
        <span class="spread" />
        <button type="button" class="quiet" disabled={!current} onClick={() => setTask("edit")} aria-describedby={describedBy}>
          {t.camera.edit}
        </button>
        <button type="button" class="quiet" disabled={!current} onClick={() => setTask("remove")} aria-describedby={describedBy}>
          {t.camera.remove}
        </button>
      </div>
      {task === "edit" && <Edit device={device} onClose={close} />}
      {task === "password" && <Password device={device} onClose={close} />}
      {task === "remove" && <Remove device={device} onClose={close} />}
    </>
  );
}
