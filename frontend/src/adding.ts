// What adding a camera from a list of networks, or in its dialog, has in common.

import { draft, edit } from "./draft";
import { t } from "./messages";
import { GENERIC, isGoPro } from "./models";
import { printable } from "./sentences";
import { devices, service } from "./state";
import { notify } from "./toasts";
import type { Device, Network } from "./types";

const OPEN = new Set(["open", "owe"]);

/** That it is registered, unless it is connected already, which is said anyway. */
export function tellAdded(added: Device): void {
  if (!devices.value.get(added.id)?.connected) notify(`device ${added.id}`, t.answers.added(printable(added.name)), "good");
}

export function choose(network: Network): void {
  const { isChosen, codename } = draft.value;
  edit({
    ssid: network.ssid,
    security: network.security,
    isOpen: OPEN.has(network.security),
    ...(isChosen ? { codename } : { codename: network.codename ?? unguessed(network.ssid), isGuessed: network.codename !== null }),
  });
}

/** The model of a network that does not say it. That of a GoPro a person has to select. */
export const unguessed = (ssid: string): string => (isGoPro(ssid) ? "" : GENERIC);

/** What the scenario that comes with the simulator has as passwords: wifimgrd/simulator/default.toml. */
export function simulatedPassword(ssid: string): string | undefined {
  const number = service.value?.backend === "simulated" ? /^SIM-CAM-(\d+)$/.exec(ssid)?.[1] : undefined;
  return number && `camera-pass-${number}`;
}
