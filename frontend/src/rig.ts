// How the rig is, in the fewest words: whether it is ready, and once it is told to record, whether all of it does.

import { computed, signal } from "@preact/signals";
import { linkOf } from "./camera_state";
import { type Checkable, check, clausesOf, type Finding, type Found, NOTHING_MORE, readiness, type Told, worstOf } from "./check";
import { t } from "./messages";
import { isOfRig, mayRecord } from "./reading";
import { printable } from "./sentences";
import { devices, link, service } from "./state";
import type { Device } from "./types";

/** With these, a camera does not record, or does what nobody wants: somebody has to act. */
const GRAVE: ReadonlySet<Finding> = new Set([
  "not-connected",
  "not-answering",
  "not-recording",
  "still-recording",
  "too-hot",
  "storage-missing",
  "storage-full",
  "storage-error",
]);

/** `unknown`: what is shown is a memory; `calm`: there is nothing to say. */
export type Tone = "unknown" | "calm" | "good" | "recording" | "busy" | "bad";

export interface Rig {
  tone: Tone;
  /** Why it is a memory; empty if it is not. */
  away: string;
  /** The count, in large. */
  head: string;
  /** The same where little fits. */
  short: string;
  /** The most urgent cause. */
  cause: string;
  /** The others. */
  others: string;
  /** Who stops first, and when. */
  lasts: string;
  /** Everything, as one. */
  sentence: string;
}

/** Whether a finding needs a person; what the hub is at does not yet. */
export function isGrave({ code }: Pick<Found, "code">, device: Device): boolean {
  if (code === "not-connected") return linkOf(device) !== "connecting" && linkOf(device) !== "waking";
  // It was not told to, or is told now.
  if (code === "not-recording") return device.camera?.problems.includes(code) ?? false;
  return GRAVE.has(code);
}

export const records = (device: Device): boolean => device.connected && device.camera?.recording === true;

const nameOf = (device: Checkable): string => printable(device.name);

/** The one of these whose card is full first. */
export function firstToStop(those: readonly Device[]): { name: string; seconds: number } | null {
  const left = those.flatMap(({ name, camera }) =>
    camera?.recording_time_left_s == null ? [] : [{ name: printable(name), seconds: camera.recording_time_left_s }],
  );
  return left.reduce<(typeof left)[number] | null>((least, one) => (least === null || one.seconds < least.seconds ? one : least), null);
}

/** How many record, and why the others do not. */
function recordings(expected: readonly Device[], found: readonly Found[]): Told {
  const able = expected.filter(isOfRig);
  const ofAble = new Set(able.map(({ id }) => id));
  const worst = worstOf(found.filter(({ id }) => ofAble.has(id)));
  const others = new Set(found.filter(({ id }) => !ofAble.has(id)).map(({ id }) => id)).size;
  const clauses = clausesOf(worst, new Map(expected.map((one) => [one.id, nameOf(one)])));
  // A card that is full is why.
  const [first] = [...worst].filter(([, code]) => code === worst.values().next().value);
  const why = found.find(({ id, code }) => id === first?.[0] && code !== first[1] && GRAVE.has(code));
  const isAlone = [...worst.values()].filter((code) => code === first?.[1]).length === 1;
  const [cause, ...rest] = clauses;
  const told = cause !== undefined && first?.[1] === "not-recording" && isAlone && why ? [t.rig.because(cause, t.check.found[why.code]), ...rest] : clauses;
  // They are not counted, as nobody can tell them to record.
  if (others > 0) told.push(t.check.others(others));
  const counts = [able.filter(records).length, able.length] as const;
  return { head: t.check.record(...counts), short: t.check.short.record(...counts), clauses: told };
}

/** What stands in place of the rig's state as long as that is a memory. */
function absence(): string | null {
  if (link.value === "starting") return t.hub.opening;
  if (link.value !== "live") return t.hub.noConnection;
  const backend = service.value?.backend_state ?? "starting";
  return backend === "ready" ? null : backend === "starting" ? t.hub.starting : t.hub.unavailable;
}

/** So long a sentence stands before it is what is remembered: when the backend goes, its links are told as lost first. */
const STANDS_MS = 3_000;
let standing = { sentence: "", since: 0 };
let stoodLast = "";
let memory: string | null = null;

/** What was last so, while that is not known now; `said` is what follows from what is still there. */
function remembered(said: string, isAway: boolean): string {
  const now = performance.now();
  const hasStood = now - standing.since > STANDS_MS;
  if (isAway) return (memory ??= hasStood ? standing.sentence || said : stoodLast || said);
  memory = null;
  if (said !== standing.sentence) {
    if (hasStood) stoodLast = standing.sentence;
    standing = { sentence: said, since: now };
  }
  return said;
}

/** Once for each picture is enough, though two hundred cameras change each second. */
const picture = signal(0);
let isAsked = false;
devices.subscribe(() => {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    picture.value += 1;
  });
});

/** All cameras, as the picture has them. */
export function drawnDevices(): Device[] {
  void picture.value;
  return [...devices.peek().values()];
}

function tell(): Rig {
  const everyone = drawnDevices();
  const expected = everyone.filter((one) => one.expected).sort((one, other) => one.id - other.id);
  const isRolling = expected.some((one) => isOfRig(one) && (records(one) || one.camera?.recording_requested));
  const found = check(expected, { ...NOTHING_MORE, recording: isRolling });
  const { head, short, clauses } = isRolling ? recordings(expected, found) : readiness(expected, found, nameOf);
  const [cause, ...others] = clauses.map((one) => t.check.sentence("", [one]));
  const begin = isRolling || cause === undefined ? t.check.sentence(head, []) : head && t.check.colon(head);
  const sentence = [begin, clauses.length > 0 && t.check.sentence("", clauses)].filter(Boolean).join(" ");
  const away = absence();
  const only = (tone: Tone, head: string, others: string, least = head): Rig => ({ tone, away: "", head, short: least, cause: "", others, lasts: "", sentence: head });
  if (away && everyone.length === 0) return only("unknown", t.check.sentence(away, []), "");
  // Why it is a memory is said below, once.
  const known = remembered(sentence, away !== null);
  if (away) return { tone: "unknown", away: t.check.sentence(away, []), head: t.check.colon(t.rig.memory), short: t.rig.memory, cause: known, others: "", lasts: "", sentence: t.rig.lastKnown(known) };
  if (everyone.length === 0) return only("calm", t.cameras.none, t.rig.addOne);
  if (expected.length === 0) return only("calm", sentence, t.rig.noneExpected, t.check.sentence(short, []));
  const isBad = found.some((one) => isGrave(one, devices.peek().get(one.id) as Device));
  const tone = isBad ? "bad" : found.length > 0 ? "busy" : isRolling ? "recording" : "good";
  const first = firstToStop(expected.filter((one) => (isRolling ? records(one) : one.connected)));
  // All is well only with those that are counted.
  const left = found.length > 0 ? [] : everyone.filter((one) => (isRolling ? !one.expected || !isOfRig(one) : !one.expected));
  // Of one camera nothing is counted.
  const large = begin || (cause ?? "");
  return {
    tone,
    away: "",
    head: large,
    short: short ? t.check.sentence(short, []) : large,
    cause: begin ? (cause ?? "") : "",
    others: others.length > 0 ? t.check.sentence("", clauses.slice(1)) : left.length > 0 ? t.rig.notCounted(left.map(nameOf)) : "",
    lasts: first ? t.rig.lasts(first.seconds, first.name) : "",
    sentence,
  };
}

// By its text: a record that changes nothing of it draws nothing anew.
const told = computed(() => JSON.stringify(tell()));
export const rig = computed(() => JSON.parse(told.value) as Rig);

/** Whom a command to all is for, and what it would change. */
export interface Recordings {
  /** Cameras that can record, of the rig or not. */
  able: number;
  /** Those of the rig. */
  total: number;
  /** Whether all of the rig record. */
  isAll: boolean;
  running: number;
  /** The names of those that may record. */
  unknown: string[];
}

const counted = computed(() => {
  // The first picture has what came with the connection.
  void link.value;
  const everyone = drawnDevices();
  const ofRig = everyone.filter(isOfRig);
  return JSON.stringify({
    able: everyone.filter((one) => one.camera).length,
    total: ofRig.length,
    isAll: ofRig.length > 0 && ofRig.every(records),
    running: everyone.filter(records).length,
    unknown: everyone.filter(mayRecord).map((one) => printable(one.name)),
  } satisfies Recordings);
});
export const recordingsOfAll = computed(() => JSON.parse(counted.value) as Recordings);
