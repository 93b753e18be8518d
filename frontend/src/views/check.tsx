// Before a take-off: whether the rig is ready by limits that a person chooses, what stands in the way, and what to do about it.

import { useEffect, useId, useState } from "preact/hooks";
import { check, type Finding, type Found, readiness, type Wanted } from "../check";
import { accept, accepted, forgetAccepted, keepLimits, limits } from "../check_kept";
import { linkOf } from "../camera_state";
import { command, record, recover, setClock, underWay } from "../commands";
import { t, textOf } from "../messages";
import { loadModels } from "../models";
import { batteryWords, clockWords, isOfRig, offsetWords } from "../reading";
import { firstToStop, isGrave, rig, type Tone } from "../rig";
import { adviceFor, headingFor, printable, stepWords } from "../sentences";
import { devices, isCurrent } from "../state";
import type { Camera, Device } from "../types";
import { isNarrow } from "../width";
import { DeviceActions } from "./device_actions";
import { Name } from "./parts";
import { RecordOnAll } from "./rig";
import { Sign } from "./sign";
import "./shared";
import { aboutWords } from "./where";

/** What leads out of a finding; a problem of a later version has the camera's page. */
type Cure = "connect" | "recover" | "record" | "stop" | "tell" | "clock" | "show" | "accept";
const CURES: Record<Finding, Cure> = {
  "not-connected": "connect",
  "not-answering": "recover",
  "not-recording": "record",
  "still-recording": "stop",
  "recording-unconfirmed": "tell",
  unstable: "accept",
  "too-hot": "show",
  "too-cold": "accept",
  "battery-low": "accept",
  "storage-missing": "show",
  "storage-full": "show",
  "storage-error": "show",
  "storage-slow": "accept",
  "storage-low": "accept",
  "clock-wrong": "clock",
  "recording-unknown": "accept",
  "battery-unknown": "accept",
  "storage-unknown": "accept",
  "clock-unknown": "accept",
};

/** The states in which a press begins something. */
const CONNECTABLE: ReadonlySet<string> = new Set(["asleep", "no-adapter", "off", "failed"]);

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
    : open.some((one) => isGrave(one, deviceOf(one))) ? "bad"
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
      {found.length > 0 && (
        <ul class="findings" aria-label={t.check.findings}>
          {[...open, ...waved].map((one) => (
            <Row key={keyOf(one)} found={one} device={deviceOf(one)} wanted={wanted} isAccepted={isAccepted(one)} />
          ))}
        </ul>
      )}
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

const keyOf = ({ id, code }: Found): string => `${id} ${code}`;

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

/** What a finding says, with its value: what a person has accepted is this, and nothing worse. */
function saidOf(code: Finding, { camera }: Device): string {
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
  return code ? `${headingFor(code)} ${adviceFor(code) ?? ""}` : t.check.noAttempt;
}

interface RowProps {
  found: Found;
  device: Device;
  wanted: Wanted;
  isAccepted: boolean;
}

function Row({ found, device, wanted, isAccepted }: RowProps) {
  const id = useId();
  const tone = isAccepted ? "calm" : isGrave(found, device) ? "bad" : "busy";
  const said = saidOf(found.code, device);
  return (
    <li class={tone} data-code={found.code}>
      <Sign tone={tone} />
      <div id={id}>
        <a href={`#camera/${device.id}`}>
          <Name text={device.name} />
        </a>
        <small>{aboutWords(device)}</small>
      </div>
      <div>
        <strong>{said}</strong>
        <small>{moreOf(found.code, device, wanted)}</small>
      </div>
      {isAccepted ? (
        <button type="button" aria-describedby={id} onClick={() => forgetAccepted([keyOf(found)])}>
          {t.check.takeBack}
        </button>
      ) : (
        <CureOf found={found} device={device} said={said} describedBy={id} />
      )}
    </li>
  );
}

function CureOf({ found, device, said, describedBy }: { found: Found; device: Device; said: string; describedBy: string }) {
  const cure = (textOf(CURES, found.code) as Cure | undefined) ?? "show";
  const isRecording = device.camera?.recording !== false;
  const button = (words: string, act: () => void, isCommand = true) => (
    <button
      type="button"
      class={isCommand ? "primary" : ""}
      disabled={!isCurrent.value}
      aria-busy={isCommand && underWay.value.has(device.id)}
      aria-describedby={describedBy}
      onClick={() => (isCommand && underWay.value.has(device.id)) || act()}
    >
      {words}
    </button>
  );
  if (cure === "connect" && CONNECTABLE.has(linkOf(device))) return <DeviceActions device={device} describedBy={describedBy} buttons={1} hasMenu={false} />;
  // The hub is at it: a press has it tried at once.
  if (cure === "connect" && linkOf(device) === "searching") return button(t.camera.connect, () => void command(device, "connect"));
  if (cure === "recover" && !device.recovery_step) return button(t.camera.recover, () => void recover(device));
  if (cure === "record") return button(t.camera.record, () => void record(device, true));
  if (cure === "stop") return button(t.camera.stopRecording, () => void record(device, false));
  if (cure === "tell") {
    const isOn = device.camera?.recording_requested ?? false;
    return button(isOn ? t.camera.record : t.camera.stopRecording, () => void record(device, isOn));
  }
  // It cannot be set while the camera records.
  if (cure === "clock" && !isRecording) return button(t.camera.setClock, () => void setClock(device));
  if (cure === "accept" || cure === "clock") return button(t.check.accept, () => accept(keyOf(found), said), false);
  return (
    <a class="button" href={`#camera/${device.id}`} aria-describedby={describedBy}>
      {t.check.show}
    </a>
  );
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
