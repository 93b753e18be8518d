// One vocabulary of states for cards, rows, counts and the page of a camera.

import { textOf } from "./messages";
import type { Device, Interface } from "./types";

/** How a camera's connection is. */
export type LinkState =
  | "connected"
  | "connecting"
  | "waking"
  | "waiting"
  | "searching"
  | "not-answering"
  | "recovering"
  | "failed"
  | "no-adapter"
  | "asleep"
  | "off";

/** The problems of a camera that stand as its state: it does not record as it was told, or that is not known. */
export const RECORDING_TROUBLES = ["not-recording", "still-recording", "recording-unconfirmed"] as const;
export type RecordingTrouble = (typeof RECORDING_TROUBLES)[number];

export const isRecordingTrouble = (code: string): code is RecordingTrouble => RECORDING_TROUBLES.some((one) => one === code);

export type CameraState = LinkState | RecordingTrouble;

/** The order in which a list sorted by state has them: what needs a person comes first. */
export const STATES: readonly CameraState[] = [
  "not-recording",
  "still-recording",
  "failed",
  "recording-unconfirmed",
  "not-answering",
  "recovering",
  "searching",
  "waiting",
  "waking",
  "connecting",
  "connected",
  "asleep",
  "no-adapter",
  "off",
];

/** What the state of its connection follows from. */
export type LinkFields = Pick<
  Device,
  "connected" | "connection_status" | "connection_phase" | "power_state" | "reachable" | "waiting_since" | "lost_at"
> & {
  connection_error_code: string | null;
  /** A newer hub may have other steps. */
  recovery_step: string | null;
};

/** What a camera's state follows from. */
export type StateFields = LinkFields & { camera: { problems: readonly string[] } | null };

/** What a person is told of a camera in one word: that it records as it was told comes before how it is connected. */
export const stateOf = (device: StateFields): CameraState =>
  RECORDING_TROUBLES.find((one) => device.camera?.problems.includes(one)) ?? linkOf(device);

export function linkOf(device: LinkFields): LinkState {
  if (device.recovery_step && (device.connected || device.connection_status === "connecting")) return "recovering";
  if (device.connected) return device.reachable === false ? "not-answering" : "connected";
  if (device.connection_status === "disconnecting") return "off";
  if (device.connection_phase === "waking") return "waking";
  if (device.connection_status === "connecting") return "connecting";
  if (device.waiting_since) return "waiting";
  if (device.power_state === "asleep") return "asleep";
  if (device.lost_at) return "searching";
  const code = device.connection_error_code;
  if (code === "no-interface-available") return "no-adapter";
  return code && code !== "cancelled" ? "failed" : "off";
}

/** How much a camera needs a person: the order of cards and rows. */
export const NEEDS = ["attention", "connected", "other"] as const;
export type Need = (typeof NEEDS)[number];

const NEED_OF: Record<CameraState, Need> = {
  "not-recording": "attention",
  "still-recording": "attention",
  "recording-unconfirmed": "attention",
  failed: "attention",
  "not-answering": "attention",
  recovering: "attention",
  searching: "attention",
  waking: "connected",
  connecting: "connected",
  connected: "connected",
  waiting: "other",
  asleep: "other",
  "no-adapter": "other",
  off: "other",
};

/** Problems of a camera that itself answers count as long as it is connected. */
export function needOf(device: StateFields): Need {
  const need = NEED_OF[stateOf(device)];
  return need === "connected" && device.camera && device.camera.problems.length > 0 ? "attention" : need;
}

/** What follows from it whether an adapter is free. */
export type AdapterFields = Pick<Interface, "state" | "reason" | "reserved_device_id" | "health">;

/** What an adapter is called that may not work: it is checked, or not used for now. */
export type Doubt = "checked" | "quarantined";

const DOUBTS: Record<string, Doubt> = { suspect: "checked", recovering: "checked", quarantined: "quarantined" };

export const doubtOf = ({ health }: Pick<AdapterFields, "health">): Doubt | null => textOf(DOUBTS, health) ?? null;

/** Whether it can be assigned; one that is checked can, if there is no other. */
const isAvailable = (adapter: AdapterFields): boolean => adapter.state === "available" && doubtOf(adapter) !== "quarantined";

/** How many adapters there are: of the interfaces of one radio, one stands for it. */
export const countOf = (adapters: readonly AdapterFields[]): number =>
  adapters.filter((one) => one.state !== "unavailable" || !one.reason?.startsWith("shares the radio of ")).length;

/** Whether any camera could get the adapter, and nothing speaks against it. */
export const isFree = (adapter: AdapterFields): boolean =>
  isAvailable(adapter) && doubtOf(adapter) === null && adapter.reserved_device_id === null;

/** Whether the adapter waits for the camera that it is reserved for. */
export const isKept = (adapter: AdapterFields): boolean => isAvailable(adapter) && adapter.reserved_device_id !== null;

/** Whether this camera could get the adapter. */
export const isFreeFor = (id: number, adapter: AdapterFields): boolean =>
  isAvailable(adapter) && (adapter.reserved_device_id === null || adapter.reserved_device_id === id);

/** Whether a refusal was for adapters in use alone: its message has a reason for each adapter. */
export function wereAllInUse(message: string): boolean {
  const reasons = message.replace(/"[^"]*"/g, "").split(": ").slice(1).join(": ").split("), ");
  return reasons.length > 0 && reasons.every((one) => /^\S+ \(in use by /.test(one) || /^and \d+ more$/.test(one));
}
