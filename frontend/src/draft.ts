// What was typed of a camera that is being added. A reload keeps it, but for the password.

import { signal } from "@preact/signals";

export interface Draft {
  ssid: string;
  /** The security of the network as it was found; empty where its name was typed. */
  security: string;
  codename: string;
  /** Whether a person chose the model: a guess then does not replace it. */
  isChosen: boolean;
  isGuessed: boolean;
  isOpen: boolean;
  name: string;
}

const KEY = "wifimgrd-add-camera";
const EMPTY: Draft = { ssid: "", security: "", codename: "", isChosen: false, isGuessed: false, isOpen: false, name: "" };

function stored(): Draft {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Record<string, unknown>;
    const fitting = Object.entries(EMPTY).map(([key, empty]) => [key, typeof found[key] === typeof empty ? found[key] : empty]);
    return Object.fromEntries(fitting) as Draft;
  } catch {
    return EMPTY;
  }
}

export const draft = signal<Draft>(stored());
/** In memory alone. */
export const draftPassword = signal("");

export function edit(change: Partial<Draft>): void {
  draft.value = { ...draft.value, ...change };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(draft.value));
  } catch {
    // Without storage a reload forgets it.
  }
}

export function clear(): void {
  draft.value = EMPTY;
  draftPassword.value = "";
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Nothing was stored.
  }
}
