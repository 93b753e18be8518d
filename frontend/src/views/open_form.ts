// The dialog that is open for a camera: its views are read when the first is opened.

import { signal } from "@preact/signals";
import { t } from "../messages";
import { onForget } from "../state";
import type { Device } from "../types";

export type Form = "edit" | "password" | "pair" | "remove";

/** It stays open while the card or row behind it goes: a filter hides it, or a list takes the place of cards. */
export const openedForm = signal<{ form: Form; device: Device } | null>(null);

onForget(() => (openedForm.value = null));

export const openForm = (form: Form, device: Device): void => void (openedForm.value = { form, device });

export const pinWords = (pin: NonNullable<Device["pin"]>): string =>
  pin.mac ? t.camera.pinMac(pin.mac) : t.camera.pinPort(pin.usb_port ?? "");
