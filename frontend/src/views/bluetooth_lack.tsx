// Why cameras are neither found nor woken over Bluetooth, in one line.

import { isBluetoothReady } from "../bluetooth";
import { t } from "../messages";
import { isCurrent, service } from "../state";

export function BluetoothLack() {
  if (!isCurrent.value || isBluetoothReady()) return null;
  return <small>{t.bluetooth.unavailable(service.value?.bluetooth_reason ?? "")}</small>;
}
