// What can be done with a camera in its state: the most likely as a button, all else in a menu.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { linkOf } from "../camera_state";
import { command, type ConnectOptions, record, recover, sleep, underWay, type Verb, wake } from "../commands";
import { hubTime } from "../hub_clock";
import { t } from "../messages";
import { isFresh } from "../reading";
import { printable } from "../sentences";
import { isCurrent, service } from "../state";
import { notify } from "../toasts";
import type { Device } from "../types";
import { type Item, Menu } from "./menu";
import { type Form, openForm } from "./open_form";
import { toClipboard } from "./parts";
import { isAnyFreeFor } from "./trouble";

/** What a button does changes with the camera's state: the second click of two is not for what takes its place. */
const DOUBLE_CLICK_MS = 500;

interface Action {
  key: string;
  words: string;
  act: () => void;
  /** Whether it is what leads out of a state that nobody wants. */
  isPrimary: boolean;
  /** A command waits for the one before it; a dialog does not. */
  isCommand: boolean;
  /** What it is for several cameras at once, if it can be. */
  forMany?: Step;
}

/** A command to the connection of one camera, or of several. */
export interface Step {
  words: string;
  verb: Verb;
  options: ConnectOptions;
}

/** What can be done, the most likely first. */
function actionsOf(device: Device, open: (form: Form) => void): Action[] {
  const state = linkOf(device);
  const code = device.connection_error_code;
  const action = (words: string, act: () => void, isPrimary = false, isCommand = true, key = words): Action => ({
    key,
    words,
    act,
    isPrimary,
    isCommand,
  });
  const step = (words: string, verb: Verb, isPrimary: boolean, options: ConnectOptions = {}): Action => ({
    ...action(words, () => void command(device, verb, options), isPrimary),
    forMany: { words, verb, options },
  });
  const connect = (isPrimary: boolean) => step(t.camera.connect, "connect", isPrimary);
  const changePassword = () => action(t.camera.changePassword, () => open("password"), true, false);
  const canWake = device.auto_wake !== null && service.value?.bluetooth_state !== "absent";
  // What is not paired yet is paired first.
  const ifPaired = (act: () => Promise<void>) => () => (device.paired === false ? open("pair") : void act());
  const wakes = canWake ? [action(t.camera.wake, ifPaired(() => wake(device)))] : [];
  const wakeAndConnect = (isPrimary: boolean) =>
    device.paired === false
      ? action(t.camera.wakeAndConnect, () => open("pair"), isPrimary)
      : step(t.camera.wakeAndConnect, "connect", isPrimary, { wake: true });
  const disconnect = (words: string) => step(words, "disconnect", false);
  // A command that is refused would end the hub's own search.
  const isAnyFree = isAnyFreeFor(device);
  // One button that changes its words keeps the focus.
  const { recording, recording_requested: isRequested } = device.camera ?? {};
  const stopWords = recording === false ? t.camera.leaveStopped : t.camera.stopRecording;
  const toRecord = (isOn: boolean, key: string) =>
    action(isOn ? t.camera.record : stopWords, () => void record(device, isOn), isOn, true, key);
  // Some cameras do not say whether they record, and one that should and does not can be told that it need not.
  const isSilent = recording === null && device.camera !== null && isFresh(device.camera, hubTime.peek());
  const isEither = isSilent || (recording === false && isRequested);
  const recordings = device.camera ? [toRecord(!recording, "record"), ...(isEither ? [toRecord(false, "stop")] : [])] : [];
  switch (state) {
    case "connected":
      return [
        ...recordings,
        disconnect(t.camera.disconnect),
        ...(device.paired && canWake ? [action(t.camera.sleep, () => void sleep(device))] : []),
      ];
    case "not-answering":
      return [disconnect(t.camera.disconnect), action(t.camera.recover, () => void recover(device))];
    case "recovering":
    case "connecting":
    case "waking":
      return [disconnect(t.camera.stop)];
    case "waiting":
      return [disconnect(t.camera.stopWaiting)];
    case "searching":
      return [disconnect(t.camera.stopSearching), ...(isAnyFree ? [connect(false)] : []), ...wakes];
    case "asleep":
      if (code === "authentication-failed") return [changePassword(), wakeAndConnect(false), ...wakes];
      if (!device.lost_at) return [wakeAndConnect(true), ...wakes];
      return [...(isAnyFree ? [wakeAndConnect(true)] : []), disconnect(t.camera.stopSearching), ...wakes];
    case "no-adapter":
      return isAnyFree
        ? [connect(true), ...wakes]
        : [step(t.camera.connectWhenFree, "connect", true, { whenFree: true }), connect(false)];
    case "off":
      return [connect(true), ...wakes];
    case "wrong-password":
      return [changePassword(), connect(false)];
    case "not-paired":
      return device.paired === false ? [action(t.bluetooth.pair, () => open("pair"), true, false), connect(false)] : [connect(true), ...wakes];
    default:
      // A camera that was only not found may be off: it is woken where somebody has asked for that, or asks now.
      if (!canWake) return [connect(true)];
      return code === "wake-failed" ? [wakeAndConnect(true), connect(false), ...wakes] : [connect(true), wakeAndConnect(false), ...wakes];
  }
}

/** The most likely command to a camera that others may share; null where it is for one alone. */
export const stepOf = (device: Device): Step | null => actionsOf(device, () => undefined)[0]?.forMany ?? null;

async function copy(address: string): Promise<void> {
  const isCopied = await toClipboard(address);
  notify("clipboard", isCopied ? t.camera.copied(address) : t.camera.notCopied(address), "plain");
}

interface Props {
  device: Device;
  describedBy: string;
  /** How many are buttons; the others are in the menu. */
  buttons: number;
  /** Whether the others are offered. */
  hasMenu?: boolean;
}

export function DeviceActions({ device, describedBy, buttons, hasMenu = true }: Props) {
  const first = useRef<HTMLButtonElement>(null);
  const pressed = useRef<HTMLButtonElement | null>(null);
  const isGone = useRef(false);
  const [isHeld, setHeld] = useState(false);
  const current = isCurrent.value;
  const isUnderWay = underWay.value.has(device.id);
  const isBlocked = (one: Action) => !current || (one.isCommand && device.connection_status === "disconnecting");
  const open = (form: Form) => openForm(form, device);
  const actions = actionsOf(device, open);
  const address = device.connected ? (device.address ?? device.camera_address) : null;
  const items: Item[] = [
    ...actions.slice(buttons).map((one) => ({ key: one.key, words: one.words, act: one.act, isDisabled: isBlocked(one) || isUnderWay })),
    ...(address && device.reachable && current
      ? [{ key: "open", words: t.camera.open, more: t.camera.openWhat, href: `cameras/${device.id}/` }]
      : []),
    ...(address ? [{ key: "copy", words: t.camera.copy(address), act: () => void copy(address) }] : []),
    { key: "edit", words: t.camera.edit, act: () => open("edit"), isDisabled: !current },
    { key: "remove", words: t.camera.remove, act: () => open("remove"), isDisabled: !current, isDanger: true },
  ];
  // The button that was pressed may go with what it was for: then the focus is at the first that can have it, unless
  // a person has moved it.
  useLayoutEffect(() => {
    const button = pressed.current;
    if (button === null || document.activeElement === button) return;
    isGone.current ||= !button.isConnected || button.disabled;
    if (document.activeElement !== document.body || !isGone.current) {
      pressed.current = null;
      return;
    }
    first.current?.focus({ preventScroll: true });
    if (document.activeElement !== first.current) return;
    pressed.current = first.current;
    isGone.current = false;
  });
  const press = (one: Action, button: HTMLButtonElement) => {
    if (one.isCommand && (isUnderWay || isHeld)) return;
    one.act();
    if (!one.isCommand) return;
    pressed.current = button;
    isGone.current = false;
    setHeld(true);
    setTimeout(() => setHeld(false), DOUBLE_CLICK_MS);
  };
  return (
    <>
      {actions.slice(0, buttons).map((one, index) => (
        <button
          key={one.key}
          ref={index === 0 ? first : null}
          type="button"
          class={one.isPrimary ? "cure" : ""}
          disabled={isBlocked(one)}
          aria-busy={one.isCommand && isUnderWay}
          aria-describedby={describedBy}
          aria-disabled={one.isCommand && isHeld}
          onClick={(event) => press(one, event.currentTarget)}
        >
          {one.isCommand && isUnderWay && <span class="spinner" aria-hidden="true" />}
          {one.words}
        </button>
      ))}
      {hasMenu && (
        <Menu label={t.camera.more(printable(device.name))} items={items}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <circle cx="3" cy="8" r="1.4" />
            <circle cx="8" cy="8" r="1.4" />
            <circle cx="13" cy="8" r="1.4" />
          </svg>
        </Menu>
      )}
    </>
  );
}
