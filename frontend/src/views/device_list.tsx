// Many cameras: one row each, sorted by a column, equal ones as one, and several commanded at once.

import { signal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useRef } from "preact/hooks";
import { KIND_OF, linkOf, markOf, STATES, stateOf } from "../camera_state";
import { commandMany, isFor, recordOnMany, type Verb } from "../commands";
import { t } from "../messages";
import { aboutWords } from "./where";
import { cardValue, takesCommands } from "../reading";
import { printable } from "../sentences";
import { devices, isCurrent } from "../state";
import { isNarrow } from "../width";
import type { Device } from "../types";
import { Badge } from "./badge";
import { DeviceActions, stepOf } from "./device_actions";
import { isOverview, shownOf } from "./filters";
import { type Fold, foldedOf, foldsIn, isFold } from "./folds";
import { byNeed, byText, type Compare, useOrder } from "./order";
import { BatteryLevel, Name, Signal, Unbroken } from "./parts";
import { CardValues, useIsNow } from "./reading";
import { Sparkline } from "./sparkline";
import { StateBadge } from "./state_badge";
import { troubleOf, useTrouble } from "./trouble";

type Sort = "need" | "name" | "state" | "signal" | "battery" | "card" | "address";

// Kept while other views are open.
const sort = signal<{ by: Sort; isReverse: boolean }>({ by: "need", isReverse: false });
const chosen = signal<ReadonlySet<number>>(new Set());
const unfolded = signal<ReadonlySet<string>>(new Set());

// A column is not there until it has a value; then it stays, since what is beside it does not move.
let isAnyRead = false;
let isAnyConnected = false;

const addressOf = (one: Device): string | null => (one.connected ? (one.address ?? one.camera_address) : null);

/** Up (1) or down (-1); what is not known comes last in both. */
const by =
  <Value,>(of: (one: Device) => Value | null | undefined, compare: (one: Value, other: Value) => number) =>
  (direction: 1 | -1): Compare =>
  (one, other) => {
    const [left, right] = [of(one) ?? null, of(other) ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return direction * compare(left, right);
  };

const upwards = (one: number, other: number): number => one - other;

const ORDERS: Record<Sort, (direction: 1 | -1) => Compare> = {
  need: () => byNeed,
  name: by((one) => one.name, byText),
  state: by((one) => STATES.indexOf(stateOf(one)), upwards),
  signal: by((one) => one.signal_strength, upwards),
  battery: by((one) => one.camera?.battery_level, upwards),
  card: by((one) => one.camera?.storage_free, upwards),
  address: by(addressOf, byText),
};

/** Where equals stand together: by name, or by a value, each camera is looked for by itself. */
const FOLDED: ReadonlySet<Sort> = new Set(["need", "state"]);
/** So many names of a fold are said. */
const NAMED = 4;

/** What rows have in common that are one: state, reason and step; null for a row with values of its own, or that passes. */
function foldKey(device: Device): string | null {
  const state = linkOf(device);
  const isResting = !device.connected && device.connection_status === "disconnected" && (KIND_OF[state] !== "busy" || state === "searching");
  if (!isResting || state !== stateOf(device)) return null;
  return JSON.stringify(isCurrent.value ? [state, troubleOf(device, [])?.text, stepOf(device)?.words] : [state]);
}

interface Drawn {
  device: Device;
  isPicked: boolean;
  columns: string;
  row: VNode;
}

export function DeviceList({ everyone }: { everyone: readonly Device[] }) {
  const current = isCurrent.value;
  const { by: column, isReverse } = sort.value;
  const compare = ORDERS[column](isReverse ? -1 : 1);
  const { ordered: shown, place, isHeld } = useOrder<HTMLTableSectionElement>(shownOf(everyone), compare, `${column} ${isReverse}`);
  // Another order folds at once.
  const folds = useRef<{ rule: string; of: ReadonlyMap<number, string> }>({ rule: "", of: new Map() });
  const isFolded = FOLDED.has(column) && isOverview();
  const rule = `${column} ${isFolded}`;
  const entries = isFolded ? foldedOf(shown, foldKey, folds.current.of, folds.current.rule === rule && isHeld()) : shown;
  folds.current = { rule, of: foldsIn(entries) };
  // What is commanded is what is seen: a row that the filter hides is not among the chosen.
  const picked = shown.filter((one) => chosen.value.has(one.id));
  const isAll = shown.length > 0 && picked.length === shown.length;
  const hasCameras = everyone.some((one) => one.camera);
  isAnyRead ||= everyone.some((one) => one.connected && one.camera && one.camera.read_at !== null);
  isAnyConnected ||= everyone.some((one) => one.connected);

  const pick = (ids: readonly number[], isPicked: boolean) => {
    const next = new Set([...chosen.value].filter((id) => devices.value.has(id)));
    for (const id of ids) {
      if (isPicked) next.add(id);
      else next.delete(id);
    }
    chosen.value = next;
  };
  const many = (words: string, isPossible: boolean, act: () => void) => (
    <button
      type="button"
      disabled={!current || !isPossible}
      onClick={() => {
        act();
        chosen.value = new Set();
      }}
    >
      {words}
    </button>
  );
  // Whom a command leaves out is said with its outcome.
  const run = (words: string, verb: Verb, whenFree = false) =>
    many(words, picked.some((one) => isFor(verb, one)), () => void commandMany(picked, verb, { whenFree }));
  const record = (words: string, isOn: boolean) => many(words, picked.some(takesCommands), () => void recordOnMany(isOn, picked));

  // Only rows that have changed are drawn anew: of two hundred cameras, one changes at a time.
  const drawn = useRef(new Map<number, Drawn>());
  const columns = `${isAnyRead} ${isAnyConnected}`;
  const rowOf = (device: Device) => {
    const isPicked = chosen.value.has(device.id);
    const before = drawn.current.get(device.id);
    if (before?.device === device && before.isPicked === isPicked && before.columns === columns) return before.row;
    const row = <Row key={device.id} device={device} isPicked={isPicked} onPick={(on) => pick([device.id], on)} />;
    drawn.current.set(device.id, { device, isPicked, columns, row });
    return row;
  };

  const foldRow = (fold: Fold) => {
    const isOpen = unfolded.value.has(fold.key);
    const toggle = () => {
      const next = new Set(unfolded.value);
      if (isOpen) next.delete(fold.key);
      else next.add(fold.key);
      unfolded.value = next;
    };
    const ids = fold.devices.map((one) => one.id);
    const count = ids.filter((id) => chosen.value.has(id)).length;
    const row = <FoldRow key={fold.key} fold={fold} isOpen={isOpen} count={count} onToggle={toggle} onPick={(on) => pick(ids, on)} />;
    return isOpen ? [row, ...fold.devices.map(rowOf)] : [row];
  };

  const all = <input type="checkbox" checked={isAll} onChange={() => pick(shown.map((one) => one.id), !isAll)} />;

  return (
    <>
      <div class={`chosen${picked.length ? "" : " none"}`}>
        {isNarrow.value ? (
          <label class="check">
            {all}
            <span>
              <span class="visually-hidden">{t.cameras.selectAll}, </span>
              {t.cameras.selected(picked.length)}
            </span>
          </label>
        ) : (
          <span>{t.cameras.selected(picked.length)}</span>
        )}
        {run(t.camera.connect, "connect")}
        {run(t.camera.connectWhenFree, "connect", true)}
        {run(t.camera.disconnect, "disconnect")}
        {hasCameras && record(t.camera.record, true)}
        {hasCameras && record(t.camera.stopRecording, false)}
      </div>
      <table class={`list${isAnyRead ? "" : " unread"}${isAnyConnected ? "" : " unconnected"}`} aria-labelledby="cameras-title">
        <thead>
          <tr>
            <th scope="col" class="pick">
              <label>
                {all}
                <span class="visually-hidden">{t.cameras.selectAll}</span>
              </label>
            </th>
            <Column by="name" class="in-name">{t.camera.camera}</Column>
            <Column by="state" class="in-state">{t.camera.state}</Column>
            <th scope="col" class="in-why">{t.camera.why}</th>
            {isAnyConnected && <th scope="col" class="in-hour">{t.camera.lastHour}</th>}
            {isAnyConnected && <Column by="signal" class="in-signal">{t.camera.signal}</Column>}
            {isAnyRead && <Column by="battery" class="in-battery">{t.reading.battery}</Column>}
            {isAnyRead && <Column by="card" class="in-card">{t.reading.card}</Column>}
            {isAnyConnected && <Column by="address" class="in-address">{t.camera.address}</Column>}
            <th scope="col" class="in-action">
              <span class="visually-hidden">{t.camera.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody ref={place}>
          {entries.flatMap((one) => (isFold(one) ? foldRow(one) : [rowOf(one)]))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="empty">{t.cameras.noMatches}</p>}
    </>
  );
}

/** A column that the rows can be sorted by: once up, once down, then by need again. */
function Column({ by, class: name, children }: { by: Sort; class?: string; children: ComponentChildren }) {
  const { by: chosenBy, isReverse } = sort.value;
  const isChosen = chosenBy === by;
  const next = () => {
    sort.value = !isChosen ? { by, isReverse: false } : !isReverse ? { by, isReverse: true } : { by: "need", isReverse: false };
  };
  return (
    <th scope="col" class={name} aria-sort={!isChosen ? undefined : isReverse ? "descending" : "ascending"}>
      <button type="button" class="sort" onClick={next}>
        {children}
        <span aria-hidden="true">{!isChosen ? "" : isReverse ? " ↓" : " ↑"}</span>
      </button>
    </th>
  );
}

interface RowProps {
  device: Device;
  isPicked: boolean;
  onPick: (isPicked: boolean) => void;
}

/** The columns of values beside the reason. */
const valueColumns = (): number => (isAnyConnected ? 3 : 0) + (isAnyRead ? 2 : 0);

function Row({ device, isPicked, onPick }: RowProps) {
  const trouble = useTrouble(device);
  const title = `camera-${device.id}`;
  const mark = isCurrent.value ? markOf(device) : "";
  const { connected } = device;
  // A reason takes the room of what is not there.
  const [reach, columns] = !connected ? [" alone", 1 + valueColumns()] : trouble ? [" long", 2] : ["", 1];
  return (
    <tr data-device={device.id} class={`${isPicked ? "picked" : ""} ${mark}`}>
      <td class="pick">
        <label>
          <input type="checkbox" checked={isPicked} onChange={(event) => onPick(event.currentTarget.checked)} />
          <span class="visually-hidden">
            {t.cameras.select(printable(device.name))}
          </span>
        </label>
      </td>
      <th scope="row" class="in-name">
        <span class="lines">
          <a id={title} class="whole" href={`#camera/${device.id}`} title={printable(device.name)}>
            <Name text={device.name} />
          </a>{" "}
          <span class="model">{aboutWords(device)}</span>
        </span>
      </th>
      <td class="in-state">
        <StateBadge device={device} />
      </td>
      <td class={`in-why${reach}`} colSpan={columns}>
        {trouble ? <span key={trouble.text} class={`lines ${trouble.tone}`} title={trouble.text}><Unbroken text={trouble.text} /></span>
        : isNarrow.value ? <Values key={String(connected)} device={device} />
        : device.interface && <span class="lines">{t.camera.by(device.interface, device.frequency)}</span>}
      </td>
      {connected && !trouble && <td class="in-hour"><Sparkline device={device} /></td>}
      {connected && <td class="in-signal">{device.signal_strength !== null && <Signal percent={device.signal_strength} />}</td>}
      {connected && isAnyRead && <CameraCells device={device} />}
      {connected && <td class="in-address mono">{addressOf(device)}</td>}
      <td class="in-action">
        <DeviceActions device={device} describedBy={title} buttons={isNarrow.value ? 0 : 1} />
      </td>
    </tr>
  );
}

/** On a phone, in place of the columns. */
function Values({ device }: { device: Device }) {
  return (
    <span class="values">
      {device.connected && device.signal_strength !== null && <Signal percent={device.signal_strength} />}
      <CardValues device={device} />
    </span>
  );
}

interface FoldRowProps {
  fold: Fold;
  isOpen: boolean;
  /** How many of them are chosen. */
  count: number;
  onToggle: () => void;
  onPick: (isPicked: boolean) => void;
}

/** Several cameras in one state, for one reason, with one thing to do. */
function FoldRow({ fold: { devices: those }, isOpen, count, onToggle, onPick }: FoldRowProps) {
  const [first] = those;
  if (!first) return null;
  const state = stateOf(first);
  const total = those.length;
  const isAll = count === total;
  const step = stepOf(first);
  const reason = isCurrent.value ? troubleOf(first, [])?.text : null;
  const names = t.cameras.names(those.slice(0, NAMED).map((one) => printable(one.name)), total - NAMED);
  return (
    <tr class={`fold-row${isAll ? " picked" : ""} ${isCurrent.value ? markOf(first) : ""}`}>
      <td class="pick">
        <label>
          <input type="checkbox" checked={isAll} indeterminate={count > 0 && !isAll} onChange={() => onPick(!isAll)} />
          <span class="visually-hidden">{t.cameras.selectFold(total, t.states[state])}</span>
        </label>
      </td>
      <th scope="row" class="in-name">
        <button type="button" class="unfold" aria-expanded={isOpen} onClick={onToggle}>
          <svg viewBox="0 0 12 12" aria-hidden="true">
            <path d="M4 2 8 6 4 10" />
          </svg>
          {t.cameras.several(total)}
        </button>
      </th>
      <td class="in-state">
        <Badge state={state} isCurrent={isCurrent.value} />
      </td>
      <td class="in-why alone" colSpan={1 + valueColumns()}>
        <span class="lines" title={reason ?? ""}>
          <bdi>{names}</bdi> {reason && <Unbroken text={reason} />}
        </span>
      </td>
      <td class="in-action">
        {step && !isNarrow.value && (
          <button type="button" disabled={!isCurrent.value} onClick={() => void commandMany(those, step.verb, step.options)}>
            {step.words}
            <span class="visually-hidden">{t.cameras.stepFold(total, t.states[state])}</span>
          </button>
        )}
      </td>
    </tr>
  );
}

/** Battery and card, as far as they are so now. */
function CameraCells({ device }: { device: Device }) {
  const { camera } = device;
  const isNow = useIsNow(device);
  const percent = camera && isNow ? camera.battery_level : null;
  return (
    <>
      <td class="in-battery">
        {percent !== null && (
          <BatteryLevel
            percent={percent}
            words={t.reading.percent(percent)}
            charging={camera?.battery_state === "charging" ? t.reading.andCharging : undefined}
          />
        )}
      </td>
      <td class="in-card">{camera && isNow && cardValue(camera)}</td>
    </>
  );
}
