// What happened to a camera and to the adapters that it used, the newest first.

import { useEffect, useMemo, useState } from "preact/hooks";
import { deviceAddress, Problem, request } from "../api";
import { hubTime } from "../hub_clock";
import { isEndGuessed } from "../losses";
import { t } from "../messages";
import { type Folded, folded, inOrder, isBad, isOutage, ofItsAdapters, titleOf } from "../past_rows";
import { problemWords } from "../reading";
import { records } from "../rig";
import { adviceFor, capitalised, detailOf, headingFor, stepWords } from "../sentences";
import { devices, isCurrent } from "../state";
import { exactMoment } from "../times";
import type { Device, HistoryRow } from "../types";
import { Faults, Name } from "./parts";
import { Code } from "./trouble";

const ROWS = 200;
/** Of all cameras and adapters: the hub gives those of an adapter with no camera. */
const ROWS_OF_ALL = 500;
const LISTED = 30;

export interface PastProps {
  /** The newest first; null while they are loading. */
  rows: readonly HistoryRow[] | null;
  fault: string;
}

const readRows = async (query: string): Promise<readonly HistoryRow[]> =>
  (await request<{ history: HistoryRow[] }>(deviceAddress(`history?${query}`))).history;

/** A camera's rows of the history, read again when something may have been added. */
export function usePast(device: Device): PastProps {
  const [own, setOwn] = useState<readonly HistoryRow[] | null>(null);
  const [all, setAll] = useState<readonly HistoryRow[]>([]);
  const [fault, setFault] = useState("");
  useEffect(() => {
    let isWanted = true;
    readRows(`device_id=${device.id}&limit=${ROWS}`)
      .then((read) => {
        if (!isWanted) return;
        setOwn(read);
        setFault("");
      })
      .catch((error: unknown) => isWanted && setFault(error instanceof Problem ? error.message : t.hub.failed));
    return () => void (isWanted = false);
  }, [
    device.id,
    device.connection_status,
    device.connection_phase,
    device.recovery_step,
    device.camera?.problems.join(" "),
    device.connection_error_at,
    device.last_disconnection,
    device.camera?.recording,
  ]);
  useEffect(() => {
    let isWanted = true;
    // Without them the page says less, and nothing wrong.
    readRows(`limit=${ROWS_OF_ALL}`)
      .then((read) => isWanted && setAll(read))
      .catch(() => undefined);
    return () => void (isWanted = false);
  }, [device.id, device.interface, device.recovery_step]);
  const rows = useMemo(() => own && inOrder([...own, ...ofItsAdapters(own, all)]), [own, all]);
  return { rows, fault };
}

export function Past({ rows, fault }: PastProps) {
  const [isWhole, setWhole] = useState(false);
  const lines = folded(rows ?? []);
  const shown = isWhole ? lines : lines.slice(0, LISTED);
  return (
    <section class="panel" aria-labelledby="past-title">
      <h3 id="past-title">{t.camera.history}</h3>
      <Faults id="history-fault" sentences={fault ? [fault] : undefined} />
      {!rows && !fault && <progress aria-label={t.camera.loading} />}
      {rows?.length === 0 && <p>{t.camera.noHistory}</p>}
      {shown.length > 0 && (
        <ol class="past">
          {shown.map((one) => (
            <PastRow key={one.row.id} past={one} />
          ))}
        </ol>
      )}
      {shown.length < lines.length && (
        <button type="button" onClick={() => setWhole(true)}>
          {t.past.more(lines.length - shown.length)}
        </button>
      )}
    </section>
  );
}

/** Whether a camera is known to record now. */
function isSeen(id: number | null): boolean {
  const device = id === null ? undefined : devices.value.get(id);
  return device !== undefined && isCurrent.value && records(device);
}

function PastRow({ past }: { past: Folded }) {
  const { row } = past;
  const details = [
    row.interface && row.kind !== "adapter" && t.camera.through(row.interface),
    row.signal_mean !== null && t.camera.signalRange(row.signal_minimum ?? row.signal_mean, row.signal_mean),
  ].filter(Boolean);
  return (
    <li data-kind={row.kind} class={isBad(row) ? "bad" : undefined}>
      <strong>{titleOf(past, hubTime.peek(), isSeen(row.device_id), exactMoment)}</strong>
      {details.length > 0 && <small>{details.join(" · ")}</small>}
      <Reason row={row} />
    </li>
  );
}

/** The kinds of rows whose sentence says it all; that of the others has a heading before it, by its code. */
const SAID_IN_FULL: ReadonlySet<HistoryRow["kind"]> = new Set(["problem", "refusal", "recording", "adapter", "recovery", "backend"]);

/** Why it was, or ended, and what a person can do about it. */
function Reason({ row }: { row: HistoryRow }) {
  const { kind, code, message } = row;
  if (SAID_IN_FULL.has(kind)) {
    const running = kind === "recovery" && !row.ended ? `${capitalised(stepWords(code ?? ""))}. ` : "";
    const advice = kind === "problem" ? problemWords(code)?.advice : kind === "refusal" ? adviceFor(code) : "";
    if (kind === "recording" && code === "stopped") return null;
    return (
      <>
        {(running || message) && (
          <div>
            {running}
            <Name text={message ?? ""} />
          </div>
        )}
        {advice && <div>{advice}</div>}
        {kind !== "adapter" && kind !== "backend" && <Code code={code} />}
      </>
    );
  }
  if (kind === "session" && !code && isEndGuessed(message)) return <div>{message}</div>;
  if (!isOutage(row) && kind !== "failure") return null;
  return (
    <>
      <div>
        {kind === "session" ? t.camera.ended(headingFor(code)) : headingFor(code)} <Name text={message ? detailOf(code, message) : ""} />
      </div>
      {adviceFor(code) && kind !== "interruption" && <div>{adviceFor(code)}</div>}
      <Code code={code} />
    </>
  );
}
