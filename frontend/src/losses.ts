// Why a recording ended that the camera does not explain: its link was lost meanwhile.

import type { Device } from "./types";

/** The camera was switched off, or its link was lost otherwise. */
export type Loss = "off" | "link";

const LOST: ReadonlySet<string> = new Set(["connection-lost", "interface-lost"]);

const lossOf = (code: string | null, message: string | null): Loss | null =>
  code === null || !LOST.has(code) ? null : /was switched off$/.test(message ?? "") ? "off" : "link";

const losses = new Map<number, Loss>();

/** Remember of each camera how its link was lost, until it is seen to record again. */
export function followLoss({ id, connected, camera, connection_error_code: code, connection_error_message: message }: Device): void {
  const loss = connected ? null : lossOf(code, message);
  if (loss) losses.set(id, loss);
  else if (connected && camera?.recording) losses.delete(id);
}

/** How the link of a camera was lost while it recorded; it is forgotten with that. */
export function takeLoss(id: number): Loss | null {
  const loss = losses.get(id) ?? null;
  losses.delete(id);
  return loss;
}

export const forgetLosses = (): void => losses.clear();

/** Whether its link was lost since it was last seen to record. */
export const isLost = (id: number): boolean => losses.has(id);

/** It was lost in the moment in which its recording ended: somebody has switched it off, as the hub's history says. */
export const wasSwitchedOff = (id: number): void => void losses.set(id, "off");

/** The same by the sentence of the hub's history. */
export const lossOfEnd = (message: string | null): Loss | null =>
  /was switched off\.?$/.test(message ?? "") ? "off" : /while the camera was not connected: /.test(message ?? "") ? "link" : null;

/** Whether a recording ended at the time that it has; else it was over by then, when the hub could see it again. */
export const isEndSeen = (message: string | null): boolean => !/^The recording stopped while /.test(message ?? "");

/** Whether the hub did not see an end, by the sentence of its history: the time is when it last knew better. */
export const isEndGuessed = (message: string | null): boolean => (message ?? "").includes("the time given is when it was last known to ");
