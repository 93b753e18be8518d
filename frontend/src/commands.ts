// What a person asks for with one click: shown at once, then what came of it, also where nothing changes.

import { signal } from "@preact/signals";
import { deviceAddress, Problem, request } from "./api";
import { t } from "./messages";
import { takesCommands } from "./reading";
import { failureSentences, failureText, headingFor, printable } from "./sentences";
import { devices, interfaces, nameOf, toldTogether } from "./state";
import { notify } from "./toasts";
import type { Camera, Device } from "./types";

export type Verb = "connect" | "disconnect";

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

/** A failed command as a sentence. */
export function problemText(name: string, error: unknown): string {
  if (!(error instanceof Problem)) throw error;
  if (error.code === "no-interface-available") return t.answers.refused(name, interfaces.value.size);
  return failureText(name, error.code, error.message);
}

/** What came of a command, as a sentence; null where an event says it. */
type Outcome = [text: string, kind: "good" | "plain"] | null;

/** Say what is asked of a camera, and what came of it. */
async function ask(device: Device, asking: (name: string) => string, work: (name: string) => Promise<Outcome>): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, asking(name), "plain");
  try {
    const outcome = await work(name);
    if (outcome) notify(about, ...outcome);
  } catch (error) {
    notify(about, problemText(name, error), "bad");
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

/** Start or stop recording on a camera. */
export const record = (device: Device, isOn: boolean): Promise<void> =>
  ask(device, t.answers.asking[isOn ? "record" : "stopRecording"], async (name) => {
    const address = deviceAddress(`${device.id}/recording`);
    const options = { method: "PUT", body: { recording: isOn }, timeoutMs: RECORDING_S * 1_000 };
    const now = await whileUnderWay([device.id], () => request<Camera>(address, options));
    const isKnown = now.recording !== null;
    if (isOn) return [t.answers[isKnown ? "recording" : "toldToRecord"](name), "good"];
    return [t.answers[isKnown ? "recordingStopped" : "toldToStop"](name), "good"];
  });

/** Set a camera's clock to the hub's. */
export const setClock = (device: Device): Promise<void> =>
  ask(device, t.answers.asking.clock, async (name) => {
    const options = { method: "POST", timeoutMs: RECORDING_S * 1_000 };
    await whileUnderWay([device.id], () => request(deviceAddress(`${device.id}/clock`), options));
    return [t.answers.clockSet(name), "good"];
  });

/** Whether a command to record goes to several now. */
export const isCommandingMany = signal(false);

/** Start or stop recording on all of several at the same moment, or of everyone; with one message about all of them. */
export async function recordOnMany(isOn: boolean, chosen?: readonly Device[]): Promise<void> {
  if (isCommandingMany.value) return;
  notify("many", isOn ? t.answers.asking.recordOnMany : t.answers.asking.stopMany, "plain");
  const ids = (chosen ?? [...devices.value.values()].filter(takesCommands)).map((one) => one.id);
  isCommandingMany.value = true;
  try {
    const body = { recording: isOn, ...(chosen ? { device_ids: ids } : { all: true }) };
    const options = { method: "POST", body, timeoutMs: RECORDING_S * 1_000 };
    const { results } = await whileUnderWay(ids, () => request<{ results: Result[] }>(deviceAddress("recording"), options));
    const failures = results.filter((one) => !one.done).map(refusalText);
    const text = t.answers.recordedOnMany(isOn, results.length - failures.length, failures);
    notify("many", results.length ? text : t.answers.noneToRecord, failures.length || !results.length ? "bad" : "good");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify("many", failureSentences(error.code, error.message), "bad");
  } finally {
    isCommandingMany.value = false;
  }
}

/** Why one of several did not, without a full stop. */
export function refusalText({ device_id: id, code, message }: Result): string {
  return t.answers.ofCamera(nameOf(id), printable(message || headingFor(code)).replace(/\.$/, ""));
}

/** Connect or disconnect several, one after the other, with one message about all of them. */
export async function commandMany(chosen: readonly Device[], verb: Verb, options: ConnectOptions = {}): Promise<void> {
  notify("many", t.answers.many(verb, chosen.length), "plain");
  const failures: string[] = [];
  for (const device of chosen) {
    if (verb === "connect") toldTogether.add(device.id);
    try {
      await send(device.id, verb, options);
    } catch (error) {
      toldTogether.delete(device.id);
      failures.push(problemText(printable(device.name), error));
    }
  }
  notify("many", t.answers.manyDone(verb, chosen.length - failures.length, failures), failures.length ? "bad" : "good");
}
