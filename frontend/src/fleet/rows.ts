// Which hubs and cameras are shown, and how many there are of each state.

import { type CameraState, KIND_OF } from "../camera_state";
import type { Camera, Hub } from "./hubs";

/** The state of a camera is not known while its hub is offline, or the service behind the hub's backend away. */
export type KnownState = CameraState | "unknown";
/** `attention` and `offline` are of hubs, the others of cameras. */
export type Filter = "" | "attention" | "offline" | KnownState;

export interface Row {
  key: string;
  hub: Hub;
  /** null = the row of the hub itself. */
  camera: Camera | null;
}

export interface Query {
  /** In lower case; empty = all. */
  words: string;
  filter: Filter;
  /** Whether the messages of the broker arrive. */
  isLive: boolean;
}

export interface Counts {
  online: number;
  /** Hubs that need a person. */
  inNeed: number;
  recording: number;
  cameras: Map<KnownState, number>;
  total: number;
}

export const isCurrent = (hub: Hub, isLive: boolean): boolean =>
  isLive && hub.isOnline && hub.record?.backend_state !== "unavailable";

export const stateIn = (hub: Hub, camera: Camera, isLive: boolean): KnownState =>
  isCurrent(hub, isLive) ? camera.state : "unknown";

/** Whether a person has to look after a hub: it is away, cannot connect cameras, is not ready, or one of its cameras needs somebody. */
export function needs(hub: Hub): boolean {
  const cameras = [...hub.cameras.values()];
  const isUnready = hub.record?.ready === false && cameras.some((one) => one.record.expected);
  const isBackendAway = hub.record?.backend_state === "unavailable";
  return !hub.isOnline || isBackendAway || isUnready || cameras.some(({ state }) => KIND_OF[state] === "act" || KIND_OF[state] === "look");
}

/** Those that are away first, then those that need somebody; each by its name. */
const needOf = (hub: Hub): number => (!hub.isOnline ? 0 : needs(hub) ? 1 : 2);

/** The hubs, which are given by name, by need; while `held`, those of it stay where they were, and what is new comes last. */
export function ordered(hubs: readonly Hub[], held: readonly string[] | null): Hub[] {
  const ranks = held ? new Map(held.map((id, index) => [id, index])) : new Map(hubs.map((hub) => [hub.id, needOf(hub)]));
  const rankOf = (hub: Hub): number => ranks.get(hub.id) ?? ranks.size;
  return [...hubs].sort((one, other) => rankOf(one) - rankOf(other));
}

export function countsOf(hubs: readonly Hub[], isLive: boolean): Counts {
  const counts: Counts = { online: 0, inNeed: 0, recording: 0, cameras: new Map(), total: 0 };
  for (const hub of hubs) {
    if (hub.isOnline) counts.online += 1;
    if (needs(hub)) counts.inNeed += 1;
    for (const camera of hub.cameras.values()) {
      const state = stateIn(hub, camera, isLive);
      if (state === "connected" && camera.record.camera?.recording) counts.recording += 1;
      counts.cameras.set(state, (counts.cameras.get(state) ?? 0) + 1);
      counts.total += 1;
    }
  }
  return counts;
}

/** The rows in order. A search opens the hubs in which it finds cameras. */
export function rowsOf(hubs: readonly Hub[], query: Query, opened: ReadonlySet<string>): Row[] {
  const { words, filter, isLive } = query;
  const isHubFilter = filter === "" || filter === "attention" || filter === "offline";
  const rows: Row[] = [];
  for (const hub of hubs) {
    if ((filter === "attention" && !needs(hub)) || (filter === "offline" && hub.isOnline)) continue;
    const isNamed = hub.id.toLowerCase().includes(words);
    const found = [...hub.cameras.values()].filter(
      (one) => (isHubFilter || stateIn(hub, one, isLive) === filter) && (isNamed || one.words.includes(words)),
    );
    if (!(isHubFilter && isNamed) && found.length === 0) continue;
    rows.push({ key: hub.id, hub, camera: null });
    if (!opened.has(hub.id) && (words === "" || isNamed) && isHubFilter) continue;
    found.sort((one, other) => one.record.id - other.record.id);
    for (const camera of found) rows.push({ key: `${hub.id}/${camera.record.id}`, hub, camera });
  }
  return rows;
}
