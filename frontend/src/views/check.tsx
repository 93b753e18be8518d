// Before a take-off: whether the rig is ready by limits that a person chooses, what stands in the way, and what to do about it.

import { useEffect, useState } from "preact/hooks";
import { check, type Found, readiness, type Wanted } from "../check";
import { accepted, forgetAccepted, keepLimits, limits } from "../check_kept";
import { t } from "../messages";
import { loadModels } from "../models";
import { batteryWords, isOfRig, offsetWords } from "../reading";
import { firstToStop, rig, type Tone } from "../rig";
import { printable } from "../sentences";
import { devices, isCurrent } from "../state";
import type { Camera, Device } from "../types";
import { isNarrow } from "../width";
import { Findings, keyOf, needsSomebody, saidOf } from "./findings";
import { Name } from "./parts";
import { RecordOnAll } from "./rig";
import { Sign } from "./sign";
import "./shared";

export default function CheckView() {
  const wanted = limits.value;
  const expected = [...devices.value.values()].filter((one) => one.expected);
  const found = check(expected, wanted);
  const deviceOf = ({ id }: Found) => devices.value.get(id) as Device;
  const isAccepted = (one: Found) => accepted.value[keyOf(one)] === saidOf(one.code, deviceOf(one));
  const open = found.filter((one) => !isAccepted(one));
  const waved = found.filter(isAccepted);
  // What has gone would be news if it came again.
  const gone = Object.keys(accepted.value).filter((key) => {
    const device = devices.value.get(Number(key.split(" ")[0]));
    return !device || (device.connected && found.every((one) => keyOf(one) !== key));
  });
  useEffect(() => void loadModels().catch(() => undefined), []);
  useEffect(() => {
    if (isCurrent.value && gone.length > 0) forgetAccepted(gone);
  }, [gone.join()]);
  const isUnknown = rig.value.tone === "unknown";
  const { head, clauses } = readiness(expected, open, (one) => printable(one.name));
  const sentence = t.check.sentence(head, clauses);
  const tone: Tone =
    isUnknown ? "unknown"
    : expected.length === 0 ? "calm"
    : open.some((one) => needsSomebody(one, deviceOf(one))) ? "bad"
    : open.length > 0 ? "busy"
    : "good";
  const ready = expected.filter((one) => open.every(({ id }) => id !== one.id));
  const first = tone === "good" ? firstToStop(expected) : null;
  return (
    <section class={`checked ${tone}`} aria-labelledby="check-title">
      <div class="check-head" aria-live="polite">
        <Sign tone={tone} />
        <div>
          <h2 id="check-title" tabIndex={-1}>
            {!isUnknown ? sentence : expected.length > 0 ? t.rig.lastKnown(sentence) : rig.value.sentence}
          </h2>
          <p>
            {first && `${t.rig.lasts(first.seconds, first.name)} `}
            {waved.length > 0 && `${t.check.accepted(waved.length)} `}
            {!isUnknown && t.check.live}
          </p>
        </div>
      </div>
      {isNarrow.value ? (
        <details class="asked">
          <summary>{t.check.asked(asksOf(wanted))}</summary>
          <Limits wanted={wanted} />
        </details>
      ) : (
        <Limits wanted={wanted} />
      )}
      {found.length > 0 && <Findings open={open} waved={waved} wanted={wanted} />}
      {ready.length > 0 && <Ready those={ready} />}
      <div class="check-foot">
        <p>
          {t.check.asCommand} <code>{commandOf(wanted)}</code>
        </p>
        {!isNarrow.value && <RecordOnAll isChecking />}
      </div>
    </section>
  );
}

function asksOf({ recording, battery, minutes, clock }: Wanted): string[] {
  const { asks } = t.check;
  return [
    ...(recording ? [asks.recording] : []),
    ...(battery === null ? [] : [asks.battery(battery)]),
    ...(minutes === null ? [] : [asks.minutes(minutes)]),
    ...(clock === null ? [] : [asks.clock(clock)]),
  ];
}

/** The command that gives the same answer. */
function commandOf({ recording, battery, minutes, clock }: Wanted): string {
  const options = [
    recording ? "--recording" : "",
    battery === null ? "" : `--battery ${battery}`,
    minutes === null ? "" : `--minutes-left ${minutes}`,
    clock === null ? "" : `--clock-ms ${clock}`,
  ];
  return ["wifimgrctl check", ...options].filter(Boolean).join(" ");
}

const NUMBERS = { battery: 100, minutes: 100_000, clock: 100_000_000 } as const;

function Limits({ wanted }: { wanted: Wanted }) {
  const set = (change: Partial<Wanted>) => keepLimits({ ...wanted, ...change });
  const number = (name: keyof typeof NUMBERS) => <Limit key={name} name={name} value={wanted[name]} onChange={(value) => set({ [name]: value })} />;
  return (
    <form class="limits" aria-label={t.check.limits} onSubmit={(event) => event.preventDefault()}>
      <label class="check">
        <input type="checkbox" checked={wanted.recording} onChange={(event) => set({ recording: event.currentTarget.checked })} />
        {t.check.recordingNow}
      </label>
      {(Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]).map(number)}
    </form>
  );
}

function Limit({ name, value, onChange }: { name: keyof typeof NUMBERS; value: number | null; onChange: (value: number | null) => void }) {
  const [text, setText] = useState(value === null ? "" : String(value));
  const read = (typed: string) => {
    setText(typed);
    const isNumber = /^\d+$/.test(typed) && Number(typed) <= NUMBERS[name];
    if (typed === "" || isNumber) onChange(typed === "" ? null : Number(typed));
  };
  const isWrong = text !== "" && !(/^\d+$/.test(text) && Number(text) <= NUMBERS[name]);
  return (
    <label class="limit">
      {t.check.atLeast[name]}
      <input inputMode="numeric" value={text} aria-invalid={isWrong} placeholder={t.check.any} onInput={(event) => read(event.currentTarget.value)} />
      <span>{t.check.units[name]}</span>
    </label>
  );
}

/** The cameras that are ready, with the least of each value marked where they differ. */
function Ready({ those }: { those: readonly Device[] }) {
  const ordered = [...those].sort((one, other) => one.id - other.id);
  const least = (valueOf: (one: Device) => number | null | undefined) => {
    const known = ordered.flatMap((one) => valueOf(one) ?? []);
    const lowest = Math.min(...known);
    return (one: Device) => (valueOf(one) === lowest && known.some((value) => value > lowest) ? "least" : "");
  };
  const signal = least((one) => one.signal_strength);
  const battery = least((one) => one.camera?.battery_level);
  const left = least((one) => one.camera?.recording_time_left_s);
  const clock = least((one) => (one.camera?.clock_offset_ms == null ? null : -Math.abs(one.camera.clock_offset_ms)));
  const values = (camera: Camera | null) => ({
    battery: camera && batteryWords(camera),
    left: camera?.recording_time_left_s == null ? null : t.reading.remaining(camera.recording_time_left_s),
    clock: camera && offsetWords(camera),
  });
  return (
    <table class="ready-ones">
      <thead>
        <tr>
          {[t.camera.camera, t.camera.signal, t.reading.battery, t.reading.timeLeft, t.reading.clock].map((one) => (
            <th key={one} scope="col">
              {one}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {ordered.map((one) => {
          const { battery: level, left: time, clock: offset } = values(one.camera);
          return (
            <tr key={one.id}>
              <th scope="row">
                <a href={`#camera/${one.id}`}>
                  <Name text={one.name} />
                </a>
              </th>
              <td class={signal(one)}>{one.signal_strength !== null && t.reading.percent(one.signal_strength)}</td>
              <td class={battery(one)}>{level}</td>
              <td class={left(one)}>{time}</td>
              <td class={clock(one)}>{isOfRig(one) && offset}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
