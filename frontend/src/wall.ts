// What the wall says of a camera, and how its tile looks.

import { type CameraState, isRecordingTrouble, type Kind, KIND_OF, linkOf, stateOf } from "./camera_state";
import { t } from "./messages";
import { isFresh, mayRecord, problemsOf } from "./reading";
import { isGrave } from "./rig";
import { headingFor } from "./sentences";
import { moment } from "./times";
import type { Camera, Device } from "./types";

/**
 * `act`: a person has to; `look`: it may have stopped; `ahead`: it does as it should, and may not for long; `work`: the hub
 * is at it; `rest`: nothing is asked of it; `unknown`: nobody knows now.
 */
export type Look = "act" | "look" | "ahead" | "work" | "rest" | "plain" | "unknown";

const LOOKS: Record<Kind, Look> = { act: "act", look: "look", busy: "work", waits: "work", good: "plain", rests: "rest" };

export interface TileWords {
  look: Look;
  /** Its shape; a camera that records has the dot. */
  shape: CameraState | "recording";
  /** In place of it stands for how long it records, if that is known. */
  word: string;
  reason: string;
  battery: { percent: number; isLow: boolean } | null;
  left: { seconds: number; isLow: boolean } | null;
}

/** Those without a tile. */
export interface Others {
  total: number;
  /** Who of them needs somebody. */
  needy: string[];
  recording: number;
  connected: number;
}

/** The looks for which no camera is left out of sight. */
const NEEDY: ReadonlySet<Look> = new Set(["act", "look"]);

const SHOWN_AS_VALUES: ReadonlySet<string> = new Set(["battery-low", "storage-low"]);

/** What is said of a camera; `isNow`: what it told of itself is so now. */
export function tileOf(device: Device, isCurrent: boolean, isNow: boolean): TileWords {
  const { camera } = device;
  const state = stateOf(device);
  const nothing = { reason: "", battery: null, left: null };
  if (!isCurrent) {
    const reason = wasRecording(camera) || t.rig.lastKnown(t.states[state]);
    return { ...nothing, look: "unknown", shape: "recording-unconfirmed", word: t.unknown, reason };
  }
  const codes = (camera?.problems ?? []).filter((code) => isNow || isRecordingTrouble(code));
  const isUnsure = state === "connected" && camera !== null && ((!isNow && camera.recording === true) || mayRecord(device));
  const isRecording = state === "connected" && isNow && camera?.recording === true;
  const isHot = isRecording && camera?.temperature_state === "warning";
  // It was told to a moment ago: nobody calls that a problem yet, and a calm "Connected" would say that all is well.
  const isStarting = state === "connected" && isNow && camera?.recording === false && camera.recording_requested;
  const look = isStarting ? "work" : lookOf(device, state, codes, isUnsure, isHot);
  const word =
    isStarting ? t.states["not-recording"]
    : isUnsure ? (t.check.what["recording-unknown"] ?? t.unknown)
    : isRecording ? t.reading.recording
    : t.states[state];
  const reason = isUnsure ? wasRecording(camera) || t.wall.toldToRecord : reasonOf(device, state, codes, isHot);
  const hasValues = camera !== null && device.connected && !NEEDY.has(look) && linkOf(device) === "connected";
  return {
    look,
    shape: isStarting ? "not-recording" : isUnsure ? "recording-unconfirmed" : isRecording ? "recording" : state,
    word,
    reason: hasValues && !isNow && camera.read_at !== null ? t.wall.readAt(moment(camera.read_at)) : reason,
    ...(hasValues ? valuesOf(camera, codes) : { battery: null, left: null }),
  };
}

/** Whether it is to be seen whatever else is. */
export const isNeedy = (device: Device, isCurrent: boolean, now: number): boolean =>
  NEEDY.has(tileOf(device, isCurrent, device.camera !== null && isFresh(device.camera, now)).look);

function lookOf(device: Device, state: CameraState, codes: readonly Camera["problems"][number][], isUnsure: boolean, isHot: boolean): Look {
  const look = LOOKS[KIND_OF[state]];
  // It was asked to connect, and the hub is not at it.
  if (look === "rest") return device.expected ? "act" : "rest";
  if (look !== "plain") return look;
  if (codes.some((code) => isGrave({ code }, device))) return "act";
  if (isUnsure) return "look";
  return codes.length > 0 || isHot ? "ahead" : "plain";
}

const valuesOf = ({ battery_level: percent, recording_time_left_s: seconds }: Camera, codes: readonly string[]) => ({
  battery: percent === null ? null : { percent, isLow: codes.includes("battery-low") },
  left: seconds === null ? null : { seconds, isLow: codes.includes("storage-low") },
});

const wasRecording = (camera: Camera | null): string =>
  camera?.recording && camera.read_at !== null ? t.reading.wasRecording(moment(camera.read_at)) : "";

/** Why, in what fits below the state. */
function reasonOf(device: Device, state: CameraState, codes: readonly Camera["problems"][number][], isHot: boolean): string {
  const { camera } = device;
  const at = device.connection_error_at;
  const time = (words: (time: string) => string, moments: string | null) => (moments === null ? "" : words(moment(moments)));
  const found = problemsOf({ problems: codes.filter((one) => !isRecordingTrouble(one) && !isShown(one, camera)) }).map(({ what }) => what);
  const problems = [...found, ...(isHot ? [t.wall.hot] : [])].slice(0, 2).join(" ");
  switch (state) {
    case "not-recording":
      return problems || t.wall.toldToRecord;
    case "still-recording":
      return problems || t.wall.toldToStop;
    case "recording-unconfirmed":
      return t.wall.answerLost;
    case "not-answering":
    case "recovering":
      return wasRecording(camera) || t.trouble.notAnswering;
    case "failed":
      // What has no word of its own has a sentence.
      return headingFor(device.connection_error_code);
    case "searching":
      return time(t.trouble.searching, device.lost_at);
    case "waiting":
      return time(t.wall.since, device.waiting_since);
    case "asleep":
      return time(t.wall.heard, device.last_seen);
    case "connected":
      return problems;
    case "waking":
    case "connecting":
    case "off":
      return "";
    default:
      return time(t.wall.at, at);
  }
}

/** Whether the value that is wrong stands there itself, and marked. */
const isShown = (code: string, camera: Camera | null): boolean =>
  SHOWN_AS_VALUES.has(code) && camera !== null && (code === "battery-low" ? camera.battery_level : camera.recording_time_left_s) !== null;
