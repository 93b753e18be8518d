// The catalog of camera models, loaded once.

import { signal } from "@preact/signals";
import { deviceAddress, request } from "./api";
import type { Model } from "./types";

export const models = signal<readonly Model[] | null>(null);

export async function loadModels(): Promise<void> {
  if (models.value) return;
  models.value = (await request<{ supported_devices: Model[] }>(deviceAddress("supported-devices/"))).supported_devices;
}

/** The model for cameras of which nothing is known. */
export const GENERIC = "generic-wifi-camera";

/** What GoPros call their networks, unless their owners do: all models alike. */
export const isGoPro = (ssid: string): boolean => /^(GP\d{8}$|HERO)/.test(ssid);

/** Where cameras of a model give a still; null if they do not, or that is not known. */
export const snapshotPathOf = (codename: string): string | null =>
  models.value?.find((one) => one.codename === codename)?.snapshot_path ?? null;

export const modelName = (codename: string): string =>
  models.value?.find((one) => one.codename === codename)?.device_name ?? codename;
