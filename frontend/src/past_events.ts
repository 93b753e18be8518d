// What happened before this page was opened, by the hub's history, as lines like those of what happens now.

import { signal } from "@preact/signals";
import { deviceAddress, request } from "./api";
import { atHub } from "./hub_clock";
import { isEndGuessed, lossOfEnd } from "./losses";
import { t } from "./messages";
import { CAME_OR_WENT, FLAPS, folded } from "./past_rows";
import { endWords, problemWords } from "./reading";
import { failureLine, failureText, printable, type Sentence, stepWords } from "./sentences";
import { devices, type EventKind, type Line, lines, onForget, silences } from "./state";
import { minute } from "./times";
import type { HistoryRow } from "./types";

const ROWS = 500;
/** Where few of them are left because an adapter comes and goes, so many are read, */
const ENOUGH = 100;
/** in so many answers at most. */
const ANSWERS = 6;
/** The hub's clock is not known better than to its whole seconds. */
const UNCLEAR_MS = 1_000;
/** The times of the same change, in the history and in an event, are so close. */
const SAME_MS = 1_500;

/** The newest first; null until they are read. */
export const pastLines = signal<readonly Line[] | null>(null);

let asked: typeof silences.value | null = null;

/** Read them, once for each time in which nothing was heard from the hub, or anew; throws Problem. */
export async function readPast(isAnew = false): Promise<void> {
  if (asked === silences.value && !isAnew) return;
  const wanted = silences.value;
  asked = wanted;
  try {
    const history = await readRows();
    // A later answer has more.
    if (asked === wanted) pastLines.value = history.flatMap(linesOf).filter(wasMissed).sort(byTime);
  } catch (error) {
    if (asked === wanted) asked = null;
    throw error;
  }
}

async function readRows(): Promise<HistoryRow[]> {
  const rows: HistoryRow[] = [];
  let before = "";
  for (let answers = 0; answers < ANSWERS; answers += 1) {
    const { history } = await request<{ history: HistoryRow[] }>(deviceAddress(`history?limit=${ROWS}${before}`));
    rows.push(...history);
    const last = history[ROWS - 1];
    if (!last || folded(rows).length >= ENOUGH) break;
    before = `&before=${last.id}`;
  }
  return rows;
}

onForget(() => {
  asked = null;
  pastLines.value = null;
});

/** Whether no event said it: those of a short silence come later, with their own time. */
function wasMissed(line: Line): boolean {
  if (line.isOnlyPast) return true;
  const at = Date.parse(line.time);
  const isIn = silences.peek().some(({ from, to }) => atHub(from) - UNCLEAR_MS <= at && at < atHub(to) + UNCLEAR_MS);
  return isIn && !lines.peek().some((one) => isSame(one, line) && Math.abs(Date.parse(one.time) - at) < SAME_MS);
}

/** Whether an event and a row are about the same change: their words may differ, as may the cause of a recording's end. */
function isSame(event: Line, row: Line): boolean {
  if (event.device !== row.device || event.kind !== row.kind) return false;
  if (row.kind === "hub") return event.text === row.text;
  return row.kind === "recording" || event.tone === row.tone;
}

const byTime = (one: Line, other: Line): number => (one.time < other.time ? 1 : one.time > other.time ? -1 : other.number - one.number);

type Part = [time: string, kind: EventKind, sentence: Sentence];

function linesOf(row: HistoryRow): Line[] {
  const id = row.device_id;
  const name = printable((id !== null && devices.value.get(id)?.name) || row.device_name || "");
  return partsOf(row, name).map(([time, kind, sentence], index) => ({
    ...sentence,
    ...(row.kind === "refusal" ? { isOnlyPast: true } : {}),
    kind,
    time,
    device: id,
    number: -(2 * row.id + index),
  }));
}

function partsOf(row: HistoryRow, name: string): Part[] {
  const { time, ended, code, message } = row;
  const isBad = Boolean(code) && code !== "cancelled";
  switch (row.kind) {
    case "session": {
      const end: Sentence = isBad
        ? { ...failureLine(name, code, message), tone: "bad" }
        : isEndGuessed(message)
          ? { text: t.events.lastConnected(name), tone: "plain" }
          : { text: t.events.disconnected(name), tone: "plain" };
      const begin: Sentence = { text: t.events.connected(name, row.interface), tone: "good" };
      return [[time, "connection", begin], ...(ended ? [[ended, "connection", end] as Part] : [])];
    }
    case "interruption": {
      const lasted = ended ? (Date.parse(ended) - Date.parse(time)) / 1_000 : 0;
      return [[time, "connection", { text: t.events.interrupted(name, lasted), tone: "bad" }]];
    }
    case "failure":
      return [[time, "connection", isBad ? failureLine(name, code, message) : { text: failureText(name, code, message), tone: "plain" }]];
    case "wake":
      return [[time, "connection", isBad ? { text: failureText(name, code, message), tone: "bad" } : { text: t.events.woken(name), tone: "plain" }]];
    case "recovery": {
      const begin: Sentence = { text: t.events.recoveryStep(name, stepWords(code ?? "")), tone: "warn" };
      const end: Sentence = { text: t.events.failed(name, printable(message ?? "")), tone: "plain" };
      return [[time, "connection", begin], ...(ended && message ? [[ended, "connection", end] as Part] : [])];
    }
    case "recording": {
      const isStopped = code === "stopped";
      const end: Sentence = isStopped
        ? { text: t.events.recordingStopped(name), tone: "plain" }
        : { text: t.events.recordingEnded(name, endWords(code ?? "", () => lossOfEnd(message))), tone: "bad" };
      const begin: Sentence = { text: t.events.recording(name), tone: "plain" };
      return [[time, "recording", begin], ...(ended ? [[ended, "recording", end] as Part] : [])];
    }
    case "problem": {
      const known = problemWords(code);
      const begin: Sentence = { text: t.events.failed(name, known ? `${known.what} ${known.advice}` : printable(message ?? "")), tone: "bad" };
      const over = isEndGuessed(message) ? t.events.problemLastSeen : t.events.problemOver;
      const end: Sentence = { text: over(name, [known?.what ?? printable(message ?? "")]), tone: "plain" };
      return [[time, "recording", begin], ...(ended ? [[ended, "recording", end] as Part] : [])];
    }
    case "refusal":
      return [[time, "recording", { text: t.events.refused(name, unended(message ?? "")), tone: "bad" }]];
    case "adapter":
      return message ? [[time, "hub", { text: unended(message), tone: toneOfAdapter(code, message), adapter: CAME_OR_WENT.has(code) ? row.interface : null }]] : [];
    case "backend":
      return [[time, "hub", backendSentence(code, message ?? "")]];
    default:
      return message ? [[time, "hub", { text: printable(message), tone: "plain" }]] : [];
  }
}

/** A sentence of the hub's as a line, as those of events are. */
const unended = (message: string): string => printable(message).replace(/\.$/, "");

/** One that a recovery step has taken away comes back. */
const toneOfAdapter = (code: string | null, message: string): Sentence["tone"] =>
  code === "plugged-in" ? "plain" : code === "unplugged" && !message.includes(" went away during ") ? "bad" : "warn";

/** The same words as of the event. */
function backendSentence(state: string | null, message: string): Sentence {
  if (state === "ready") return { text: t.events.ready, tone: "good" };
  if (state === "starting") return { text: t.events.starting, tone: "plain" };
  return { text: t.events.away(unended(message.split(": ").slice(1).join(": "))), tone: "bad" };
}

/** Now and before, the newest first; an adapter that comes and goes is one line of a day. */
export function allLines(): readonly Line[] {
  const found: Line[][] = [];
  for (const line of everyLine()) {
    const last = found[found.length - 1];
    if (last?.[0]?.adapter && last[0].adapter === line.adapter && isOneDay(last[0], line)) last.push(line);
    else found.push([line]);
  }
  return found.flatMap((those) => (those.length < FLAPS ? those : flapsOf(those)));
}

const isOneDay = (one: Line, other: Line): boolean => new Date(one.time).toDateString() === new Date(other.time).toDateString();

function flapsOf(those: readonly Line[]): Line[] {
  const [line, first] = [those[0], those[those.length - 1]];
  if (!line?.adapter || !first) return [];
  return [{ ...line, tone: "bad", text: t.events.adapterFlaps(line.adapter, Math.floor(those.length / 2), minute(first.time)) }];
}

function everyLine(): readonly Line[] {
  const past = pastLines.value ?? [];
  const oldest = lines.value[lines.value.length - 1];
  const isAfter = oldest !== undefined && past[0] !== undefined && past[0].time > oldest.time;
  return isAfter ? [...lines.value, ...past].sort(byTime) : [...lines.value, ...past];
}
