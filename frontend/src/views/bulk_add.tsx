// Adding several cameras at once: a list is read, what would come of each line is shown, and one button adds them all.

import { type Signal, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { deviceAddress, isUnconfirmed, Problem, request } from "../api";
import { decoded, entriesOf, LARGEST_LIST, ListFault, networkOf, type Planned, planned, requestOf, type Result, titleOf } from "../camera_list";
import { dropped } from "../dropped";
import { t } from "../messages";
import { bulkWords } from "../messages/bulk";
import { loadModels, modelName, models } from "../models";
import { printable, visible } from "../sentences";
import { devices, isCurrent, toldTogether } from "../state";
import { notify } from "../toasts";
import type { Device } from "../types";
import { Field } from "./fields";
import { Dialog, Faults, Name } from "./parts";
import "./shared";

type Rows = readonly Signal<Planned>[];

interface Props {
  /** What was pasted where one camera is added. */
  text: string;
  onBack: () => void;
  onClose: () => void;
}

const countOf = (rows: Rows, result: Result): number => rows.filter((one) => one.peek().result === result).length;

export default function BulkAdd({ text: given, onBack, onClose }: Props) {
  const [text, setText] = useState(given);
  const [rows, setRows] = useState<Rows | null>(null);
  const [fault, setFault] = useState("");
  const [isReading, setReading] = useState(false);
  const [isPatient, setPatient] = useState(true);
  const [adding, setAdding] = useState("");
  const isOpen = useRef(true);

  /** Say what would come of each camera of a text. */
  const plan = async (read: () => Promise<[text: string, source: string]>) => {
    setReading(true);
    setFault("");
    setRows(null);
    try {
      const [list, source] = await read();
      const entries = entriesOf(list, source);
      await loadModels();
      setRows(planned(entries, devices.value.values(), models.value ?? []).map((one) => signal(one)));
      // It has passwords, and is not needed again.
      setText("");
    } catch (error) {
      if (!(error instanceof ListFault || error instanceof Problem)) throw error;
      setFault(printable(error.message));
    }
    setReading(false);
  };

  const isAdding = adding !== "";
  const file = dropped.value;
  useEffect(() => {
    dropped.value = null;
    // What is added has its results in this table.
    if (file && isAdding) notify("bulk", bulkWords.notNow(printable(file.name)), "warn");
    else if (file) void plan(() => contentOf(file));
    else if (given && !rows) void plan(() => Promise.resolve([given, bulkWords.pasted]));
  }, [file]);
  useEffect(() => () => void (isOpen.current = false), []);

  useEffect(() => {
    if (!isAdding) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isAdding]);

  const add = async (wanted: Rows) => {
    const left = wanted.filter((one) => one.peek().result === "new");
    setFault("");
    let done = 0;
    for (const row of left) {
      if (!isOpen.current) break;
      setAdding(bulkWords.adding(done + 1, left.length, printable(titleOf(row.peek().entry))));
      const { result, reason, id } = await added(row.peek(), isPatient);
      row.value = { ...row.peek(), result, reason, id };
      done += 1;
      if (result !== "unsure") continue;
      // The hub, or the way to it, is not there: the others would come to the same.
      setFault(reason);
      break;
    }
    setAdding("");
    const rest = countOf(wanted, "new");
    if (!isOpen.current && rest > 0) notify("bulk", bulkWords.stopped(countOf(wanted, "registered"), rest), "warn", true);
  };

  return (
    <Dialog title={bulkWords.title} onClose={onClose}>
      {rows ? (
        <Plan rows={rows} adding={adding} fault={fault} isPatient={isPatient} setPatient={setPatient} onAdd={() => void add(rows)} onClose={onClose} onAnother={() => setRows(null)} />
      ) : (
        <form
          class="wizard bulk"
          onSubmit={(event) => {
            event.preventDefault();
            void plan(() => Promise.resolve([text, bulkWords.pasted]));
          }}
        >
          <div class="wizard-body">
            <Field id="bulk-text" label={bulkWords.label} hint={bulkWords.hint} faults={fault ? [fault] : undefined}>
              {(described) => (
                <textarea
                  rows={8}
                  autocomplete="off"
                  autocapitalize="off"
                  spellcheck={false}
                  maxLength={LARGEST_LIST}
                  data-first
                  value={text}
                  onInput={(event) => setText(event.currentTarget.value)}
                  {...described}
                />
              )}
            </Field>
            <Field id="bulk-file" label={bulkWords.file}>
              {(described) => (
                <input
                  type="file"
                  accept=".csv,.txt,text/csv,text/plain"
                  onChange={(event) => {
                    const chosen = event.currentTarget.files?.[0];
                    if (chosen) void plan(() => contentOf(chosen));
                  }}
                  {...described}
                />
              )}
            </Field>
            {isReading && <progress aria-label={bulkWords.reading} />}
          </div>
          <div class="actions">
            <button type="button" onClick={onBack}>
              {t.add.back}
            </button>
            <span class="spread" />
            <button type="submit" class="primary" disabled={!text.trim() || isReading}>
              {bulkWords.check}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** What a file has, if it is not too large for a list; throws ListFault. */
async function contentOf(file: File): Promise<[text: string, source: string]> {
  const source = visible(file.name);
  let data: ArrayBuffer;
  try {
    data = await file.slice(0, LARGEST_LIST + 1).arrayBuffer();
  } catch {
    throw new ListFault(bulkWords.unreadableFile(source));
  }
  return [decoded(new Uint8Array(data), source), source];
}

/** What comes of one. */
async function added(row: Planned, isPatient: boolean): Promise<Pick<Planned, "result" | "reason" | "id">> {
  try {
    const device = await request<Device>(deviceAddress(), { method: "POST", body: requestOf(row, isPatient) });
    toldTogether.add(device.id);
    return { result: "registered", reason: row.reason, id: device.id };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (isUnconfirmed(error)) return { result: "unsure", reason: `${error.message} ${bulkWords.unsure}`, id: null };
    return { result: "failed", reason: error.message, id: null };
  }
}

interface PlanProps {
  rows: Rows;
  /** Which one is being added, in words; empty if none is. */
  adding: string;
  fault: string;
  isPatient: boolean;
  setPatient: (isPatient: boolean) => void;
  onAdd: () => void;
  onAnother: () => void;
  onClose: () => void;
}

function Plan({ rows, adding, fault, isPatient, setPatient, onAdd, onAnother, onClose }: PlanProps) {
  const results: Result[] = ["new", "registered", "known", "failed", "unsure"];
  // The rows are drawn each by itself; the sentence is made anew with each of them.
  const counts = Object.fromEntries(results.map((result) => [result, rows.filter((one) => one.value.result === result).length])) as Record<Result, number>;
  const isUntouched = counts.registered === 0 && counts.unsure === 0;
  return (
    <div class="wizard bulk">
      <div class="wizard-body">
        <p role="status">
          {adding || `${bulkWords.conclusion(counts)}${isUntouched && counts.new > 0 ? ` ${bulkWords.unchanged}` : ""}`}
        </p>
        <Faults id="bulk-fault" sentences={fault ? [fault] : undefined} />
        <table class="plan">
          <thead>
            <tr>
              {Object.values(bulkWords.heads).map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <PlanRow key={row.peek().entry.where} row={row} />
            ))}
          </tbody>
        </table>
        {counts.new > 0 && (
          <label class="check">
            <input type="checkbox" checked={isPatient} disabled={adding !== ""} onChange={(event) => setPatient(event.currentTarget.checked)} />
            {bulkWords.patient}
          </label>
        )}
      </div>
      <div class="actions">
        <button type="button" disabled={adding !== ""} onClick={onAnother}>
          {bulkWords.another}
        </button>
        <span class="spread" />
        {counts.new > 0 ? (
          <button type="button" class="primary" disabled={adding !== "" || !isCurrent.value} aria-busy={adding !== ""} onClick={onAdd}>
            {adding !== "" && <span class="spinner" aria-hidden="true" />}
            {bulkWords.add(counts.new)}
          </button>
        ) : (
          <button type="button" class="primary" onClick={onClose}>
            {t.hub.close}
          </button>
        )}
      </div>
    </div>
  );
}

function PlanRow({ row }: { row: Signal<Planned> }) {
  const { entry, codename, result, reason } = row.value;
  const password = entry.password === null ? "" : entry.password ? bulkWords.hasPassword : bulkWords.isOpen;
  return (
    <tr class={result}>
      <th scope="row">
        <Name text={titleOf(entry)} />
      </th>
      <td>
        <bdi>{networkOf(entry)}</bdi>
      </td>
      <td>{entry.ssid.length > 0 && <bdi>{visible(modelName(codename))}</bdi>}</td>
      <td data-head={bulkWords.heads.password}>{password}</td>
      <td>
        <strong>{bulkWords.results[result]}</strong>
        {reason && <small>{printable(reason)}</small>}
      </td>
      <td>
        <bdi>{entry.where}</bdi>
      </td>
    </tr>
  );
}
