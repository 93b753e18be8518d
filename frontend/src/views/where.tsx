// What a camera is, through what it is connected, and at which address programs reach it.

import { linkOf, stateOf } from "../camera_state";
import { t } from "../messages";
import { modelName } from "../models";
import { isCurrent } from "../state";
import type { Device } from "../types";

/** How it is connected where its state says something else, and its model. */
export function aboutWords(device: Device): string {
  const link = linkOf(device);
  const model = modelName(device.codename);
  return isCurrent.value && stateOf(device) !== link ? t.camera.linkAndModel(t.states[link], model) : model;
}

export function Where({ device }: { device: Device }) {
  const address = device.connected ? (device.address ?? device.camera_address) : null;
  return (
    <span class="where">
      {device.interface && <span>{t.camera.by(device.interface, device.frequency)}</span>}
      {address && <span class="mono">{address}</span>}
    </span>
  );
}
