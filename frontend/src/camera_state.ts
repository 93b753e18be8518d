// One vocabulary of states for cards, rows, counts and the page of a camera.

import { textOf } from "./messages";
import type { Device, Interface } from "./types";

/** How its last attempt or link ended: a word that says what to do next. */
export type Failure = "wrong-password" | "not-found" | "no-address" | "refused" | "not-paired" | "lost" | "failed";

/** How a camera's connection is. */
export type LinkState =
  | "connected"
  | "connecting"
  | "waking"
  | "waiting"
  | "searching"
  | "not-answering"
  | "recovering"
  | Failure
  | "no-adapter"
  | "asleep"
  | "off";

/** The problems of a camera that stand as its state: it does not record as it was told, or that is not known. */
export const RECORDING_TROUBLES = ["not-recording", "still-recording", "recording-unconfirmed"] as const;
export type RecordingTrouble = (typeof RECORDING_TROUBLES)[number];

export const isRecordingTrouble = (code: string): code is RecordingTrouble => RECORDING_TROUBLES.some((one) => one === code);

export type CameraState = LinkState | RecordingTrouble;

/**
 * How a state is drawn: a person has to act, or to look, since it may have stopped; the hub is at it by itself, or waits;
 * all is well; nothing is asked of it.
 */
export type Kind = "act" | "look" | "busy" | "waits" | "good" | "rests";

/** Each state with its kind, in the order in which a list sorted by state has them. */
export const KIND_OF: Readonly<Record<CameraState, Kind>> = {
  "not-recording": "act",
  "still-recording": "act",
  "wrong-password": "act",
  "not-found": "act",
  "no-address": "act",
  refused: "act",
  "not-paired": "act",
  lost: "act",
  failed: "act",
  "recording-unconfirmed": "look",
  "not-answering": "look",
  recovering: "busy",
  searching: "busy",
  waiting: "waits",
  waking: "busy",
  connecting: "busy",
  connected: "good",
  asleep: "rests",
  "no-adapter": "rests",
  off: "rests",
};
export const STATES = Object.keys(KIND_OF) as CameraState[];

/** The state that an error leaves a camera in, as the command line has it in domain/camera_state.py; all others are failures. */
export const OF_ERROR: Readonly<Record<string, LinkState>> = {
  "authentication-failed": "wrong-password",
  "device-not-reachable": "not-found",
  "wake-failed": "not-found",
  "address-failed": "no-address",
  "association-refused": "refused",
  "not-paired": "not-paired",
  "connection-lost": "lost",
  "interface-lost": "lost",
  "no-interface-available": "no-adapter",
  cancelled: "off",
};

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
  return code ? (textOf(OF_ERROR, code) ?? "failed") : "off";
}

/** How much a camera needs a person, in the order of cards and rows. What the hub is at by itself needs none yet. */
export const NEEDS = ["attention", "returning", "connected", "other"] as const;
export type Need = (typeof NEEDS)[number];

const NEED_OF: Record<Kind, Need> = { act: "attention", look: "attention", busy: "connected", good: "connected", waits: "other", rests: "other" };
/** What comes back by itself is worth a look before what is well. */
const RETURNING: ReadonlySet<CameraState> = new Set(["searching", "recovering"]);

/** Problems of a camera that itself answers count as long as it is connected. */
export function needOf(device: StateFields): Need {
  const state = stateOf(device);
  if (RETURNING.has(state)) return "returning";
  const need = NEED_OF[KIND_OF[state]];
  return need === "connected" && device.camera && device.camera.problems.length > 0 ? "attention" : need;
}

/** How a camera that needs a person is marked: where somebody has to act, and where to look. */
export type Mark = "act" | "look" | "";

export const markOf = (device: StateFields): Mark =>
  KIND_OF[stateOf(device)] === "act" ? "act" : needOf(device) === "attention" ? "look" : "";

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
