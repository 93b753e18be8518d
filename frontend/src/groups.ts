// The groups of cameras that one command connects, as the configuration names them.

import { signal } from "@preact/signals";
import { deviceAddress, isUnconfirmed, Problem, request } from "./api";
import { notifyMany, type Result } from "./commands";
import { t } from "./messages";
import { failureSentences, printable } from "./sentences";
import { onForget } from "./state";
import { notify } from "./toasts";

export interface Group {
  name: string;
  device_ids: number[];
  /** What it names that is not a registered camera: names, and ids. */
  missing: string[];
}

/** Longer than an attempt to connect with a wake before it takes. */
const CONNECT_S = 200;

export const groups = signal<readonly Group[]>([]);
onForget(() => (groups.value = []));

/** Read them; without an answer they stay as they were. */
export async function readGroups(): Promise<void> {
  try {
    groups.value = (await request<{ groups: Group[] }>(deviceAddress("groups/"))).groups;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}

/** Connect the cameras of a group, and free the adapters that it needs; one message says what came of it. */
export async function connectGroup({ name, device_ids: ids }: Group, isPartial = false): Promise<void> {
  const about = `group ${name}`;
  notify(about, t.groups.connecting(printable(name), ids.length), "plain");
  try {
    const address = deviceAddress(`groups/${encodeURIComponent(name)}/connect${isPartial ? "?partial=1" : ""}`);
    const { results } = await request<{ results: Result[] }>(address, { method: "POST", timeoutMs: CONNECT_S * 1_000 });
    notifyMany(about, t.groups.connected(printable(name), results.filter((one) => one.done).length, results.length), results);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (isUnconfirmed(error)) notify(about, `${t.answers.notKnown(printable(name))} ${error.message}`, "warn");
    else notify(about, `${printable(name)}: ${failureSentences(error.code, error.message)}`, "bad");
  }
}
