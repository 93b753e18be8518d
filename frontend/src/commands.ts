// What a person asks for with one click: shown at once, then what came of it, also where nothing changes.

import { signal } from "@preact/signals";
import { deviceAddress, isUnconfirmed, Problem, request } from "./api";
import { type LinkState, linkOf } from "./camera_state";
import { t, textOf } from "./messages";
import { takesCommands } from "./reading";
import { failureSentences, failureText, headingFor, printable } from "./sentences";
import { devices, interfaces, nameOf, toldTogether } from "./state";
import { notify, type Step, type Tone } from "./toasts";
import type { Camera, Device } from "./types";

export type Verb = "connect" | "disconnect";

/** The connections that are up, or on their way: a disconnect ends them, and those that are waited for. */
const UP: ReadonlySet<LinkState> = new Set(["connected", "not-answering", "recovering", "connecting", "waking"]);
const AWAITED: ReadonlySet<LinkState> = new Set(["searching", "waiting"]);

/** Whether a command would change anything of it. */
export const isFor = (verb: Verb, device: Device): boolean => {
  const link = linkOf(device);
  return verb === "connect" ? !UP.has(link) : UP.has(link) || AWAITED.has(link);
};

export interface ConnectOptions {
  /** If no adapter is free, the camera waits for one. */
  whenFree?: boolean;
  /** If its network is not seen, it is woken. */
  wake?: boolean;
}

/** Longer than the hub waits for a camera to fall asleep. */
const SLEEP_S = 60;

/** Longer than the hub waits for one camera, and for several. */
const RECORDING_S = 20;

/** What came of a command to one of several cameras. */
export interface Result {
  device_id: number;
  done: boolean;
  code: string | null;
  message: string | null;
}

interface Answer {
  status: "connecting" | "connected" | "waiting" | "disconnecting" | "disconnected";
}

/** The devices that a command of this page is under way for. */
export const underWay = signal<ReadonlySet<number>>(new Set());

function setUnderWay(id: number, isUnderWay: boolean): void {
  const next = new Set(underWay.value);
  if (isUnderWay) next.add(id);
  else next.delete(id);
  underWay.value = next;
}

export const aboutDevice = (id: number) => `device ${id}`;

/** Show that a command to these is under way as long as the work lasts. */
async function whileUnderWay<Result>(ids: readonly number[], work: () => Promise<Result>): Promise<Result> {
  for (const id of ids) setUnderWay(id, true);
  try {
    return await work();
  } finally {
    for (const id of ids) setUnderWay(id, false);
  }
}

function send(id: number, verb: Verb, { whenFree, wake }: ConnectOptions = {}): Promise<Answer> {
  const query = `device_id=${id}${whenFree ? "&when_free=1" : ""}${wake ? "&wake=1" : ""}`;
  return whileUnderWay([id], () => request<Answer>(deviceAddress(`wifi/${verb}?${query}`), { method: "POST" }));
}

/** A failed command as a sentence; `notKnown` is what is said where it may have been done. */
export function problemText(name: string, error: unknown, notKnown = t.answers.notKnown): string {
  if (!(error instanceof Problem)) throw error;
  if (isUnconfirmed(error)) return error.code ? notKnown(name) : `${notKnown(name)} ${error.message}`;
  if (error.code === "no-interface-available") return t.answers.refused(name, interfaces.value.size);
  return failureText(name, error.code, error.message);
}

/** What came of a command, as a sentence; null where an event says it. */
type Outcome = [text: string, kind: "good" | "plain"] | null;

/** Say what is asked of a camera, and what came of it. */
async function ask(
  device: Device,
  asking: (name: string) => string,
  work: (name: string) => Promise<Outcome>,
  notKnown?: (name: string) => string,
): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, asking(name), "plain");
  try {
    const outcome = await work(name);
    if (outcome) notify(about, ...outcome);
  } catch (error) {
    notify(about, problemText(name, error, notKnown), error instanceof Problem && isUnconfirmed(error) ? "warn" : "bad");
  }
}

export const command = (device: Device, verb: Verb, options: ConnectOptions = {}): Promise<void> =>
  ask(device, t.answers.asking[verb], async (name) => {
    const { status } = await send(device.id, verb, options);
    const isThere = verb === "connect" && devices.value.get(device.id)?.connected;
    // The channel may have been faster than the answer.
    return [t.answers[isThere ? "connected" : status](name), isThere || status === "connected" ? "good" : "plain"];
  });

/** Wake a camera; what came of it is an event. */
export const wake = (device: Device): Promise<void> =>
  ask(device, t.answers.asking.wake, async (name) => {
    const now = await request<Device>(deviceAddress(`${device.id}/wake`), { method: "POST" });
    return now.power_state === "awake" ? [t.answers.awake(name), "good"] : null;
  });

/** Disconnect a camera and put it to sleep. */
export const sleep = (device: Device): Promise<void> =>
  ask(device, t.answers.asking.sleep, async (name) => {
    const address = deviceAddress(`${device.id}/sleep?wait=${SLEEP_S}`);
    const options = { method: "POST", timeoutMs: (SLEEP_S + 10) * 1_000 };
    const now = await whileUnderWay([device.id], () => request<Device>(address, options));
    return now.power_state === "asleep" ? [t.answers.asleep(name), "good"] : null;
  });

/** Take the next recovery step for a camera that does not answer; what came of it is an event. */
export const recover = (device: Device): Promise<void> =>
  ask(device, t.answers.asking.recover, async () => {
    await request(deviceAddress(`${device.id}/recover`), { method: "POST" });
    return null;
  });

/** Start or stop recording on a camera. */
export const record = (device: Device, isOn: boolean): Promise<void> =>
  ask(device, t.answers.asking[isOn ? "record" : "stopRecording"], async (name) => {
    const address = deviceAddress(`${device.id}/recording`);
    const options = { method: "PUT", body: { recording: isOn }, timeoutMs: RECORDING_S * 1_000 };
    const now = await whileUnderWay([device.id], () => request<Camera>(address, options));
    const isKnown = now.recording !== null;
    if (isOn) return [t.answers[isKnown ? "recording" : "toldToRecord"](name), "good"];
    return [t.answers[isKnown ? "recordingStopped" : "toldToStop"](name), "good"];
  }, t.answers.notKnownToRecord);

/** Set a camera's clock to the hub's. */
export const setClock = (device: Device): Promise<void> =>
  ask(device, t.answers.asking.clock, async (name) => {
    const options = { method: "POST", timeoutMs: RECORDING_S * 1_000 };
    await whileUnderWay([device.id], () => request(deviceAddress(`${device.id}/clock`), options));
    return [t.answers.clockSet(name), "good"];
  });

/** Whether a command to record goes to several now. */
export const isCommandingMany = signal(false);

/** Start or stop recording on all of several at the same moment, or of the whole rig; with one message about all of them. */
export async function recordOnMany(isOn: boolean, chosen?: readonly Device[]): Promise<void> {
  if (isCommandingMany.value) return;
  notify("many", isOn ? t.answers.asking.recordOnMany : t.answers.asking.stopMany, "plain");
  const ids = (chosen ?? [...devices.value.values()].filter(takesCommands)).map((one) => one.id);
  isCommandingMany.value = true;
  try {
    const body = { recording: isOn, ...(chosen ? { device_ids: ids } : { all: true }) };
    const options = { method: "POST", body, timeoutMs: RECORDING_S * 1_000 };
    const { results } = await whileUnderWay(ids, () => request<{ results: Result[] }>(deviceAddress("recording"), options));
    const done = results.filter((one) => one.done).length;
    const told = results.length ? t.answers.recordedOnMany(isOn, done, results.length) : t.answers.noneToRecord;
    notifyMany("many", told, results, stepAfter(results, () => void recordOnMany(isOn, chosen)));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (isUnconfirmed(error)) notify("many", `${t.answers.notKnownOfMany} ${error.message}`, "warn", true);
    else notify("many", failureSentences(error.code, error.message), "bad");
  } finally {
    isCommandingMany.value = false;
  }
}

/** What leads on: whoever is not connected is connected first, everything else is tried again. */
function stepAfter(results: readonly Result[], again: () => void): Step | undefined {
  const lacking = results.filter((one) => !one.done);
  if (lacking.length === 0) return undefined;
  const away = lacking.flatMap(({ code, device_id: id }) => (code === "not-connected" ? (devices.value.get(id) ?? []) : []));
  if (away.length < lacking.length) return { words: t.answers.tryAgain, act: again };
  const [only] = away;
  const act = () => void (away.length === 1 && only ? command(only, "connect") : commandMany(away, "connect"));
  return { words: t.answers.connectThem(namesOf(away)), act };
}

/** What stands in place of a reason that needs no words of the hub's. */
const SHARED: Record<string, (names: readonly string[]) => string> = {
  "not-connected": t.answers.notConnected,
  unconfirmed: t.answers.unknown,
};

const isShared = (code: string | null): code is string => textOf(SHARED, code) !== undefined;

/** Those of several cameras that have not done it, by their names: not connected, not known, then each other reason. */
function lackOf(results: readonly Result[]): string[] {
  const names = new Map<string, string[]>(Object.keys(SHARED).map((code) => [code, []]));
  for (const { done, device_id: id, code, message } of results) {
    if (done) continue;
    // Each adapter's own reason is on the camera's page.
    const reason = isShared(code) ? code : printable((code !== "no-interface-available" && message) || headingFor(code));
    names.set(reason, [...(names.get(reason) ?? []), nameOf(id)]);
  }
  const lacking = [...names].filter(([, those]) => those.length > 0);
  return lacking.map(([reason, those]) => textOf(SHARED, reason)?.(those) ?? t.answers.because(those, reason));
}

/** Say what came of a command to several: how many have done it, and by their names who has not; good only where all have. */
export function notifyMany(about: string, first: string, results: readonly Result[], step?: Step): void {
  const lacking = results.filter((one) => !one.done);
  const isGood = results.length > 0 && lacking.length === 0;
  const tone: Tone = isGood ? "good" : results.length > 0 && lacking.every(({ code }) => isShared(code)) ? "warn" : "bad";
  notify(about, [first, ...lackOf(results)].join(" "), tone, !isGood, step);
}

const namesOf = (those: readonly Device[]): string[] => those.map((one) => printable(one.name));

/** Connect or disconnect several, one after the other, with one message about all of them and about whom it leaves out. */
export async function commandMany(chosen: readonly Device[], verb: Verb, options: ConnectOptions = {}): Promise<void> {
  const told = chosen.filter((one) => isFor(verb, one));
  const others = chosen.filter((one) => !isFor(verb, one));
  const [up, notUp] = [others.filter((one) => one.connected), others.filter((one) => !one.connected)];
  const leftOut = [
    up.length > 0 && t.answers.alreadyConnected(namesOf(up)),
    notUp.length > 0 && t.answers[verb === "connect" ? "alreadyConnecting" : "notConnected"](namesOf(notUp)),
  ];
  notify("many", t.answers.many(verb, told.length), "plain");
  const statuses: Answer["status"][] = [];
  const failures: Result[] = [];
  for (const { id } of told) {
    if (verb === "connect") toldTogether.add(id);
    try {
      const { status } = await send(id, verb, options);
      statuses.push(status);
      // What comes of a wait is told when it comes.
      if (status === "waiting") toldTogether.delete(id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      toldTogether.delete(id);
      failures.push({ device_id: id, done: false, code: isUnconfirmed(error) ? "unconfirmed" : error.code, message: error.message });
    }
  }
  const ways = Object.keys(t.answers.ofMany) as Answer["status"][];
  const counts = ways.map((way) => [way, statuses.filter((one) => one === way).length] as const);
  const sentences = counts.filter(([, count]) => count > 0).map(([way, count]) => t.answers.ofMany[way](count));
  const text = [...sentences, ...leftOut, ...lackOf(failures)].filter(Boolean).join(" ");
  const isDone = statuses.every((one) => one === (verb === "connect" ? "connected" : "disconnected"));
  const isRefused = failures.some(({ code }) => code !== "unconfirmed");
  notify("many", text, isRefused ? "bad" : failures.length > 0 ? "warn" : isDone ? "good" : "plain");
}
