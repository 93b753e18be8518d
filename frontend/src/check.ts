// Whether the rig is ready: the decision of wifimgrd/domain/check.py, and its sentence, on the records that the page has.
// A question to the hub for each change would come late, and not at all once the hub is away; a test compares the two.

import { t, textOf } from "./messages";
import type { Camera, Device } from "./types";

export type Finding =
  | "not-connected"
  | "not-answering"
  | Camera["problems"][number]
  | "recording-unknown"
  | "battery-unknown"
  | "storage-unknown"
  | "clock-unknown";

/** The limits for cameras, beside being connected and without a problem; null is the hub's own. */
export interface Wanted {
  /** They record now. */
  recording: boolean;
  /** Percent at least. */
  battery: number | null;
  /** They can record for so long at least. */
  minutes: number | null;
  /** Milliseconds that their clocks differ from the hub's by at most. */
  clock: number | null;
}

export const NOTHING_MORE: Wanted = { recording: false, battery: null, minutes: null, clock: null };

/** What stands in the way at one camera. */
export interface Found {
  id: number;
  code: Finding;
}

const CLAUSES = 3;

/** What a check reads of a camera. */
export type Checkable = Pick<Device, "id" | "name" | "connected" | "reachable" | "recovery_step" | "last_successful_connection" | "camera">;

/** All that stands in the way, the most urgent first, of one code by device. */
export function check(devices: readonly Checkable[], wanted: Wanted = NOTHING_MORE): Found[] {
  const found = byId(devices).flatMap((device) => foundAt(device, wanted).map((code) => ({ id: device.id, code })));
  return found.sort((one, other) => rankOf(one.code) - rankOf(other.code) || one.id - other.id);
}

const byId = (devices: readonly Checkable[]) => [...devices].sort((one, other) => one.id - other.id);

// The catalog has them in this order. A code of a later version is a problem that the hub knows the rank of.
const ORDER = new Map(Object.keys(t.check.found).map((code, rank) => [code, rank]));
const rankOf = (code: Finding): number => ORDER.get(code) ?? ORDER.size;

function foundAt(device: Checkable, wanted: Wanted): Finding[] {
  if (!device.connected) return ["not-connected"];
  const silent: Finding[] = !device.reachable || device.recovery_step !== null ? ["not-answering"] : [];
  return device.camera ? [...silent, ...problemsAt(device.camera, wanted, isRead(device, device.camera))] : silent;
}

/** Whether a camera was read in this connection: what an earlier one has left says nothing of now. */
const isRead = ({ last_successful_connection: since }: Checkable, { read_at: at, recording }: Camera): boolean =>
  since === null || recording !== null || (at !== null && Date.parse(at) >= Date.parse(since));

/** The problems of a camera, where the limits that are asked for replace the hub's own. */
function problemsAt(camera: Camera, wanted: Wanted, isFresh: boolean): Finding[] {
  const known = (value: number | null, isMet: (known: number) => boolean) => (value === null ? null : isMet(value));
  const fits: typeof known = (value, isMet) => known(isFresh ? value : null, isMet);
  const { battery, minutes, clock } = wanted;
  const asked: (readonly [Finding, Finding, boolean | null])[] = [];
  const isOpen = camera.recording_requested && camera.recording === null && !camera.problems.includes("not-recording");
  if (wanted.recording || isOpen) asked.push(["recording-unknown", "not-recording", camera.recording]);
  if (battery !== null) asked.push(["battery-unknown", "battery-low", fits(camera.battery_level, (level) => level >= battery)]);
  if (minutes !== null) asked.push(["storage-unknown", "storage-low", fits(camera.recording_time_left_s, (left) => left >= 60 * minutes)]);
  if (clock !== null) asked.push(["clock-unknown", "clock-wrong", known(camera.clock_offset_ms, (offset) => Math.abs(offset) <= clock)]);
  const replaced = new Set(asked.map(([, problem]) => problem));
  const missed = asked.filter(([, , isMet]) => !isMet).map(([unknown, problem, isMet]) => (isMet === null ? unknown : problem));
  return [...camera.problems.filter((one) => !replaced.has(one)), ...missed];
}

/** A result for people: how many, and what stands in the way of the others, the most urgent first. */
export interface Told {
  head: string;
  /** The same where little fits. */
  short: string;
  clauses: string[];
}

/** Of each camera the most urgent finding only. */
export function worstOf(found: readonly Found[]): Map<number, Finding> {
  const worst = new Map<number, Finding>();
  for (const { id, code } of found) if (!worst.has(id)) worst.set(id, code);
  return worst;
}

/** Whether these are ready, as `wifimgrctl check` says it. */
export function readiness(devices: readonly Checkable[], found: readonly Found[], nameOf: (device: Checkable) => string): Told {
  const names = new Map(byId(devices).map((one) => [one.id, nameOf(one)]));
  if (names.size === 0) return { head: t.check.nobody, short: t.check.short.nobody, clauses: [] };
  const worst = worstOf(found);
  const all = [...names.values()];
  if (worst.size === 0) return { head: t.check.all(all), short: t.check.short.all(all), clauses: [] };
  const counts = [names.size - worst.size, names.size] as const;
  const [head, short] = names.size === 1 ? ["", ""] : [t.check.count(...counts), t.check.short.count(...counts)];
  if (names.size > 1 && worst.size === names.size && new Set(worst.values()).size === 1) {
    const [code = null] = worst.values();
    return { head, short, clauses: [t.check.they(textOf<readonly [string, string]>(t.check.found, code))] };
  }
  return { head, short, clauses: clausesOf(worst, names) };
}

/** Who has what, in few words: the first codes with names, the others by their number. */
export function clausesOf(worst: ReadonlyMap<number, Finding>, names: ReadonlyMap<number, string>): string[] {
  const together = new Map<Finding, string[]>();
  for (const [id, code] of worst) together.set(code, [...(together.get(code) ?? []), names.get(id) ?? ""]);
  const told = [...together].map(([code, those]) => t.check.clause(those, textOf<readonly [string, string]>(t.check.found, code)));
  if (told.length <= CLAUSES) return told;
  const others = [...together.values()].slice(CLAUSES).flat().length;
  return [...told.slice(0, CLAUSES), t.check.more(others)];
}
