// What stands in the way, a row each, with what leads out of it. Equal rows are one.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { type Kind, KIND_OF, linkOf } from "../camera_state";
import type { Finding, Found, Wanted } from "../check";
import { accept, forgetAccepted } from "../check_kept";
import { commandMany, record, recordOnMany, recover, setClock, underWay } from "../commands";
import { t, textOf } from "../messages";
import { batteryWords, clockWords, STOPS_RECORDING } from "../reading";
import { isGrave } from "../rig";
import { adviceFor, capitalised, headingFor, printable, stepWords } from "../sentences";
import { devices, isCurrent, service } from "../state";
import type { Device } from "../types";
import { DeviceActions, stepOf } from "./device_actions";
import { LEAST } from "./folds";
import { Name } from "./parts";
import { Sign } from "./sign";
import { troubleOf } from "./trouble";
import { aboutWords } from "./where";

/** What leads out of a finding by a press. */
interface Press {
  words: string;
  act: (row: Row) => void;
  /** The same for several at once, if it can be. */
  forMany?: (rows: readonly Row[]) => void;
  look: "cure" | "";
  /** A command waits for the one before it. */
  isCommand: boolean;
}

/** The step that the camera's card has, a press, or the camera's own page. */
type Cure = "card" | "page" | Press;

interface Row {
  key: string;
  found: Found;
  device: Device;
  isAccepted: boolean;
  tone: "bad" | "busy" | "calm";
  said: string;
  /** Why, or what to do. */
  more: string;
  cure: Cure;
}

const toRecord = (isOn: boolean): Press => ({
  words: isOn ? t.camera.record : t.camera.stopRecording,
  act: ({ device }) => void record(device, isOn),
  forMany: (rows) => void recordOnMany(isOn, rows.map((one) => one.device)),
  look: isOn ? "cure" : "",
  isCommand: true,
});
const RECOVER: Press = { words: t.camera.recover, act: ({ device }) => void recover(device), look: "cure", isCommand: true };
const SET_CLOCK: Press = { words: t.camera.setClock, act: ({ device }) => void setClock(device), look: "cure", isCommand: true };
const acceptAll = (rows: readonly Row[]) => rows.forEach(({ found, said }) => accept(keyOf(found), said));
const ACCEPT: Press = { words: t.check.accept, act: (row) => acceptAll([row]), forMany: acceptAll, look: "", isCommand: false };
const takeBackAll = (rows: readonly Row[]) => forgetAccepted(rows.map(({ found }) => keyOf(found)));
const TAKE_BACK: Press = { words: t.check.takeBack, act: (row) => takeBackAll([row]), forMany: takeBackAll, look: "", isCommand: false };

/** A problem of a later version has the camera's page. */
const CURES: Record<Finding, Cure | ((device: Device) => Cure)> = {
  // What ends a search or a wait leads nowhere.
  "not-connected": (device) => (stepOf(device)?.verb === "disconnect" ? "page" : "card"),
  "not-answering": (device) => (device.recovery_step ? "page" : RECOVER),
  "not-recording": toRecord(true),
  "still-recording": toRecord(false),
  "recording-unconfirmed": ({ camera }) => toRecord(camera?.recording_requested ?? false),
  unstable: ACCEPT,
  "too-hot": "page",
  "too-cold": ACCEPT,
  "battery-low": ACCEPT,
  "storage-missing": "page",
  "storage-full": "page",
  "storage-error": "page",
  "storage-slow": ACCEPT,
  "storage-low": ACCEPT,
  // It cannot be set while the camera records.
  "clock-wrong": ({ camera }) => (camera?.recording === false ? SET_CLOCK : ACCEPT),
  "recording-unknown": ACCEPT,
  "battery-unknown": ACCEPT,
  "storage-unknown": ACCEPT,
  "clock-unknown": ACCEPT,
};

function cureOf({ code }: Found, device: Device): Cure {
  const cure = (textOf(CURES, code) as (typeof CURES)[Finding] | undefined) ?? "page";
  return typeof cure === "function" ? cure(device) : cure;
}

const OF_THE_LINK: ReadonlySet<Finding> = new Set(["not-connected", "not-answering"]);
const PASSING: ReadonlySet<Kind> = new Set(["busy", "waits"]);

/** Whether a finding needs a person: what the hub is at by itself, or waits for, does not yet. */
export const needsSomebody = (one: Found, device: Device): boolean =>
  isGrave(one, device) && !(OF_THE_LINK.has(one.code) && PASSING.has(KIND_OF[linkOf(device)]));

export const keyOf = ({ id, code }: Found): string => `${id} ${code}`;

/** What a finding says, with its value: what a person has accepted is this, and nothing worse. */
export function saidOf(code: Finding, { camera }: Device): string {
  if (camera && code === "battery-low") return t.check.battery(batteryWords(camera) ?? "");
  if (camera && code === "storage-low" && camera.recording_time_left_s !== null) return t.check.left(camera.recording_time_left_s);
  if (camera && code === "clock-wrong") return t.check.clock(clockWords(camera) ?? "");
  return textOf<string>(t.check.what, code) ?? textOf(t.problems, code)?.what ?? t.check.other;
}

/** Why, or what to do; beside a limit that was asked for, the limit. */
function moreOf(code: Finding, device: Device, { battery, minutes, clock }: Wanted): string {
  if (code === "not-connected") return whyAway(device);
  if (code === "not-answering") return device.recovery_step ? t.trouble.recovering(stepWords(device.recovery_step)) : t.trouble.notAnsweringAdvice;
  if (code === "battery-low" && battery !== null) return t.check.askedBattery(battery);
  if (code === "storage-low" && minutes !== null) return t.check.askedMinutes(minutes);
  if (code === "clock-wrong" && clock !== null) return t.check.askedClock(clock);
  if (code === "not-recording" && !device.camera?.problems.includes(code)) return t.check.askedRecording;
  return textOf(t.problems, code)?.advice ?? t.check.lookAtIt;
}

function whyAway(device: Device): string {
  const state = linkOf(device);
  if (state === "connecting" || state === "waking" || state === "recovering") return t.check.beingConnected;
  if (state === "waiting") return t.trouble.waitingAdvice;
  if (state === "asleep") return t.trouble.asleep;
  const code = device.connection_error_code;
  if (!code) return t.check.noAttempt;
  // Whether an adapter is free now is of both.
  if (state === "searching" || (state === "no-adapter" && isCurrent.value)) return troubleOf(device, [])?.text ?? headingFor(code);
  return `${headingFor(code)} ${adviceFor(code)}`;
}

/** The rows, with one for a camera that does not record and for what stops it. */
function rowsOf(those: readonly Found[], wanted: Wanted, isAccepted: boolean): Row[] {
  const silent = new Set(those.filter(({ code }) => code === "not-recording").map(({ id }) => id));
  const causes = new Map<number, Finding>();
  for (const { id, code } of those) if (silent.has(id) && STOPS_RECORDING.has(code) && !causes.has(id)) causes.set(id, code);
  return those.flatMap((found) => {
    const device = devices.value.get(found.id);
    const cause = causes.get(found.id);
    if (!device || cause === found.code) return [];
    const isStopped = found.code === "not-recording" && cause !== undefined;
    const isBad = isStopped || needsSomebody(found, device);
    const said = saidOf(found.code, device);
    const more = isStopped ? `${saidOf(cause, device)} ${moreOf(cause, device, wanted)}` : moreOf(found.code, device, wanted);
    const cure = isAccepted ? TAKE_BACK : isStopped ? "page" : cureOf(found, device);
    const tone = isAccepted ? "calm" : isBad ? "bad" : "busy";
    const step = cure === "card" ? stepOf(device)?.words : cure === "page" ? cure : cure.words;
    return { key: JSON.stringify([found.code, tone, said, more, step]), found, device, isAccepted, tone, said, more, cure };
  });
}

/** Why no camera can be connected at all, as long as that is so. */
function outage(): Pick<Row, "said" | "more"> | null {
  const { backend_state: state, backend_reason: reason } = service.value ?? { backend_state: "ready", backend_reason: "" };
  if (state === "ready") return null;
  return { said: state === "starting" ? t.hub.isStarting : t.hub.cannotConnect, more: reason && `${capitalised(reason)}.` };
}

const OUTAGE = "outage";

interface Group {
  key: string;
  rows: Row[];
  said: string;
  more: string;
}

/** Equal rows in the place of the first; what an outage has cost is equal. */
function groupsOf(rows: readonly Row[]): (Row | Group)[] {
  const away = outage();
  const groups = new Map<string, Group>();
  const placed = rows.map((row) => {
    const isLost = away && row.found.code === "not-connected";
    const key = isLost ? OUTAGE : row.key;
    const group = groups.get(key) ?? { key, rows: [], ...(isLost ? away : { said: row.said, more: row.more }) };
    group.rows.push(row);
    groups.set(key, group);
    return { row, group };
  });
  return placed.flatMap<Row | Group>(({ row, group }) => {
    if (away && group.key === OUTAGE && group.rows.length === 1) return { ...row, ...away, cure: "page" };
    if (group.key !== OUTAGE && group.rows.length < LEAST) return row;
    return group.rows[0] === row ? group : [];
  });
}

const unfolded = signal<ReadonlySet<string>>(new Set());

function toggle(key: string): void {
  const next = new Set(unfolded.value);
  if (!next.delete(key)) next.add(key);
  unfolded.value = next;
}

export function Findings({ open, waved, wanted }: { open: readonly Found[]; waved: readonly Found[]; wanted: Wanted }) {
  const rows = [...rowsOf(open, wanted, false), ...rowsOf(waved, wanted, true)];
  const single = (row: Row) => <Single key={keyOf(row.found)} row={row} />;
  return (
    <ul class="findings" aria-label={t.check.findings}>
      {groupsOf(rows).flatMap((one) => {
        if ("found" in one) return [single(one)];
        const isOpen = unfolded.value.has(one.key);
        const fold = <Several key={one.key} group={one} isOpen={isOpen} />;
        return isOpen ? [fold, ...one.rows.map(single)] : [fold];
      })}
    </ul>
  );
}

interface LineProps extends Pick<Row, "tone" | "said" | "more"> {
  code: string;
  class?: string;
  /** Whose name describes the button. */
  id: string;
  who: ComponentChildren;
  /** The button. */
  children: ComponentChildren;
}

function Line({ tone, said, more, code, class: name = "", id, who, children }: LineProps) {
  return (
    <li class={[tone, name].filter(Boolean).join(" ")} data-code={code}>
      <Sign tone={tone} />
      <div id={id}>{who}</div>
      <div>
        <strong>{said}</strong>
        <small>{more}</small>
      </div>
      {children}
    </li>
  );
}

function Single({ row }: { row: Row }) {
  const { device, cure, found } = row;
  const id = useId();
  const who = (
    <>
      <a href={`#camera/${device.id}`}>
        <Name text={device.name} />
      </a>
      <small>{aboutWords(device)}</small>
    </>
  );
  return (
    <Line {...row} code={found.code} id={id} who={who}>
      {cure === "card" ? (
        <DeviceActions device={device} describedBy={id} buttons={1} hasMenu={false} />
      ) : cure === "page" ? (
        <a class="button" href={`#camera/${device.id}`} aria-describedby={id}>
          {t.check.show}
        </a>
      ) : (
        <Button press={cure} rows={[row]} act={() => cure.act(row)} describedBy={id} />
      )}
    </Line>
  );
}

/** So many names are said. */
const NAMED = 4;

/** Several cameras with one finding, for one reason, with one thing to do. */
function Several({ group: { key, rows, said, more }, isOpen }: { group: Group; isOpen: boolean }) {
  const id = useId();
  const [first] = rows;
  if (!first) return null;
  const names = rows.slice(0, NAMED).map(({ device }) => printable(device.name));
  const who = (
    <>
      <button type="button" class="unfold" aria-expanded={isOpen} onClick={() => toggle(key)}>
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <path d="M4 2 8 6 4 10" />
        </svg>
        {t.cameras.several(rows.length)}
      </button>
      <small>
        <bdi>{t.cameras.names(names, rows.length - names.length)}</bdi>
      </small>
    </>
  );
  const tone = key === OUTAGE ? "bad" : first.tone;
  return (
    <Line tone={tone} said={said} more={more} code={first.found.code} class="several" id={id} who={who}>
      {key !== OUTAGE && <ForAll rows={rows} describedBy={id} />}
    </Line>
  );
}

/** What is done with all of them at once, if it can be. */
function ForAll({ rows, describedBy }: { rows: readonly Row[]; describedBy: string }) {
  const [first] = rows;
  if (!first || first.cure === "page") return null;
  if (first.cure !== "card") {
    const { forMany } = first.cure;
    return forMany ? <Button press={first.cure} rows={rows} act={() => forMany(rows)} describedBy={describedBy} /> : null;
  }
  const step = stepOf(first.device);
  if (!step) return null;
  const those = rows.map((one) => one.device);
  const press = { words: step.words, look: "cure", isCommand: true } as const;
  return <Button press={press} rows={rows} act={() => void commandMany(those, step.verb, step.options)} describedBy={describedBy} />;
}

interface ButtonProps {
  press: Pick<Press, "words" | "look" | "isCommand">;
  rows: readonly Row[];
  act: () => void;
  describedBy: string;
}

function Button({ press, rows, act, describedBy }: ButtonProps) {
  const isUnderWay = press.isCommand && rows.some(({ device }) => underWay.value.has(device.id));
  return (
    <button
      type="button"
      class={press.look}
      disabled={press !== TAKE_BACK && !isCurrent.value}
      aria-busy={isUnderWay}
      aria-describedby={describedBy}
      onClick={() => isUnderWay || act()}
    >
      {press.words}
    </button>
  );
}
