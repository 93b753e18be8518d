// Why a recording ended that the camera does not explain: its link was lost meanwhile.

import type { Device, HistoryRow } from "./types";

/** The camera was switched off, or its link was lost otherwise. */
export type Loss = "off" | "link";

const LOST: ReadonlySet<string> = new Set(["connection-lost", "interface-lost"]);
/** A camera is read so soon after its link is back. */
const READ_MS = 30_000;
/** The times of one change differ by so much. */
const SAME_MS = 2_000;

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

/** The same by the rows of the history: the last loss within a recording that ended before the camera was read again, or then. */
export function lossIn(rows: readonly HistoryRow[], { device_id: id, time, ended }: HistoryRow): Loss | null {
  if (ended === null) return null;
  const [from, to] = [Date.parse(time), Date.parse(ended)];
  const links = rows.filter((one) => one.device_id === id && (one.kind === "session" || one.kind === "interruption"));
  let last: { at: number; loss: Loss } | null = null;
  for (const one of links) {
    const loss = lossOf(one.code, one.message);
    const at = Date.parse((one.kind === "session" ? one.ended : one.time) ?? "");
    if (loss && at >= from && at <= to + SAME_MS && at >= (last?.at ?? 0)) last = { at, loss };
  }
  if (!last) return null;
  const { at: lostAt, loss } = last;
  const returns = links.map((one) => Date.parse((one.kind === "session" ? one.time : one.ended) ?? "")).filter((at) => at > lostAt);
  return returns.some((at) => to - at > READ_MS) ? null : loss;
}
