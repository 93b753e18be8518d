// The catalog of camera models, loaded once.

import { signal } from "@preact/signals";
import { deviceAddress, request } from "./api";
import type { Model, StillSource } from "./types";

export const models = signal<readonly Model[] | null>(null);
const isUnreadable = signal(false);
let reading: Promise<void> | null = null;

/** Whoever asks meanwhile waits for the same answer; throws Problem. */
export function loadModels(): Promise<void> {
  reading ??= readModels().finally(() => (reading = null));
  return reading;
}

async function readModels(): Promise<void> {
  if (models.value) return;
  try {
    models.value = (await request<{ supported_devices: Model[] }>(deviceAddress("supported-devices/"))).supported_devices;
  } catch (error) {
    isUnreadable.value = true;
    throw error;
  }
}

/** The model for cameras of which nothing is known. */
export const GENERIC = "generic-wifi-camera";

/** What GoPros call their networks, unless their owners do: all models alike. */
export const isGoPro = (ssid: string): boolean => /^(GP\d{8}$|HERO)/.test(ssid);

const modelOf = (codename: string): Model | undefined => models.value?.find((one) => one.codename === codename);

/** Where cameras of a model give a still; null if they do not, or that is not known. */
export const stillSourceOf = (codename: string): StillSource | null => modelOf(codename)?.snapshot ?? null;

/** Empty until the catalog is read: the codename would stand there for a moment only. */
export const modelName = (codename: string): string =>
  models.value || isUnreadable.value ? (modelOf(codename)?.device_name ?? codename) : "";
