// What a broker retains of a hub, read strictly: whatever is no such record is null.

import { t } from "../messages";
import type { Camera, Device, HubRecord, Interface, Settings } from "../records";

/** The fields of a camera's record that this page uses. */
export type CameraRecord = Pick<
  Device,
  "id" | "name" | "codename" | "expected" | "connection_status" | "connected" | "interface" | "signal_strength" | "reachable" | "waiting_since" | "lost_at" | "power_state" | "connection_phase"
> & {
  connection_settings: Pick<Settings, "ssid">;
  /** A newer hub may have other codes. */
  connection_error_code: string | null;
  recovery_step: string | null;
  connection_error_message: string | null;
  camera: Pick<Camera, "battery_level" | "battery_state" | "recording" | "problems" | "model"> | null;
};
export type AdapterRecord = Pick<Interface, "name" | "state" | "reason" | "device_id" | "reserved_device_id" | "health">;

/** The answer to a command. */
export interface Answer {
  command: string | null;
  device_id: number | null;
  ok: boolean;
  code: string | null;
  message: string;
}

export const LARGEST_PAYLOAD = 64 * 1024;
const LONGEST_NAME = 256;
const LONGEST_ADDRESS = 2_048;
const LONGEST_SENTENCE = 4_096;
const PROBLEMS = Object.keys(t.problems) as Camera["problems"];
const decoder = new TextDecoder("utf-8", { fatal: true });

class Unreadable extends Error {}

class Members {
  constructor(private readonly members: Record<string, unknown>) {}

  text(name: string, longest = LONGEST_NAME): string {
    const value = this.members[name];
    if (typeof value !== "string" || value.length > longest) throw new Unreadable();
    return value;
  }

  textOrNull(name: string, longest = LONGEST_NAME): string | null {
    return this.members[name] === null ? null : this.text(name, longest);
  }

  one<Value extends string>(name: string, values: readonly Value[]): Value {
    const found = values.find((value) => value === this.members[name]);
    if (found === undefined) throw new Unreadable();
    return found;
  }

  /** A value that an earlier version does not have, and of which a later one may have others. */
  oneOrNull<Value extends string>(name: string, values: readonly Value[]): Value | null {
    return values.find((value) => value === this.members[name]) ?? null;
  }

  /** Those of several values that this version has. */
  some<Value extends string>(name: string, values: readonly Value[]): Value[] {
    const given = this.members[name];
    if (!Array.isArray(given)) throw new Unreadable();
    return values.filter((value) => given.includes(value));
  }

  boolean(name: string): boolean {
    const value = this.members[name];
    if (typeof value !== "boolean") throw new Unreadable();
    return value;
  }

  booleanOrNull(name: string): boolean | null {
    return this.members[name] === null ? null : this.boolean(name);
  }

  count(name: string, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.members[name];
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || value > most) throw new Unreadable();
    return value;
  }

  countOrNull(name: string, most?: number): number | null {
    return this.members[name] === null ? null : this.count(name, most);
  }

  has(name: string): boolean {
    return name in this.members;
  }

  inside(name: string): Members {
    return membersOf(this.members[name]);
  }

  insideOrNull<Value>(name: string, read: (members: Members) => Value): Value | null {
    return this.members[name] === null ? null : read(this.inside(name));
  }
}

function membersOf(value: unknown): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unreadable();
  return new Members(value as Record<string, unknown>);
}

/** What `read` makes of an object in JSON; null if the octets are none, or it is not what was expected. */
function parsed<Value>(octets: Uint8Array, read: (members: Members) => Value): Value | null {
  if (octets.length > LARGEST_PAYLOAD) return null;
  try {
    return read(membersOf(JSON.parse(decoder.decode(octets))));
  } catch {
    return null;
  }
}

/** `online` or `offline`. */
export function parseAvailability(octets: Uint8Array): boolean | null {
  if (octets.length > 16) return null;
  const word = String.fromCharCode(...octets);
  return word === "online" ? true : word === "offline" ? false : null;
}

/** The address of a web page; null for any other, to which no link may lead. */
function webAddress(text: string | null): string | null {
  try {
    const { protocol, username, password, href } = new URL(text ?? "");
    return /^https?:$/.test(protocol) && !username && !password ? href : null;
  } catch {
    return null;
  }
}

/** The fields of a hub's record that this page uses. */
export type KnownHub = Pick<HubRecord, "version" | "backend_state" | "backend_reason" | "commands" | "page"> & {
  /** null where an earlier version does not say it. */
  ready: boolean | null;
  ready_message: string;
};

export const parseHub = (octets: Uint8Array, hub: string) =>
  parsed(octets, (members): KnownHub => {
    members.one("hub", [hub]);
    return {
      version: members.text("version"),
      backend_state: members.one("backend_state", ["ready", "starting", "unavailable"]),
      backend_reason: members.text("backend_reason", LONGEST_SENTENCE),
      commands: members.boolean("commands"),
      // An earlier version has none of these.
      ready: members.has("ready") ? members.boolean("ready") : null,
      ready_message: members.has("ready_message") ? members.text("ready_message", LONGEST_SENTENCE) : "",
      page: members.has("page") ? webAddress(members.textOrNull("page", LONGEST_ADDRESS)) : null,
    };
  });

export const parseCamera = (octets: Uint8Array, id: number) =>
  parsed(octets, (members): CameraRecord => {
    if (members.count("id") !== id) throw new Unreadable();
    return {
      id,
      name: members.text("name"),
      codename: members.text("codename"),
      // An earlier version has none.
      expected: members.has("expected") && members.boolean("expected"),
      connection_status: members.one("connection_status", ["disconnected", "connecting", "connected", "disconnecting"]),
      connected: members.boolean("connected"),
      connection_settings: { ssid: members.inside("connection_settings").text("ssid") },
      interface: members.textOrNull("interface"),
      signal_strength: members.countOrNull("signal_strength", 100),
      reachable: members.booleanOrNull("reachable"),
      waiting_since: members.textOrNull("waiting_since"),
      lost_at: members.textOrNull("lost_at"),
      power_state: members.oneOrNull("power_state", ["asleep", "awake"]),
      connection_phase: members.oneOrNull("connection_phase", ["waking", "joining"]),
      // An earlier version has none, and a later one may have others.
      recovery_step: members.has("recovery_step") ? members.textOrNull("recovery_step") : null,
      connection_error_code: members.textOrNull("connection_error_code"),
      connection_error_message: members.textOrNull("connection_error_message", LONGEST_SENTENCE),
      // An earlier version has none.
      camera: members.has("camera") ? members.insideOrNull("camera", readingOf) : null,
    };
  });

const readingOf = (members: Members): CameraRecord["camera"] => ({
  battery_level: members.countOrNull("battery_level", 100),
  battery_state: members.oneOrNull("battery_state", ["charging", "discharging"]),
  recording: members.booleanOrNull("recording"),
  problems: members.some("problems", PROBLEMS),
  // An earlier version has none.
  model: members.has("model") ? members.textOrNull("model") : null,
});

export const parseAdapter = (octets: Uint8Array) =>
  parsed(octets, (members): AdapterRecord => ({
    name: members.text("name"),
    state: members.one("state", ["available", "in-use", "unavailable"]),
    reason: members.textOrNull("reason", LONGEST_SENTENCE),
    device_id: members.countOrNull("device_id"),
    // An earlier version has none.
    reserved_device_id: members.has("reserved_device_id") ? members.countOrNull("reserved_device_id") : null,
    health: members.has("health") ? members.oneOrNull("health", ["suspect", "recovering", "quarantined", "good"]) : null,
  }));

export const parseAnswer = (octets: Uint8Array) =>
  parsed(octets, (members): Answer => ({
    command: members.textOrNull("command"),
    device_id: members.countOrNull("device_id"),
    ok: members.boolean("ok"),
    code: members.textOrNull("code"),
    message: members.text("message", LONGEST_SENTENCE),
  }));
