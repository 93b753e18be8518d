// Whether a camera is paired with this hub over Bluetooth, and how that is changed: at once, without saving.

import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api";
import { inPairingMode, isBluetoothReady, pair, unpair } from "../bluetooth";
import { aboutDevice } from "../commands";
import { t } from "../messages";
import { failureSentences, printable } from "../sentences";
import { notify } from "../toasts";
import type { BluetoothDevice, Device } from "../types";
import { BluetoothLack } from "./bluetooth_lack";
import { Elapsed } from "./progress";
import { HeardCamera } from "./heard_camera";
import { Faults } from "./parts";

export function Pairing({ device }: { device: Device }) {
  const [isPairing, setPairing] = useState(false);
  const [fault, setFault] = useState("");
  const [choice, setChoice] = useState<readonly BluetoothDevice[]>([]);
  const rows = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (choice.length > 0 && !isPairing) rows.current?.querySelector("button")?.focus();
  }, [choice, isPairing]);
  if (device.paired === null) return null;
  const isReady = isBluetoothReady();
  const name = printable(device.name);

  const succeed = (words: string) => notify(aboutDevice(device.id), words, "good");
  const fail = (error: unknown) => {
    if (!(error instanceof Problem)) throw error;
    if (error.code !== "cancelled") setFault(failureSentences(error.code, error.message));
  };
  const begin = async (address?: string) => {
    setPairing(true);
    setFault("");
    try {
      await pair(device.id, address);
      setChoice([]);
      succeed(t.answers.paired(name));
    } catch (error) {
      // Where several are in pairing mode, a person says which one it is, in place of an error that names them.
      const isUnclear = address === undefined && error instanceof Problem && error.code === "pairing-failed";
      const found = isUnclear ? await inPairingMode(device).catch(() => []) : [];
      if (found.length > 1) setChoice(found);
      else fail(error);
    }
    setPairing(false);
  };
  const forget = async () => {
    setFault("");
    try {
      await unpair(device.id);
      succeed(t.answers.unpaired(name));
    } catch (error) {
      fail(error);
    }
  };
  const isToChoose = choice.length > 0 && !isPairing && !device.paired;

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
        {!isPairing && isReady && !device.paired && <small>{isToChoose ? t.bluetooth.which : t.bluetooth.needed}</small>}
        <BluetoothLack />
      </div>
      {isPairing && <Elapsed words={t.bluetooth.pairing(name)} />}
      <Faults id="pairing-fault" sentences={fault ? [fault] : undefined} />
      {isToChoose && (
        <div ref={rows}>
          {choice.map((one) => (
            <HeardCamera
              key={one.address}
              camera={one}
              note={t.bluetooth.heard(one.address, one.rssi)}
              action={t.bluetooth.pair}
              isDisabled={!isReady}
              onChoose={() => isReady && void begin(one.address)}
            />
          ))}
        </div>
      )}
      <div class="actions">
        {isPairing && device.paired ? null : isPairing ? (
          <button type="button" onClick={() => void unpair(device.id).catch(() => undefined)}>
            {t.bluetooth.stop}
          </button>
        ) : device.paired ? (
          <>
            <button type="button" disabled={!isReady} onClick={() => void begin()}>
              {t.bluetooth.anew}
            </button>
            <button type="button" disabled={!isReady} onClick={() => void forget()}>
              {t.bluetooth.forget}
            </button>
          </>
        ) : (
          <button type="button" disabled={!isReady} onClick={() => void begin()}>
            {isToChoose ? t.bluetooth.again : t.bluetooth.pair}
          </button>
        )}
      </div>
    </fieldset>
  );
}
