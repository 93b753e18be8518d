// What the page shows, kept by the channel's messages alone.

import { computed, signal } from "@preact/signals";
import { sentenceOf } from "./sentences";
import type { Device, Event, Interface, Service, Snapshot } from "./types";

/** How the channel is: only `live` is the present, everything else a memory. */
export type Link = "starting" | "live" | "lost" | "locked";

export interface Line {
  number: number;
  time: string;
  text: string;
  tone: "good" | "bad" | "plain";
}

const KEPT_LINES = 200;

export const link = signal<Link>("starting");
export const linkReason = signal("");
export const service = signal<Service | null>(null);
export const devices = signal<ReadonlyMap<number, Device>>(new Map());
export const interfaces = signal<ReadonlyMap<string, Interface>>(new Map());
export const lines = signal<readonly Line[]>([]);
export const tilesetsChanged = signal(0);

/** Whether what is shown is so now. */
export const isCurrent = computed(() => link.value === "live" && service.value?.backend_state !== "unavailable");

let numbered = 0;

export function takeSnapshot(snapshot: Snapshot): void {
  service.value = snapshot.service;
  devices.value = new Map(snapshot.devices.map((one) => [one.id, one]));
  interfaces.value = new Map(snapshot.interfaces.map((one) => [one.name, one]));
}

export function takeEvent(event: Event): void {
  const line = sentenceOf(event, devices.value, service.value);
  if (line) {
    numbered += 1;
    lines.value = [{ ...line, number: numbered, time: event.time }, ...lines.value].slice(0, KEPT_LINES);
  }
  switch (event.type) {
    case "device.created":
    case "device.updated":
      setDevice(event.data);
      break;
    case "device.removed": {
      const rest = new Map(devices.value);
      rest.delete(event.data.id);
      devices.value = rest;
      break;
    }
    case "device.connection_status.update": {
      const known = devices.value.get(event.data.id);
      const { connection_status, ...told } = event.data;
      if (!known || connection_status === "failed") break;
      const isUp = connection_status === "connected";
      setDevice({ ...known, ...told, connection_status, signal_strength: isUp ? known.signal_strength : null });
      break;
    }
    case "device.signal": {
      const known = devices.value.get(event.data.id);
      if (known) setDevice({ ...known, signal_strength: event.data.signal_strength });
      break;
    }
    case "interface.added":
    case "interface.updated":
      interfaces.value = new Map(interfaces.value).set(event.data.name, event.data);
      break;
    case "interface.removed": {
      const rest = new Map(interfaces.value);
      rest.delete(event.data.name);
      interfaces.value = rest;
      break;
    }
    case "service.updated":
      service.value = event.data;
      break;
    case "tileset.updated":
      tilesetsChanged.value += 1;
      break;
  }
}

function setDevice(device: Device): void {
  devices.value = new Map(devices.value).set(device.id, device);
}
