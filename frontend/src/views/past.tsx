// What happened to a camera: sessions, interruptions, recordings and errors, the newest first.

import { useEffect, useState } from "preact/hooks";
import { deviceAddress, Problem, request } from "../api";
import { lossIn } from "../losses";
import { t } from "../messages";
import { endWords } from "../reading";
import { adviceFor, capitalised, detailOf, headingFor, stepWords } from "../sentences";
import { moment } from "../times";
import type { Device, HistoryRow } from "../types";
import { Faults, Name } from "./parts";
import { Code } from "./trouble";

const ROWS = 200;
const LISTED = 30;

export interface PastProps {
  /** The newest first; null while they are loading. */
  rows: readonly HistoryRow[] | null;
  fault: string;
}

/** A camera's rows of the history, read again when something may have been added. */
export function usePast(device: Device): PastProps {
  const [rows, setRows] = useState<readonly HistoryRow[] | null>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    let isWanted = true;
    request<{ history: HistoryRow[] }>(deviceAddress(`history?device_id=${device.id}&limit=${ROWS}`))
      .then(({ history }) => {
        if (!isWanted) return;
        setRows(history);
        setFault("");
      })
      .catch((error: unknown) => isWanted && setFault(error instanceof Problem ? error.message : t.hub.failed));
    return () => void (isWanted = false);
  }, [
    device.id,
    device.connection_status,
    device.connection_phase,
    device.recovery_step,
    device.connection_error_at,
    device.last_disconnection,
    device.camera?.recording,
  ]);
  return { rows, fault };
}

/** The kinds of rows whose code is no error. */
const WITHOUT_ERRORS: ReadonlySet<HistoryRow["kind"]> = new Set(["recording", "recovery"]);

/** Whether a session ended otherwise than by a command. */
export const isOutage = (row: HistoryRow): boolean => Boolean(row.code) && row.code !== "cancelled";

export function Past({ rows, fault }: PastProps) {
  return (
    <section class="panel" aria-labelledby="past-title">
      <h3 id="past-title">{t.camera.history}</h3>
      <Faults id="history-fault" sentences={fault ? [fault] : undefined} />
      {!rows && !fault && <progress aria-label={t.camera.loading} />}
      {rows?.length === 0 && <p>{t.camera.noHistory}</p>}
      {rows && rows.length > 0 && (
        <ol class="past">
          {rows.slice(0, LISTED).map((row) => (
            <PastRow key={row.id} row={row} all={rows} />
          ))}
        </ol>
      )}
    </section>
  );
}

function PastRow({ row, all }: { row: HistoryRow; all: readonly HistoryRow[] }) {
  const details = [
    row.interface && t.camera.through(row.interface),
    row.signal_mean !== null && t.camera.signalRange(row.signal_minimum ?? row.signal_mean, row.signal_mean),
  ].filter(Boolean);
  const isCut = row.kind === "recording" && row.ended !== null && row.code !== "stopped";
  const isError = row.kind === "failure" || (!WITHOUT_ERRORS.has(row.kind) && isOutage(row));
  const wake = isError ? t.camera.notWoken : t.camera.woken;
  return (
    <li data-kind={row.kind}>
      {row.kind === "session" ? (
        <strong>{row.ended ? t.camera.session(moment(row.time), moment(row.ended)) : t.camera.sessionOpen(moment(row.time))}</strong>
      ) : row.kind === "interruption" && row.ended ? (
        <strong>{t.camera.interruption(moment(row.time), (Date.parse(row.ended) - Date.parse(row.time)) / 1000)}</strong>
      ) : row.kind === "recording" ? (
        <strong>{row.ended ? t.camera.recorded(moment(row.time), moment(row.ended)) : t.camera.recordedOpen(moment(row.time))}</strong>
      ) : row.kind === "recovery" ? (
        <strong>{row.ended ? t.camera.recovery(moment(row.time), moment(row.ended)) : t.camera.recoveryOpen(moment(row.time))}</strong>
      ) : row.kind === "wake" ? (
        <strong>{wake(moment(row.time))}</strong>
      ) : (
        <strong>
          <time dateTime={row.time}>{moment(row.time)}</time>
        </strong>
      )}
      {details.length > 0 && <small>{details.join(" · ")}</small>}
      {isCut && <div>{t.camera.recordingEnded(endWords(row.code ?? "", () => lossIn(all, row)))}</div>}
      {row.kind === "recovery" && (
        <>
          <div>
            {!row.ended && `${capitalised(stepWords(row.code ?? ""))}. `}
            <Name text={row.message ?? ""} />
          </div>
          <Code code={row.code} />
        </>
      )}
      {isError && (
        <>
          <div>
            {row.kind === "session" ? t.camera.ended(headingFor(row.code)) : headingFor(row.code)}{" "}
            <Name text={row.message ? detailOf(row.code, row.message) : ""} />
          </div>
          {adviceFor(row.code) && row.kind !== "interruption" && <div>{adviceFor(row.code)}</div>}
          <Code code={row.code} />
        </>
      )}
    </li>
  );
}
