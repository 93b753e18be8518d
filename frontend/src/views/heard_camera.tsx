// A camera that was heard over Bluetooth, with a button for what can be done with it.

import type { ComponentChildren } from "preact";
import { modelName } from "../models";
import { printable } from "../sentences";
import type { BluetoothDevice } from "../types";
import { Name } from "./parts";

/** Its name; a Theta has a number alone, which says what it is only with the model. */
function nameOf({ name, codename, address }: BluetoothDevice): string {
  return name !== null && codename && /^\d+$/.test(name) ? `${modelName(codename)} ${name}` : (name ?? address);
}

export const titleOf = (camera: BluetoothDevice): string => printable(nameOf(camera));

interface HeardCameraProps {
  camera: BluetoothDevice;
  /** What is known of it, in a line. */
  note: ComponentChildren;
  action: string;
  isBusy?: boolean;
  isDisabled?: boolean;
  onChoose: () => void;
}

export function HeardCamera({ camera, note, action, isBusy = false, isDisabled = false, onChoose }: HeardCameraProps) {
  return (
    <div class="choice heard" data-address={camera.address}>
      <span>
        <Name text={nameOf(camera)} />
        <small>{note}</small>
      </span>
      <button type="button" aria-busy={isBusy} aria-disabled={isDisabled} onClick={onChoose}>
        {isBusy && <span class="spinner" aria-hidden="true" />}
        {action}
        <span class="visually-hidden">
          {" "}
          <Name text={nameOf(camera)} />
        </span>
      </button>
    </div>
  );
}
