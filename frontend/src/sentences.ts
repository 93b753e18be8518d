// What happened, as lines of the log; the words are in the catalog.

import { type Doubt, doubtOf } from "./camera_state";
import type { Cause } from "./causes";
import { takeLoss } from "./losses";
import { t, textOf } from "./messages";
import { endWords, problemsOf } from "./reading";
import type { Tone } from "./toasts";
import type { Camera, Device, Event, Interface, RecordingStopped, Service } from "./types";

export const headingFor = (code: string | null): string => textOf(t.headings, code) ?? t.hub.failed;

export const adviceFor = (code: string | null): string => textOf(t.advice, code) ?? "";

/** What the hub says, whose commands stand between backticks. */
const quoted = (text: string): string => text.replace(/`([^`]+)`/g, "“$1”");

/** A reason of the hub's as the begin of a sentence. */
export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + quoted(text.slice(1));

/** What says no more than the heading does. */
const REPEATS = new Map([["authentication-failed", /refused the password$/]]);

/** What the hub does for a camera in a recovery step. */
export const stepWords = (step: string): string => textOf(t.steps, step) ?? t.otherStep;

/** What the service says of an error, as a sentence, without what the heading says already. */
export function detailOf(code: string | null, message: string): string {
  if (code !== null && REPEATS.get(code)?.test(message)) return "";
  const heading = headingFor(code).slice(0, -1).toLowerCase();
  const told = quoted(message);
  const rest = told.toLowerCase().startsWith(`${heading}: `) ? told.slice(heading.length + 2) : told;
  if (rest.toLowerCase() === heading) return "";
  return rest.charAt(0).toUpperCase() + rest.slice(1) + (/[.!?]$/.test(rest) ? "" : ".");
}

/** An error in its own place: what went wrong, the detail, and what a person can do about it. */
export const failureSentences = (code: string | null, message: string): string =>
  [headingFor(code), printable(detailOf(code, message)), adviceFor(code)].filter(Boolean).join(" ");

/** That no adapter is free is nobody's fault. */
export const failureTone = (code: string | null): Tone => (code === null || code === "no-interface-available" ? "plain" : "bad");

/** An error of a camera in one line. */
export function failureText(name: string, code: string | null, message: string | null): string {
  const detail = code === "no-interface-available" ? "" : printable(detailOf(code, message ?? ""));
  return t.events.failed(name, [headingFor(code), detail].filter(Boolean).join(" "));
}

/** The same as a line of the log; several cameras may have met its cause at once. */
export const failureLine = (name: string, code: string | null, message: string | null): Sentence => ({
  text: failureText(name, code, message),
  tone: failureTone(code),
  ...(code ? { cause: { code, why: asClause(printable(detailOf(code, message ?? ""))) } } : {}),
});

/** A sentence as the end of another one: without its period, and small unless it begins with a name. */
export const asClause = (text: string): string =>
  text.replace(/\.$/, "").replace(/^[A-Z](?=[a-z]*[ ,'])/, (one) => one.toLowerCase());

/**
 * A name from outside, with what cannot be seen made visible. The joiners U+200C and U+200D stay: scripts and emoji
 * need them, and they cannot turn the text around them.
 */
export function visible(text: string): string {
  return text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, (one) => {
    return `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
}

/** A letter of a script that runs from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The same for a sentence, whose order a name from right to left leaves as it is. */
export function printable(text: string): string {
  const name = visible(text);
  return RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name;
}

export interface Sentence {
  text: string;
  tone: Tone;
  /** Whether it says only that something began. */
  isPassing?: boolean;
  /** Whether a banner says it as long as it is so. */
  isStanding?: boolean;
  cause?: Cause;
  /** The adapter that came or went. */
  adapter?: string | null;
}

const plain = (text: string): Sentence => ({ text, tone: "plain" });
const good = (text: string): Sentence => ({ text, tone: "good" });
const bad = (text: string): Sentence => ({ text, tone: "bad" });

/** What to write of an event; null where it is nothing that a person wants to read. */
export function sentenceOf(
  event: Event,
  devices: ReadonlyMap<number, Device>,
  interfaces: ReadonlyMap<string, Interface>,
  service: Service | null,
): Sentence | null {
  switch (event.type) {
    case "device.created":
      return plain(t.events.added(printable(event.data.name)));
    case "device.removed":
      return plain(t.events.removed(printable(devices.get(event.data.id)?.name ?? t.events.camera(event.data.id))));
    case "device.updated": {
      const before = devices.get(event.data.id);
      if (!before) return null;
      const isRenamed = before.name !== event.data.name;
      if (isRenamed) return plain(t.events.renamed(printable(before.name), printable(event.data.name)));
      return cameraSentence(event.data.camera, before);
    }
    case "device.connection_status.update":
      return statusSentence(event.data, devices.get(event.data.id));
    case "device.power_state.update":
      return powerSentence(event.data.power_state, devices.get(event.data.id));
    case "device.camera.update":
      return cameraSentence(event.data.camera, devices.get(event.data.id));
    case "device.recording.stopped":
      return endSentence(event.data, devices.get(event.data.id));
    case "device.operation.failed": {
      const { id, code, message } = event.data;
      return bad(failureText(printable(devices.get(id)?.name ?? t.events.camera(id)), code, message));
    }
    case "interface.added":
      return { ...plain(t.events.adapterIn(event.data.name, event.data.usb.product && printable(event.data.usb.product))), adapter: event.data.name };
    case "interface.updated":
      return healthSentence(event.data, interfaces.get(event.data.name));
    case "interface.removed": {
      const { name } = event.data;
      const step = stepOf(interfaces.get(name));
      // Of an adapter that no camera used, the history knows no step.
      return textOf(t.steps, step) ? { text: t.events.adapterAway(name, step), tone: "warn" } : { ...bad(t.events.adapterOut(name)), adapter: name };
    }
    case "service.updated":
      return serviceSentence(event.data, service);
    case "tileset.updated":
      return plain(event.data.available ? t.events.mapThere(event.data.tileset) : t.events.mapGone(event.data.tileset));
    default:
      return null;
  }
}

function statusSentence(
  status: Extract<Event, { type: "device.connection_status.update" }>["data"],
  before: Device | undefined,
): Sentence | null {
  const name = printable(status.name);
  if (status.recovery_step) {
    if (before?.recovery_step === status.recovery_step) return null;
    // Of a camera that was not silent, a step is only taken by a command.
    const isCommanded = before !== undefined && before.device_reachability !== "unavailable";
    const words = isCommanded ? t.events.recoveringByCommand : t.events.recovering;
    return { text: words(name, stepWords(status.recovery_step)), tone: "warn" };
  }
  if (before?.recovery_step && status.connected) {
    const isSilent = status.device_reachability === "unavailable";
    return isSilent ? bad(t.events.stillSilent(name)) : good(t.events.answers(name, status.interface));
  }
  switch (status.connection_status) {
    case "failed":
      if (status.connection_error_code === "connection-lost" && before?.connection_status === "connecting") {
        return bad(t.events.notBack(name));
      }
      return failureLine(name, status.connection_error_code, status.connection_error_message);
    case "connected":
      return before?.connected ? null : good(t.events.connected(name, status.interface));
    case "connecting":
      if (status.connection_error_code === "connection-lost" && before?.connected) {
        return failureLine(name, status.connection_error_code, status.connection_error_message);
      }
      return before?.connection_status === "connecting" ? null : { ...plain(t.events.connecting(name, status.interface)), isPassing: true };
    case "disconnected":
      if (status.waiting_since && !before?.waiting_since) return plain(t.events.waits(name));
      return before?.connection_status === "disconnecting" ? plain(t.events.disconnected(name)) : null;
    default:
      return null;
  }
}

/** A change from one state to the other; what a search finds out first is none. */
function powerSentence(now: Device["power_state"], before: Device | undefined): Sentence | null {
  if (!before || before.connected) return null;
  const name = printable(before.name);
  if (now === "awake" && before.power_state !== "awake") {
    if (before.connection_phase === "waking") return good(t.events.awake(name));
    return before.power_state === "asleep" ? plain(t.events.awake(name)) : null;
  }
  return now === "asleep" && before.power_state === "awake" ? plain(t.events.asleep(name)) : null;
}

/** Problems that were not there before, a recording that began, or problems that are over. */
function cameraSentence(now: Camera | null, before: Device | undefined): Sentence | null {
  if (!now || !before) return null;
  const name = printable(before.name);
  const known = before.camera?.problems ?? [];
  const fresh = problemsOf(now).filter(({ code }) => !known.some((one) => one === code));
  if (fresh.length > 0) return bad(t.events.failed(name, fresh.map(({ what, advice }) => `${what} ${advice}`).join(" ")));
  if (now.recording && !before.camera?.recording) return plain(t.events.recording(name));
  const over = before.camera ? problemsOf(before.camera).filter(({ code }) => !now.problems.some((one) => one === code)) : [];
  return over.length > 0 ? plain(t.events.problemOver(name, over.map(({ what }) => what))) : null;
}

/** The recovery step that an adapter is taken for; it may go away during that. */
export const stepOf = (adapter: Pick<Interface, "reason"> | undefined): string => /^being recovered \(([^)]+)\)/.exec(adapter?.reason ?? "")?.[1] ?? "";

/** What an adapter may not work for, as a predicate. */
export const doubtWords = (doubt: Doubt, { health_reason, reason }: Pick<Interface, "health_reason" | "reason">): string =>
  t.adapters.doubts[doubt](asClause(printable((health_reason || reason) ?? "")));

/** That an adapter may not work, or does again: each recovery step is none of its own. */
function healthSentence(now: Interface, before: Interface | undefined): Sentence | null {
  const doubt = doubtOf(now);
  if (!before || doubt === doubtOf(before)) return null;
  if (doubt === null) return now.health === "good" ? plain(t.events.adapterWorks(now.name)) : null;
  return bad(t.events.adapterDoubted(now.name, doubtWords(doubt, now)));
}

/** The end of a recording: news where nobody has commanded it. */
function endSentence({ id, reason }: RecordingStopped, device: Device | undefined): Sentence {
  const name = printable(device?.name ?? t.events.camera(id));
  if (reason === "stopped" && !device?.camera?.recording_requested) return plain(t.events.recordingStopped(name));
  return bad(t.events.recordingEnded(name, endWords(reason, () => takeLoss(id))));
}

export function serviceSentence(now: Service, before: Service | null): Sentence | null {
  if (now.backend_state === before?.backend_state && now.backend_reason === before.backend_reason) {
    const isReady = now.bluetooth_state === "ready";
    if (isReady === (before.bluetooth_state === "ready")) return null;
    return plain(isReady ? t.events.bluetoothReady : t.events.bluetoothAway(now.bluetooth_reason));
  }
  if (now.backend_state === "ready") return good(t.events.ready);
  return now.backend_state === "starting" ? plain(t.events.starting) : { ...bad(t.events.away(now.backend_reason)), isStanding: true };
}
