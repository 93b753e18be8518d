// The cameras of a take: a row each, with what it recorded on one time axis, its clock, and its files. Where the axis has no
// room, and for those who cannot see it, the same in words.

import { isEndSeen } from "../losses";
import { t } from "../messages";
import { takeWords } from "../messages/takes";
import {
  type Account, absenceOf, baseOf, bytesWords, endOf, endTime, type Lane, lasted, lengthOf, offsetsOf, shortEndOf, sizeOfAll, sizeWords, ticksOf,
} from "../takes";
import { visible } from "../sentences";
import { devices } from "../state";
import { minute, second } from "../times";
import type { MissingCamera, RecordedFile, Recording } from "../types";
import { byText } from "./order";
import { Name } from "./parts";

const MINUTE_MS = 60_000;

interface Span {
  from: number;
  to: number;
}

interface LanesProps extends Span {
  account: Account;
  labelledBy: string;
}

/** While it runs, those that do not record any more come first. */
const inOrder = ({ lanes, isRunning }: Account): Lane[] =>
  [...lanes].sort(
    (one, other) => Number(isRunning && one.state === "recording") - Number(isRunning && other.state === "recording") || byText(one.name, other.name) || one.begun - other.begun,
  );

// The table's parts have their roles, since on a phone the browser does not take them for a table.
export function Lanes({ account, from, to, labelledBy }: LanesProps) {
  const lanes = inOrder(account);
  const names = [...lanes.map((one) => one.name), ...account.missing.map((one) => one.device_name ?? "")];
  const isTwice = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  const ticks = ticksOf(from, to, -MINUTE_MS * new Date(from).getTimezoneOffset());
  const tickWords = (ticks[1]?.time ?? 0) - (ticks[0]?.time ?? 0) < MINUTE_MS ? second : minute;
  return (
    <table class="takes-lanes" role="table" aria-labelledby={labelledBy}>
      <thead role="rowgroup">
        <tr role="row">
          <th scope="col" role="columnheader" class="in-name">
            {t.camera.camera}
          </th>
          <th scope="col" role="columnheader">
            <span class="visually-hidden">{takeWords.recorded}</span>
            <span class="axis" aria-hidden="true">
              {ticks.map((one) => (
                <time key={one.time} style={{ left: percent(one.at) }}>
                  {tickWords(new Date(one.time))}
                </time>
              ))}
            </span>
          </th>
          <th scope="col" role="columnheader" class="in-offset" title={takeWords.offsetHint}>
            {takeWords.clockOffset}
          </th>
          <th scope="col" role="columnheader" class="in-files">
            {takeWords.files}
          </th>
          <th scope="col" role="columnheader" class="in-size">
            {takeWords.size}
          </th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {lanes.map((lane) => (
          <LaneRow key={lane.key} lane={lane} from={from} to={to} ticks={ticks} isRunning={account.isRunning} isNamedTwice={isTwice(lane.name)} />
        ))}
        {account.missing.map((one, index) => (
          <MissingRow key={`missing ${one.device_id ?? index}`} camera={one} />
        ))}
      </tbody>
    </table>
  );
}

const percent = (part: number): string => `${(100 * Math.min(1, Math.max(0, part))).toFixed(2)}%`;

/** A label where the column's own is not seen. */
const Label = ({ words }: { words: string }) => (
  <span class="label" aria-hidden="true">
    {words}
  </span>
);

interface LaneRowProps extends Span {
  lane: Lane;
  ticks: readonly { time: number; at: number }[];
  /** Whether its take runs. */
  isRunning: boolean;
  isNamedTwice: boolean;
}

function LaneRow({ lane, from, to, ticks, isRunning, isNamedTwice }: LaneRowProps) {
  const serial = lane.parts.map((one) => one.serial_number).find((one) => one !== null);
  return (
    <tr role="row" data-state={lane.state}>
      <th scope="row" role="rowheader" class="in-name">
        <Name text={lane.name} />
        {isNamedTwice && serial && (
          <small>
            <bdi>{takeWords.serial(visible(serial))}</bdi>
          </small>
        )}
      </th>
      <td role="cell">
        <div class="axis" aria-hidden="true">
          {ticks.map((one) => (
            <i key={one.time} style={{ left: percent(one.at) }} />
          ))}
          <Bars lane={lane} from={from} to={to} />
        </div>
        <ol class="in-words">
          {lane.parts.map((one) => (
            <li key={one.id}>{partWords(one, lane, to)}</li>
          ))}
        </ol>
      </td>
      <td role="cell" class="in-offset">
        <Label words={takeWords.clockOffset} />
        <span>
          {offsetsOf(lane).map((one) => (
            <span key={one} class="each">
              {one}
            </span>
          ))}
        </span>
      </td>
      <td role="cell" class="in-files">
        <Label words={takeWords.files} />
        <Files lane={lane} isRunning={isRunning} />
      </td>
      <td role="cell" class="in-size">
        <Label words={takeWords.size} />
        <Size lane={lane} isRunning={isRunning} />
      </td>
    </tr>
  );
}

function partWords(part: Recording, { state }: Lane, now: number): string {
  const from = second(part.time);
  if (part.ended !== null) return takeWords.part(from, endTime(part, second), lengthOf(part), endOf(part));
  return state === "recording" ? takeWords.partRunning(from, lasted(Date.parse(part.time), now)) : takeWords.partUnknown(from);
}

/** What a camera recorded, the mark of an end that nobody wanted, and what is missing from there on. */
function Bars({ lane, from, to }: { lane: Lane } & Span) {
  const span = Math.max(1, to - from);
  const part = (time: number) => Math.min(1, Math.max(0, (time - from) / span));
  const place = (begin: number, end: number) => ({ left: percent(part(begin)), width: percent(part(end) - part(begin)) });
  const last = lane.parts[lane.parts.length - 1];
  return (
    <>
      {lane.parts.map((one) => {
        const [begin, end] = [Date.parse(one.time), one.ended === null ? to : Date.parse(one.ended)];
        const isUnsure = one.ended === null ? lane.state === "unknown" : !isEndSeen(one.message);
        const kind = isUnsure ? " unsure" : one.ended === null ? " running" : "";
        return (
          <b key={one.id} class={`recorded${kind}`} style={place(begin, end)}>
            <span>{one.ended !== null ? lengthOf(one) : isUnsure ? takeWords.unsure : lasted(begin, end)}</span>
          </b>
        );
      })}
      {last && lane.state === "cut" && lane.ended !== null && (
        <b class="absent" style={place(lane.ended, to)}>
          <span>{shortEndOf(last)}</span>
        </b>
      )}
      {last && lane.ended !== null && endOf(last) !== "" && (
        <b class="end" style={{ left: percent((lane.ended - from) / span) }}>
          <svg viewBox="0 0 12 12">
            <path d="M6 1.2a4.8 4.8 0 1 1 0 9.6 4.8 4.8 0 0 1 0-9.6M2.7 9.3 9.3 2.7" />
          </svg>
        </b>
      )}
    </>
  );
}

/** Nothing was recorded, and so there is nothing to say of clock and files. */
const MissingRow = ({ camera }: { camera: MissingCamera }) => (
  <tr role="row" data-state="missing">
    <th scope="row" role="rowheader" class="in-name">
      <Name text={camera.device_name ?? ""} />
    </th>
    <td role="cell">
      <div class="axis">
        <b class="absent" style={{ left: "0%", width: "100%" }}>
          <span>{takeWords.missing(absenceOf(camera))}</span>
        </b>
      </div>
    </td>
    <td role="cell" class="in-offset" />
    <td role="cell" class="in-files" />
    <td role="cell" class="in-size" />
  </tr>
);

/** The first file, and all of them once they are asked for. */
function Files({ lane: { parts }, isRunning }: { lane: Lane; isRunning: boolean }) {
  const files = parts.flatMap((one) => one.files ?? []);
  const without = parts.filter((one) => one.files === null).length;
  const [first] = files;
  if (!first) return <span>{without === 0 ? takeWords.noFiles : isRunning ? takeWords.filesNotYetKnown : takeWords.filesNotKnown}</span>;
  const rest = without > 0 && <small>{takeWords.filesOfSome(without, parts.length)}</small>;
  if (files.length === 1) {
    return (
      <span title={visible(first.name)}>
        <FileName file={first} />
        {rest}
      </span>
    );
  }
  return (
    <div>
      <details>
        <summary>
          <FileName file={first} />
          {takeWords.firstOf(files.length)}
        </summary>
        <ul>
          {files.map((one, index) => (
            <li key={index}>
              <span class="mono">
                <Name text={one.name} />
              </span>
              {one.size !== null && <> {bytesWords(one.size)}</>}
            </li>
          ))}
        </ul>
      </details>
      {rest}
    </div>
  );
}

const FileName = ({ file }: { file: RecordedFile }) => <Name text={baseOf(file.name)} />;

function Size({ lane: { id, parts, ended, state }, isRunning }: { lane: Lane; isRunning: boolean }) {
  const device = id === null ? undefined : devices.value.get(id);
  const freeNow = state === "recording" ? (device?.camera?.storage_free ?? null) : null;
  const size = sizeOfAll(parts, freeNow);
  return <span>{size ? sizeWords(size, ended === null) : isRunning ? takeWords.filesNotYetKnown : takeWords.filesNotKnown}</span>;
}
