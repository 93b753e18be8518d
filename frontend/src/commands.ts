// What a person asks for with one click: shown at once, then what came of it, also where nothing changes.

import { signal } from "@preact/signals";
import { deviceAddress, Problem, request } from "./api";
import { t } from "./messages";
import { failureText, printable } from "./sentences";
import { devices, interfaces } from "./state";
import { notify } from "./toasts";
import type { Device } from "./types";

export type Verb = "connect" | "disconnect";

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

async function send(id: number, verb: Verb, whenFree: boolean): Promise<Answer> {
  const query = `device_id=${id}${whenFree ? "&when_free=1" : ""}`;
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

export async function command(device: Device, verb: Verb, whenFree = false): Promise<void> {
  const name = printable(device.name);
  const about = aboutDevice(device.id);
  notify(about, t.answers.asking[verb](name), "plain");
  try {
    const { status } = await send(device.id, verb, whenFree);
    const isThere = verb === "connect" && devices.value.get(device.id)?.connected;
    // The channel may have been faster than the answer.
    notify(about, t.answers[isThere ? "connected" : status](name), isThere || status === "connected" ? "good" : "plain");
  } catch (error) {
    notify(about, problemText(name, error), "bad");
  }
}

/** The same for several, one after the other, with one message about all of them. */
export async function commandMany(chosen: readonly Device[], verb: Verb): Promise<void> {
  notify("many", t.answers.many(verb, chosen.length), "plain");
  const failures: string[] = [];
  for (const device of chosen) {
    try {
      await send(device.id, verb, false);
    } catch (error) {
      failures.push(problemText(printable(device.name), error));
    }
  }
  notify("many", t.answers.manyDone(verb, chosen.length - failures.length, failures), failures.length ? "bad" : "good");
}
