// What the page shows, kept by the channel's messages alone.

import { computed, signal } from "@preact/signals";
import { atHub } from "./hub_clock";
import { together, togetherText } from "./causes";
import { followLoss, forgetLosses, isLost, wasSwitchedOff } from "./losses";
import { t } from "./messages";
import { printable, type Sentence, sentenceOf, serviceSentence, stepOf } from "./sentences";
import { announce, notify, toasts, withdraw } from "./toasts";
import type { Device, Event, Interface, Service, Snapshot } from "./types";

/** How the channel is: only `live` is the present, everything else a memory. */
export type Link = "starting" | "live" | "lost" | "locked";

/** What an event is about, for who looks for one. */
export type EventKind = "connection" | "recording" | "hub";

/** A time in which nothing was heard from the hub, in milliseconds of this page's clock. */
export interface Silence {
  from: number;
  to: number;
}

export interface Line extends Sentence {
  number: number;
  time: string;
  kind: EventKind;
  /** The camera that it is about. */
  device: number | null;
  /** Whether no event says it. */
  isOnlyPast?: boolean;
}

/** A measured signal strength, and when this page learned of it (milliseconds, by this device's clock: the first come
 * before the hub's clock is known). */
export interface Sample {
  at: number;
  percent: number;
}

const KEPT_LINES = 200;
const KEPT_SAMPLES = 120;

export const link = signal<Link>("starting");
export const linkReason = signal("");
export const service = signal<Service | null>(null);
export const devices = signal<ReadonlyMap<number, Device>>(new Map());
export const interfaces = signal<ReadonlyMap<string, Interface>>(new Map());
/** The recovery step that each adapter went away in which has not come back. */
export const awayIn = signal<ReadonlyMap<string, string>>(new Map());
export const lines = signal<readonly Line[]>([]);
/** Signal strengths of connected cameras, the newest last. */
export const samples = signal<ReadonlyMap<number, readonly Sample[]>>(new Map());
export const tilesetsChanged = signal(0);
/** How often a take was said to be over, with its files. */
export const takesEnded = signal(0);
const untilNow = (): readonly Silence[] => [{ from: -Infinity, to: Date.now() }];
/** The first is before the page was opened. What happened then is in the hub's history alone. */
export const silences = signal(untilNow());

let heardAt = Date.now();

/** Whether what is shown is so now. */
export const isCurrent = computed(() => link.value === "live" && service.value?.backend_state !== "unavailable");

let numbered = 0;

/** Cameras that one message over the page was about, together: each good outcome needs none of its own. */
export const toldTogether = new Set<number>();

/** Add a line to the log; what is good or bad news is shown over the page as well, whatever view is open. */
function write(sentence: Sentence, time: string, about: About = HUB): void {
  numbered += 1;
  const { kind, device } = about;
  // What came of an attempt takes the place of its begin.
  const before = lines.value.filter((one) => !(one.isPassing && one.device === device));
  const line = { ...sentence, number: numbered, time, kind, device };
  // What was told a moment later than it was has its place by its time.
  const place = before.findIndex((one) => one.time <= time);
  lines.value = [...before.slice(0, place < 0 ? before.length : place), line, ...(place < 0 ? [] : before.slice(place))].slice(0, KEPT_LINES);
  const isTold = device !== null && !sentence.isPassing && toldTogether.delete(device) && sentence.tone === "good";
  if (sentence.isStanding) {
    withdraw(about.key);
    return;
  }
  const group = together(lines.value).get(line);
  if (group) {
    const abouts = new Set(group.map((one) => `device ${one.device}`));
    toasts.value = toasts.value.filter((one) => !abouts.has(one.about));
    notify(`cause ${sentence.cause?.code ?? ""}`, togetherText(group), sentence.tone);
    return;
  }
  if (sentence.tone === "plain" || isTold) announce(sentence.text);
  else notify(about.key, sentence.text, sentence.tone);
}

interface About {
  /** What a later message replaces. */
  key: string;
  kind: EventKind;
  device: number | null;
}

const HUB: About = { key: "hub", kind: "hub", device: null };

const OF_RECORDINGS: ReadonlySet<string> = new Set(["device.recording.stopped", "device.camera.update"]);

function aboutOf(event: Event): About {
  if (event.type.startsWith("device.") && "id" in event.data) {
    const kind = OF_RECORDINGS.has(event.type) ? "recording" : "connection";
    return { key: `device ${event.data.id}`, kind, device: event.data.id };
  }
  return event.type.startsWith("interface.") && "name" in event.data ? { ...HUB, key: `adapter ${event.data.name}` } : HUB;
}

/** So long after the end of a recording that the camera does not explain, its link is seen to be lost if it was switched off. */
const END_MS = 1_500;
/** The ends that wait for that, by camera. */
const untold = new Map<number, () => void>();

/** Wait with an end that may be explained in the next moment; whether there is nothing to wait for. */
function isTold(event: Extract<Event, { type: "device.recording.stopped" }>): boolean {
  const { id, reason } = event.data;
  if (reason !== "unknown" || isLost(id) || !devices.value.get(id)?.connected) return true;
  untold.get(id)?.();
  const timer = setTimeout(() => untold.get(id)?.(), END_MS);
  untold.set(id, () => {
    clearTimeout(timer);
    untold.delete(id);
    const sentence = sentenceOf(event, devices.value, interfaces.value, service.value);
    if (sentence) write(sentence, event.time, aboutOf(event));
  });
  return false;
}

/** The link of a camera has changed: of one whose recording has just ended that is the reason, if it was lost. */
function explainEnd(id: number): void {
  const tell = untold.get(id);
  if (!tell || !isLost(id)) return;
  wasSwitchedOff(id);
  tell();
}

const now = (): string => new Date(atHub(Date.now())).toISOString();

let isLossTold = false;

/** The page lost the hub: the log has it, as it has the return. */
export function wroteLost(reason: string): void {
  isLossTold = true;
  write({ text: t.events.linkLost(reason), tone: "bad", isStanding: true }, now());
}

/** Events come again: after a loss, a sign-in, or a restart of the daemon. */
export function heardAgain(): void {
  silences.value = [...silences.value, { from: heardAt, to: Date.now() }];
  if (isLossTold) write({ text: t.events.linkBack, tone: "good" }, now());
  isLossTold = false;
}

/** What a camera is called, printable, or its number if it is not registered. */
export const nameOf = (id: number): string => printable(devices.value.get(id)?.name ?? t.events.camera(id));

const forgetting: (() => void)[] = [];

/** Have a module that keeps what it received forget it with all else. */
export const onForget = (forgetIt: () => void): void => void forgetting.push(forgetIt);

/** Forget all that was received: whoever is at this screen next may not have the token. */
export function forget(): void {
  for (const forgetIt of forgetting) forgetIt();
  service.value = null;
  devices.value = new Map();
  interfaces.value = new Map();
  awayIn.value = new Map();
  lines.value = [];
  silences.value = untilNow();
  isLossTold = false;
  samples.value = new Map();
  forgetLosses();
  untold.clear();
  toasts.value = [];
  toldTogether.clear();
}

export function takeSnapshot(snapshot: Snapshot): void {
  // After the daemon was away, its return is in no event: the snapshot is the message.
  const sentence = service.value && serviceSentence(snapshot.service, service.value);
  if (sentence) write(sentence, now());
  service.value = snapshot.service;
  devices.value = new Map(snapshot.devices.map((one) => [one.id, one]));
  for (const one of snapshot.devices) {
    sample(one);
    followLoss(one);
  }
  interfaces.value = new Map(snapshot.interfaces.map((one) => [one.name, one]));
}

export function takeEvent(event: Event): void {
  heardAt = Date.now();
  if (event.type === "device.recording.stopped" && !isTold(event)) return;
  const sentence = sentenceOf(event, devices.value, interfaces.value, service.value);
  if (sentence) write(sentence, event.time, aboutOf(event));
  switch (event.type) {
    case "device.created":
    case "device.updated":
      setDevice(event.data);
      break;
    case "device.removed": {
      const rest = new Map(devices.value);
      rest.delete(event.data.id);
      devices.value = rest;
      break;
    }
    case "device.connection_status.update": {
      const known = devices.value.get(event.data.id);
      const { connection_status: told_status, ...told } = event.data;
      if (!known) break;
      // A failure is told for a second before the state behind it, which it is in already.
      const connection_status = told_status === "failed" ? "disconnected" : told_status;
      const isUp = connection_status === "connected";
      setDevice({ ...known, ...told, connection_status, signal_strength: isUp ? known.signal_strength : null });
      explainEnd(known.id);
      break;
    }
    case "device.signal": {
      const known = devices.value.get(event.data.id);
      if (known) setDevice({ ...known, signal_strength: event.data.signal_strength });
      break;
    }
    case "device.power_state.update":
    case "device.camera.update": {
      const known = devices.value.get(event.data.id);
      if (known) setDevice({ ...known, ...event.data });
      break;
    }
    case "interface.added":
    case "interface.updated":
      interfaces.value = new Map(interfaces.value).set(event.data.name, event.data);
      break;
    case "interface.removed": {
      awayIn.value = new Map(awayIn.value).set(event.data.name, stepOf(interfaces.value.get(event.data.name)));
      const rest = new Map(interfaces.value);
      rest.delete(event.data.name);
      interfaces.value = rest;
      break;
    }
    case "service.updated":
      service.value = event.data;
      break;
    case "take.ended":
      takesEnded.value += 1;
      break;
    case "tileset.updated":
      tilesetsChanged.value += 1;
      break;
  }
}

/** Keep a signal strength; where the camera is not connected the line begins anew. */
function sample({ id, signal_strength: percent }: Device): void {
  const before = samples.value.get(id) ?? [];
  if (percent === null && before.length === 0) return;
  const now = percent === null ? [] : [...before, { at: Date.now(), percent }].slice(-KEPT_SAMPLES);
  samples.value = new Map(samples.value).set(id, now);
}

function setDevice(device: Device): void {
  followLoss(device);
  if (device.signal_strength !== devices.value.get(device.id)?.signal_strength) sample(device);
  devices.value = new Map(devices.value).set(device.id, device);
}
