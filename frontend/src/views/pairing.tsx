// Whether a camera is paired with this hub over Bluetooth, and how that is changed: at once, without saving.

import { useState } from "preact/hooks";
import { Problem } from "../api";
import { isBluetoothReady, pair, unpair } from "../bluetooth";
import { aboutDevice } from "../commands";
import { t } from "../messages";
import { failureSentences, printable } from "../sentences";
import { notify } from "../toasts";
import type { Device } from "../types";
import { BluetoothLack } from "./bluetooth_lack";
import { Elapsed } from "./device_card";
import { Faults } from "./parts";

export function Pairing({ device }: { device: Device }) {
  const [isPairing, setPairing] = useState(false);
  const [fault, setFault] = useState("");
  if (device.paired === null) return null;
  const isReady = isBluetoothReady();
  const name = printable(device.name);

  const attempt = async (act: (id: number) => Promise<unknown>, words: string) => {
    setFault("");
    try {
      await act(device.id);
      notify(aboutDevice(device.id), words, "good");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code !== "cancelled") setFault(failureSentences(error.code, error.message));
    }
  };
  const begin = async () => {
    setPairing(true);
    await attempt(pair, t.answers.paired(name));
    setPairing(false);
  };
  const forget = () => attempt(unpair, t.answers.unpaired(name));

  const words =
    !device.paired ? t.bluetooth.notPaired
    : device.bluetooth_address ? t.bluetooth.pairedAt(device.bluetooth_address)
    : t.bluetooth.paired;
  return (
    <fieldset class="choices">
      <legend>{t.bluetooth.section}</legend>
      <div role="status">
        {isPairing ? t.bluetooth.pairing(name) : words}
        {isPairing && <small>{t.bluetooth.patience}</small>}
        {!isPairing && isReady && !device.paired && <small>{t.bluetooth.needed}</small>}
        <BluetoothLack />
      </div>
      {isPairing && <Elapsed words={t.bluetooth.pairing(name)} />}
      <Faults id="pairing-fault" sentences={fault ? [fault] : undefined} />
      <div class="actions">
        {isPairing ? (
          <button type="button" onClick={() => void unpair(device.id).catch(() => undefined)}>
            {t.bluetooth.stop}
          </button>
        ) : device.paired ? (
          <button type="button" disabled={!isReady} onClick={() => void forget()}>
            {t.bluetooth.forget}
          </button>
        ) : (
          <button type="button" disabled={!isReady} onClick={() => void begin()}>
            {t.bluetooth.pair}
          </button>
        )}
      </div>
    </fieldset>
  );
}
