// Through what a camera is connected, and at which address programs reach it.

import { t } from "../messages";
import type { Device } from "../types";

export function Where({ device }: { device: Device }) {
  const address = device.connected ? (device.address ?? device.camera_address) : null;
  return (
    <span class="where">
      {device.interface && <span>{t.camera.by(device.interface, device.frequency)}</span>}
      {address && <span class="mono">{address}</span>}
    </span>
  );
}
