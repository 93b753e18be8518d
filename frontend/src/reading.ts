// What a camera has said of itself, as words for people. What is not known is null, and never 0.

import { type StateFields, stateOf } from "./camera_state";
import type { Loss } from "./losses";
import { t, textOf } from "./messages";
import type { Camera, Device } from "./types";

/** A connected camera is read every 10 s, after failures every 30 s: what is older may no longer be so. */
const FRESH_MS = 60_000;
const GB = 1e9;
const MS_OF_TENTH = 100;
/** A clock that differs by less is told with its bound, */
const NEAR_MS = 10_000;
/** once that is so close: some seconds after the connection, or after it was set. */
const CLOSE_MS = 200;

/** Whether the hub can have it start and stop recording. */
export const takesCommands = (device: Device): boolean => device.connected && device.camera !== null;

/** Whether commands to all cameras are for it, connected or not. */
export const isOfRig = ({ camera, expected }: Device): boolean => camera !== null && expected;

/** Whether it was told to record, and was not seen to end since, or says one thing and then the other: nobody knows what it does. */
export const mayRecord = ({ camera }: Device): boolean =>
  camera !== null &&
  camera.recording === null &&
  (camera.recording_requested || camera.problems.includes("recording-unconfirmed") || camera.problems.includes("unstable"));

/** Whether it was read just now, by the hub's clock. */
export const isFresh = ({ read_at }: Camera, now: number): boolean =>
  read_at !== null && now - Date.parse(read_at) < FRESH_MS;

/** What a badge says of a connected camera that records, and for how long it has; empty for any other camera. */
export function recordingLabel(device: RecordingFields, now: number): string {
  const { camera } = device;
  if (!camera?.recording || stateOf(device) !== "connected") return "";
  const running = runningTime(camera, now);
  return running === "" ? t.reading.recording : t.reading.recordingFor(running);
}

/** For how long a camera has recorded; empty if it does not say. */
export function runningTime(camera: Pick<Camera, "recording_since"> | null, now: number): string {
  const since = camera?.recording_since;
  return since ? elapsed(Math.max(0, Math.floor((now - Date.parse(since)) / 1000))) : "";
}

/** What that follows from. */
type RecordingFields = StateFields & { camera: Pick<Camera, "recording" | "recording_since"> | null };

/** A duration as a recorder shows it. */
export function elapsed(seconds: number): string {
  const two = (value: number) => String(value % 60).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

export const batteryWords = ({ battery_level: percent, battery_state: state }: Pick<Camera, "battery_level" | "battery_state">): string | null =>
  percent === null ? null : state === "charging" ? t.reading.charging(percent) : t.reading.percent(percent);

/** What is free on the card, or what is wrong with it. */
export function cardWords({ storage_state: state, storage_free: bytes }: Camera): string | null {
  if (state !== null && state !== "ok" && state !== "slow") return t.reading.cards[state];
  const free = bytes === null ? null : t.reading.free(sizeOf(bytes));
  return state === "slow" ? [t.reading.cards.slow, free].filter(Boolean).join(", ") : free;
}

/** Of a card that takes no more, nobody asks how long one could record. */
export const timeLeft = ({ recording_time_left_s: left, storage_state: state }: Pick<Camera, "recording_time_left_s" | "storage_state">): string | null =>
  left === null || (state !== null && STOPS_RECORDING.has(`storage-${state}`)) ? null : t.reading.remaining(left);

/** What a card allows, in one short value: what is wrong with it, how long one can record, or what is free. As the command line has it. */
export function cardValue(camera: Camera): string | null {
  const left = timeLeft(camera);
  return textOf(t.reading.cardIs, camera.storage_state) ?? (left === null ? cardWords(camera) : t.reading.left(left));
}

/** A size as it stands on cards, in powers of ten; rounded down: what does not fit is not promised. */
export function sizeOf(bytes: number): string {
  const tenths = Math.floor((bytes / GB) * 10) / 10;
  return tenths < 10 ? tenths.toFixed(1) : String(Math.floor(tenths));
}

export interface ProblemWords {
  code: string;
  what: string;
  advice: string;
}

/** Why a camera cannot record: with these it would refuse to. */
export const STOPS_RECORDING: ReadonlySet<string> = new Set(["too-hot", "storage-missing", "storage-full", "storage-error"]);

/** What a problem is; codes of later versions have no words here. */
export const problemWords = (code: string | null): { what: string; advice: string } | undefined => textOf(t.problems, code);

/** What is wrong with it, the most urgent first; codes of later versions have no words here. A recording that has ended says what ended it. */
export function problemsOf({ problems }: Pick<Camera, "problems">): ProblemWords[] {
  const found = problems.flatMap((code) => {
    const words = problemWords(code);
    return words ? [{ code, ...words }] : [];
  });
  const cause = found.find(({ code }) => STOPS_RECORDING.has(code));
  if (!cause || found[0]?.code !== "not-recording") return found;
  return [{ ...found[0], advice: `${cause.what} ${cause.advice}` }, ...found.slice(1).filter((one) => one !== cause)];
}

/**
 * A clock's offset with the bound of the true one, both with as many digits as the bound deserves. The bound is rounded
 * up, never down.
 */
export function offsetWords({ clock_offset_ms: offset, clock_bound_ms: bound }: Pick<Camera, "clock_offset_ms" | "clock_bound_ms">): string {
  if (offset === null) return t.reading.offsetNotKnown;
  const digits = bound === null ? 1 : bound < MS_OF_TENTH / 10 ? 3 : bound < 10 * MS_OF_TENTH ? 2 : 1;
  const step = 10 ** (3 - digits);
  const rounded = Math.round(offset / step) * step;
  // What is 0 once it is rounded has no minus.
  const seconds = `${rounded < 0 ? "\u2212" : "+"}${(Math.abs(rounded) / 1_000).toFixed(digits)}`;
  if (bound === null) return t.reading.offsetWithoutBound(seconds);
  const within = Math.ceil((bound + Math.abs(offset - rounded)) / step) * step;
  return t.reading.offset(seconds, (within / 1_000).toFixed(digits));
}

/** By how much its clock differs from the hub's; null if that is not known. */
export function clockWords({ clock_offset_ms: offset, clock_bound_ms: bound }: Camera): string | null {
  if (offset === null) return null;
  if (bound !== null && bound < CLOSE_MS && Math.abs(offset) < NEAR_MS) {
    return offsetWords({ clock_offset_ms: offset, clock_bound_ms: bound });
  }
  if (bound !== null && Math.abs(offset) <= bound) return t.reading.clockRight;
  const seconds = Math.round(Math.abs(offset) / 1000);
  return seconds === 0 ? t.reading.clockRight : t.reading.clockWrong(seconds, offset > 0);
}

/** Why a recording ended that nobody has stopped at this hub; where the camera does not say it, by how its link was lost. */
export const endWords = (reason: string, lossOf: () => Loss | null): string => {
  const loss = reason === "unknown" ? lossOf() : null;
  return loss ? t.losses[loss] : (textOf(t.ends, reason) ?? t.ends.unknown);
};
