// Cameras over Bluetooth: searched for while somebody looks, paired, forgotten.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { deviceAddress, Problem, request } from "./api";
import { failureSentences } from "./sentences";
import { devices, isCurrent, service } from "./state";
import type { BluetoothDevice, Device } from "./types";

const SEARCH = "bluetooth/search?seconds=5";
/** From the end of a search to the next one. */
const PAUSE_MS = 5_000;
/** What was heard is shown before the search has ended. */
const EARLY_MS = 1_500;
/** The hub gives up after 60 s. */
const PAIRING_S = 70;

interface Heard {
  bluetooth_devices: BluetoothDevice[];
}

/** Whether a person can see this page. */
const isVisible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => (isVisible.value = !document.hidden));

export const isBluetoothReady = (): boolean => isCurrent.value && service.value?.bluetooth_state === "ready";

const search = () => request<Heard>(deviceAddress(SEARCH), { method: "POST" });

/** The cameras in range, searched for again and again while that is wanted and the page is visible. */
export function useCamerasInRange(isWanted: boolean): { heard: readonly BluetoothDevice[]; fault: string } {
  const [heard, setHeard] = useState<readonly BluetoothDevice[]>([]);
  const [fault, setFault] = useState("");
  const isOn = isWanted && isVisible.value;
  useEffect(() => {
    if (!isOn) return undefined;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const take = (answer: Heard) => {
      if (!isOver) setHeard(answer.bluetooth_devices);
    };
    const look = async () => {
      timer = setTimeout(() => void request<Heard>(deviceAddress("bluetooth/devices")).then(take).catch(() => undefined), EARLY_MS);
      try {
        take(await search());
        if (!isOver) setFault("");
      } catch (error) {
        // While the hub wakes another camera it does not search: the next search may find something.
        if (!isOver && error instanceof Problem && error.code !== "busy") setFault(failureSentences(error.code, error.message));
      }
      clearTimeout(timer);
      if (!isOver) timer = setTimeout(() => void look(), PAUSE_MS);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isOn]);
  return { heard, fault };
}

/** Whether it is to be found out if a camera sleeps: only one that is paired is recognised when it is heard. */
const isToBeFound = (one: Device): boolean =>
  one.paired === true && one.power_state === null && one.connection_status === "disconnected" && one.connection_phase === null;

/**
 * Find out by one search which cameras sleep, when the page comes into view and once that is no longer known. While the hub
 * wakes another camera it does not search: then it is asked again.
 */
export function useWhoSleeps(): void {
  const isWanted = isVisible.value && isBluetoothReady() && [...devices.value.values()].some(isToBeFound);
  useEffect(() => {
    if (!isWanted) return undefined;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      if (!isOver) timer = setTimeout(look, PAUSE_MS);
    };
    const look = () => void search().catch(again);
    look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isWanted]);
}

/** Pair the camera of a device, the one with an address or the only one in pairing mode; throws Problem. */
export const pair = (id: number, address?: string): Promise<Device> =>
  request<Device>(deviceAddress(`${id}/pairing?wait=${PAIRING_S}`), {
    method: "POST",
    body: address === undefined ? undefined : { address },
    timeoutMs: (PAIRING_S + 5) * 1_000,
  });

/** The cameras in pairing mode that a device may be, as they were heard last, the strongest first; throws Problem. */
export async function inPairingMode(device: Device): Promise<BluetoothDevice[]> {
  const heard = await request<Heard>(deviceAddress("bluetooth/devices"));
  const mayBe = (one: BluetoothDevice) => one.pairing_mode && (one.codename ?? device.codename) === device.codename;
  return heard.bluetooth_devices.filter((one) => one.device_id === null && mayBe(one));
}

/** Forget the camera of a device, and stop a pairing that runs; throws Problem. */
export const unpair = (id: number) => request(deviceAddress(`${id}/pairing`), { method: "DELETE" });

/** Pair a camera, and register it with the network and the password that it gives; throws Problem. */
export function addByPairing(address: string): Promise<Device> {
  const body = { connection_type: "wifi", connection_settings: { bluetooth_address: address } };
  return request<Device>(deviceAddress(), { method: "POST", body, timeoutMs: (PAIRING_S + 5) * 1_000 });
}
