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
import { ModelField } from "./fields";
import { HeardCamera, titleOf } from "./heard_camera";
import { Faults } from "./parts";

interface CamerasProps {
  onAdded: (added: Device) => void;
}

export function BluetoothCameras({ onAdded }: CamerasProps) {
  const [paired, setPaired] = useState<BluetoothDevice | null>(null);
  const [asked, setAsked] = useState<BluetoothDevice | null>(null);
  const [codename, setCodename] = useState("");
  const [faults, setFaults] = useState<{ model?: string[]; other?: string }>({});
  const { heard, fault } = useCamerasInRange(paired === null);
  const isShown = useRef(true);
  useEffect(() => () => void (isShown.current = false), []);
  useEffect(() => {
    if (asked) document.getElementById("heard-model")?.focus();
  }, [asked, faults]);

  const add = async (camera: BluetoothDevice, model: string) => {
    setPaired(camera);
    setFaults({});
    try {
      const added = await addByPairing(camera.address, model);
      if (isShown.current) onAdded(added);
      else notify(`device ${added.id}`, t.answers.added(printable(added.name)), "good");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const aboutModel = error.fields.codename;
      if (!isShown.current) notify("hub", failureText(titleOf(camera), error.code, error.message), "bad");
      setAsked(aboutModel ? camera : null);
      setFaults(aboutModel ? { model: aboutModel } : { other: failureSentences(error.code, error.message) });
    }
    setPaired(null);
  };

  const choose = (camera: BluetoothDevice) => {
    if (paired) return;
    const isAsked = asked?.address === camera.address;
    if (isAsked && !codename) setFaults({ model: [t.add.modelNeeded] });
    else void add(camera, isAsked ? codename : "");
  };

  const found = heard.filter((one) => one.pairing_mode && one.device_id === null);
  // What is being paired stays where it is, whether it is still heard or not.
  const lasting = paired ?? asked;
  const listed = !lasting || found.some((one) => one.address === lasting.address) ? found : [lasting, ...found];
  const other = faults.other ?? fault;
  return (
    <fieldset class="choices">
      <legend>{t.bluetooth.cameras}</legend>
      {listed.length === 0 && <small>{t.bluetooth.hint}</small>}
      {listed.map((one) => (
        <HeardCamera
          key={one.address}
          camera={one}
          note={one.codename ? modelName(one.codename) : <span class="mono">{one.address}</span>}
          action={t.bluetooth.add}
          isBusy={paired?.address === one.address}
          isDisabled={paired !== null}
          onChoose={() => choose(one)}
        />
      ))}
      {asked && !paired && (
        <ModelField id="heard-model" codename={codename} onChoose={setCodename} faults={faults.model} />
      )}
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
