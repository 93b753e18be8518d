// What a person asks for with one click: shown at once, then what came of it, also where nothing changes.

import { signal } from "@preact/signals";
import { deviceAddress, Problem, request } from "./api";
import { t } from "./messages";
import { takesCommands } from "./reading";
import { failureSentences, failureText, headingFor, printable } from "./sentences";
import { devices, interfaces } from "./state";
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

interface Result {
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

async function send(id: number, verb: Verb, { whenFree, wake }: ConnectOptions = {}): Promise<Answer> {
  const query = `device_id=${id}${whenFree ? "&when_free=1" : ""}${wake ? "&wake=1" : ""}`;
  setUnderWay(id, true);
  try {
    return await request<Answer>(deviceAddress(`wifi/${verb}?${query}`), { method: "POST" });
  } finally {
    setUnderWay(id, false);
  }
}

/** A failed command as a sentence. */
export function problemText(name: string, error: unknown): string {
  if (!(error instanceof Problem)) throw error;
  if (error.code === "no-interface-available") return t.answers.refused(name, interfaces.value.size);
  return failureText(name, error.code, error.message);
}

export async function command(device: Device, verb: Verb, options: ConnectOptions = {}): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, t.answers.asking[verb](name), "plain");
  try {
    const { status } = await send(device.id, verb, options);
    const isThere = verb === "connect" && devices.value.get(device.id)?.connected;
    // The channel may have been faster than the answer.
    notify(about, t.answers[isThere ? "connected" : status](name), isThere || status === "connected" ? "good" : "plain");
  } catch (error) {
    notify(about, problemText(name, error), "bad");
  }
}

/** Wake a camera; what came of it is an event. */
export async function wake(device: Device): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, t.answers.asking.wake(name), "plain");
  try {
    const now = await request<Device>(deviceAddress(`${device.id}/wake`), { method: "POST" });
    if (now.power_state === "awake") notify(about, t.answers.awake(name), "good");
  } catch (error) {
    notify(about, problemText(name, error), "bad");
  }
}

/** Disconnect a camera and put it to sleep. */
export async function sleep(device: Device): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, t.answers.asking.sleep(name), "plain");
  setUnderWay(device.id, true);
  try {
    const address = deviceAddress(`${device.id}/sleep?wait=${SLEEP_S}`);
    const now = await request<Device>(address, { method: "POST", timeoutMs: (SLEEP_S + 10) * 1_000 });
    if (now.power_state === "asleep") notify(about, t.answers.asleep(name), "good");
  } catch (error) {
    notify(about, problemText(name, error), "bad");
  } finally {
    setUnderWay(device.id, false);
  }
}

/** Start or stop recording on a camera. */
export async function record(device: Device, isOn: boolean): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, t.answers.asking[isOn ? "record" : "stopRecording"](name), "plain");
  setUnderWay(device.id, true);
  try {
    const address = deviceAddress(`${device.id}/recording`);
    const now = await request<Camera>(address, { method: "PUT", body: { recording: isOn }, timeoutMs: RECORDING_S * 1_000 });
    const isKnown = now.recording !== null;
    if (isOn) notify(about, t.answers[isKnown ? "recording" : "toldToRecord"](name), "good");
    else notify(about, t.answers[isKnown ? "recordingStopped" : "toldToStop"](name), "good");
  } catch (error) {
    notify(about, problemText(name, error), "bad");
  } finally {
    setUnderWay(device.id, false);
  }
}

/** Whether a command to record goes to several now. */
export const isCommandingMany = signal(false);

/** Start or stop recording on all of several at the same moment, or of everyone; with one message about all of them. */
export async function recordOnMany(isOn: boolean, chosen?: readonly Device[]): Promise<void> {
  if (isCommandingMany.value) return;
  notify("many", isOn ? t.answers.asking.recordOnMany : t.answers.asking.stopMany, "plain");
  const ids = (chosen ?? [...devices.value.values()].filter(takesCommands)).map((one) => one.id);
  isCommandingMany.value = true;
  for (const id of ids) setUnderWay(id, true);
  try {
    const body = { recording: isOn, ...(chosen ? { device_ids: ids } : { all: true }) };
    const { results } = await request<{ results: Result[] }>(deviceAddress("recording"), { method: "POST", body, timeoutMs: RECORDING_S * 1_000 });
    const failures = results.filter((one) => !one.done).map(refusalText);
    const text = t.answers.recordedOnMany(isOn, results.length - failures.length, failures);
    notify("many", results.length ? text : t.answers.noneToRecord, failures.length || !results.length ? "bad" : "good");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify("many", failureSentences(error.code, error.message), "bad");
  } finally {
    isCommandingMany.value = false;
    for (const id of ids) setUnderWay(id, false);
  }
}

/** Why one of several did not, without a full stop. */
function refusalText({ device_id: id, code, message }: Result): string {
  const name = printable(devices.value.get(id)?.name ?? t.events.camera(id));
  return t.answers.ofCamera(name, printable(message || headingFor(code)).replace(/\.$/, ""));
}

/** Set a camera's clock to the hub's. */
export async function setClock(device: Device): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, t.answers.asking.clock(name), "plain");
  setUnderWay(device.id, true);
  try {
    await request(deviceAddress(`${device.id}/clock`), { method: "POST", timeoutMs: RECORDING_S * 1_000 });
    notify(about, t.answers.clockSet(name), "good");
  } catch (error) {
    notify(about, problemText(name, error), "bad");
  } finally {
    setUnderWay(device.id, false);
  }
}

/** Connect or disconnect several, one after the other, with one message about all of them. */
export async function commandMany(chosen: readonly Device[], verb: Verb): Promise<void> {
  notify("many", t.answers.many(verb, chosen.length), "plain");
  const failures: string[] = [];
  for (const device of chosen) {
    try {
      await send(device.id, verb);
    } catch (error) {
      failures.push(problemText(printable(device.name), error));
    }
  }
  notify("many", t.answers.manyDone(verb, chosen.length - failures.length, failures), failures.length ? "bad" : "good");
}
