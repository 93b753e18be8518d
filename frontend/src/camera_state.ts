// One vocabulary of states for cards, rows, counts and the page of a camera.

import type { Device, Interface } from "./types";

export type CameraState = "connected" | "connecting" | "waiting" | "searching" | "not-answering" | "failed" | "off";

/** The order in which a list sorted by state has them: what needs a person comes first. */
export const STATES: readonly CameraState[] = ["failed", "not-answering", "searching", "waiting", "connecting", "connected", "off"];

/** What a camera's state follows from. */
export type StateFields = Pick<Device, "connected" | "connection_status" | "reachable" | "waiting_since" | "lost_at"> & {
  connection_error_code: string | null;
};

export function stateOf(device: StateFields): CameraState {
  if (device.connected) return device.reachable === false ? "not-answering" : "connected";
  if (device.connection_status === "connecting") return "connecting";
  if (device.connection_status === "disconnecting") return "off";
  if (device.waiting_since) return "waiting";
  if (device.lost_at) return "searching";
  const code = device.connection_error_code;
  return code && code !== "cancelled" ? "failed" : "off";
}

const isPinned = (device: Device, adapter: Interface): boolean =>
  device.pin !== null &&
  ("mac" in device.pin ? device.pin.mac === adapter.mac_address : device.pin.usb_port === adapter.usb.port);

/** The free adapters that a device could get: those reserved for other cameras are none of them. */
export function freeFor(device: Device, adapters: Iterable<Interface>, devices: Iterable<Device>): Interface[] {
  const others = [...devices].filter((one) => one.id !== device.id);
  return [...adapters].filter((one) => one.state === "available" && !others.some((other) => isPinned(other, one)));
}

/** Whether a refusal was for adapters in use alone: its message has a reason for each adapter. */
export function wereAllInUse(message: string): boolean {
  const reasons = message.replace(/"[^"]*"/g, "").split(": ").slice(1).join(": ").split("), ");
  return reasons.length > 0 && reasons.every((one) => /^\S+ \(in use by /.test(one) || /^and \d+ more$/.test(one));
}
