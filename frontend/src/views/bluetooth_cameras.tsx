// The cameras in pairing mode: one click pairs one, and adds it with the network and the password that it gives.

import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api";
import { addByPairing, useCamerasInRange } from "../bluetooth";
import { t } from "../messages";
import { modelName } from "../models";
import { failureSentences, failureText, printable } from "../sentences";
import { notify } from "../toasts";
import type { BluetoothDevice, Device } from "../types";
import { Elapsed } from "./progress";
import { HeardCamera, titleOf } from "./heard_camera";
import { Faults } from "./parts";

interface CamerasProps {
  onAdded: (added: Device) => void;
}

export function BluetoothCameras({ onAdded }: CamerasProps) {
  const [paired, setPaired] = useState<BluetoothDevice | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const { heard, fault } = useCamerasInRange(paired === null);
  const isShown = useRef(true);
  useEffect(() => () => void (isShown.current = false), []);

  const add = async (camera: BluetoothDevice) => {
    if (paired) return;
    setPaired(camera);
    setRefusal(null);
    try {
      const added = await addByPairing(camera.address);
      if (isShown.current) onAdded(added);
      else notify(`device ${added.id}`, t.answers.added(printable(added.name)), "good");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (!isShown.current) notify("hub", failureText(titleOf(camera), error.code, error.message), "bad");
      setRefusal(failureSentences(error.code, error.message));
    }
    setPaired(null);
  };

  const found = heard.filter((one) => one.pairing_mode && one.device_id === null);
  // What is being paired stays where it is, whether it is still heard or not.
  const listed = !paired || found.some((one) => one.address === paired.address) ? found : [paired, ...found];
  const other = refusal ?? fault;
  return (
    <fieldset class="choices">
      <legend>{t.bluetooth.cameras}</legend>
      {listed.length === 0 && <small>{t.bluetooth.hint}</small>}
      {listed.map((one) => (
        <HeardCamera
          key={one.address}
          camera={one}
          note={one.codename ? modelName(one.codename) : t.bluetooth.modelLater}
          action={t.bluetooth.add}
          isBusy={paired?.address === one.address}
          isDisabled={paired !== null}
          onChoose={() => void add(one)}
        />
      ))}
      <div role="status">
        {paired && (
          <>
            {t.bluetooth.pairing(titleOf(paired))} <small>{t.bluetooth.patience}</small>
          </>
        )}
      </div>
      {paired && <Elapsed words={t.bluetooth.pairing(titleOf(paired))} />}
      <Faults id="heard-fault" sentences={other ? [other] : undefined} />
    </fieldset>
  );
}
