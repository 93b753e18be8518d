// What happened, and what to do about it, in plain words.

import type { Line } from "./state";
import type { Device, Event, Service } from "./types";

/** What a person can do about an error, by its code. */
const ADVICE: Record<string, string> = {
  "no-interface-available": "Disconnect another camera, or plug in one more USB Wi-Fi adapter.",
  "device-not-reachable": "Switch the camera on, check that its Wi-Fi is on, and bring it closer.",
  "authentication-failed": "Check the camera's Wi-Fi password, and change it here if it is another one.",
  "association-refused": "Another phone or host may hold the camera: close its app there, or restart the camera.",
  "address-failed": "The camera gave no address. Switch its Wi-Fi off and on again.",
  "interface-lost": "Plug the USB Wi-Fi adapter in again; try another port or cable if it keeps going away.",
  "connection-lost": "Check that the camera is on and near.",
  "backend-unavailable": "The host's network service is not running. It is asked again by itself.",
  cancelled: "It was ended on purpose. Connect again when you like.",
  internal: "This is a fault of the hub. Its log says more.",
};

/** What went wrong, by its code, in the fewest words. */
const HEADINGS: Record<string, string> = {
  "no-interface-available": "No adapter is free.",
  "device-not-reachable": "The camera was not found.",
  "authentication-failed": "The password was refused.",
  "association-refused": "The camera refused.",
  "address-failed": "The camera gave no address.",
  "interface-lost": "The adapter went away.",
  "connection-lost": "The connection was lost.",
  "backend-unavailable": "The hub could not connect.",
  cancelled: "It was stopped.",
};

export const headingFor = (code: string | null): string => (code && HEADINGS[code]) || "It did not work.";

/** What the service says of an error, as a sentence, without what the heading says already. */
export function detailOf(code: string | null, message: string): string {
  const heading = headingFor(code).slice(0, -1).toLowerCase();
  const rest = message.toLowerCase().startsWith(`${heading}: `) ? message.slice(heading.length + 2) : message;
  return rest.charAt(0).toUpperCase() + rest.slice(1) + (/[.!?]$/.test(rest) ? "" : ".");
}

export const adviceFor = (code: string | null): string => (code && ADVICE[code]) || "";

/** A name from outside, with what cannot be seen made visible. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, (one) => {
    return `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
}

type Sentence = Pick<Line, "text" | "tone">;

const plain = (text: string): Sentence => ({ text, tone: "plain" });
const good = (text: string): Sentence => ({ text, tone: "good" });
const bad = (text: string): Sentence => ({ text, tone: "bad" });

/** What to write of an event; null where it is nothing that a person wants to read. */
export function sentenceOf(event: Event, devices: ReadonlyMap<number, Device>, service: Service | null): Sentence | null {
  switch (event.type) {
    case "device.created":
      return plain(`${printable(event.data.name)} was added`);
    case "device.removed":
      return plain(`${printable(devices.get(event.data.id)?.name ?? `Camera ${event.data.id}`)} was removed`);
    case "device.updated": {
      const before = devices.get(event.data.id);
      const renamed = before && before.name !== event.data.name;
      return renamed ? plain(`${printable(before.name)} is called ${printable(event.data.name)} now`) : null;
    }
    case "device.connection_status.update":
      return statusSentence(event.data, devices.get(event.data.id));
    case "interface.added":
      return plain(`Adapter ${event.data.name} was plugged in`);
    case "interface.removed":
      return bad(`Adapter ${event.data.name} was pulled out`);
    case "service.updated":
      return serviceSentence(event.data, service);
    case "tileset.updated":
      return plain(`Map ${event.data.tileset} ${event.data.available ? "is there, in a new version" : "is gone"}`);
    default:
      return null;
  }
}

function statusSentence(
  told: Extract<Event, { type: "device.connection_status.update" }>["data"],
  before: Device | undefined,
): Sentence | null {
  const name = printable(told.name);
  const through = told.interface ? ` through ${told.interface}` : "";
  switch (told.connection_status) {
    case "failed":
      if (told.connection_error_code === "connection-lost" && before?.connection_status === "connecting") {
        return bad(`${name} did not come back in time`);
      }
      return bad(`${name}: ${printable(told.connection_error_message ?? "failed")}`);
    case "connected":
      return good(`${name} is connected${through}`);
    case "connecting":
      if (told.connection_error_code === "connection-lost" && before?.connected) {
        return bad(`${name}: ${printable(told.connection_error_message ?? "the connection was lost")}`);
      }
      return plain(`${name} is connecting${through}`);
    case "disconnected":
      return before?.connection_status === "disconnecting" ? plain(`${name} is disconnected`) : null;
    default:
      return null;
  }
}

function serviceSentence(now: Service, before: Service | null): Sentence | null {
  if (now.backend_state === before?.backend_state && now.backend_reason === before.backend_reason) return null;
  if (now.backend_state === "ready") return good("The hub is ready");
  return now.backend_state === "starting" ? plain("The hub is starting") : bad(`The hub is away: ${now.backend_reason}`);
}
