// What a camera says of itself: for how long it has recorded, battery, card, and what is wrong with it.

import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { isRecordingTrouble, linkOf } from "../camera_state";
import { setClock, underWay } from "../commands";
import { hubTime } from "../hub_clock";
import { t } from "../messages";
import { batteryWords, cardValue, cardWords, clockWords, isFresh, type ProblemWords, problemsOf, recordingLabel, runningTime, sizeOf, timeLeft } from "../reading";
import { isCurrent } from "../state";
import { moment } from "../times";
import type { Camera, Device } from "../types";
import { BatteryLevel, Name, Stat } from "./parts";

/** Whether what a camera has said is so now. Drawn anew only when that changes, though time passes. */
export function useIsNow(device: Device): boolean {
  const { camera } = device;
  const isConnected = isCurrent.value && linkOf(device) === "connected";
  const isNow = useMemo(() => computed(() => isConnected && camera !== null && isFresh(camera, hubTime.value)), [isConnected, camera]);
  return isNow.value;
}

/** A value that is no longer known to be so has its time. */
const withTime = (words: string | null, { read_at }: Camera, isNow: boolean): string | null =>
  words === null || isNow || read_at === null ? words : t.reading.at(words, moment(read_at));

/** What a badge says of it, second by second; empty while it is not known to record. */
export function useRecordingLabel(device: Device): ReadonlySignal<string> {
  const isNow = useIsNow(device);
  return useMemo(() => computed(() => (isNow ? recordingLabel(device, hubTime.value) : "")), [isNow, device]);
}

/** That a camera recorded when it was last read. */
export function WasRecording({ device }: { device: Device }) {
  const { camera } = device;
  const isNow = useIsNow(device);
  if (!camera?.recording || isNow || camera.read_at === null) return null;
  return <small class="was-recording">{t.reading.wasRecording(moment(camera.read_at))}</small>;
}

/** Battery, and what the card allows. What is old has the time of both at its end; that it recorded then comes before the card. */
export function CardValues({ device }: { device: Device }) {
  const { camera } = device;
  const isNow = useIsNow(device);
  if (!camera) return null;
  const battery = camera.battery_level === null ? null : t.reading.percent(camera.battery_level);
  // Beside a signal there is no room for what was left at another time.
  const value = isNow || !device.connected ? cardValue(camera) : null;
  const readAt = isNow ? null : camera.read_at;
  const wasRecording = camera.recording === true && readAt !== null;
  const card = wasRecording ? t.reading.wasRecording(moment(readAt)) : withTime(value, camera, isNow);
  return (
    <>
      {battery !== null && (
        <BatteryLevel
          percent={camera.battery_level}
          words={card === null ? (withTime(battery, camera, isNow) ?? "") : battery}
          charging={camera.battery_state === "charging" ? t.reading.andCharging : undefined}
        />
      )}
      {card !== null && (
        <span class={wasRecording ? "was-recording" : `memory${isNow && camera.storage_state !== null && camera.storage_state !== "ok" ? " why" : ""}`}>{card}</span>
      )}
    </>
  );
}

/** The same, each with its name and in large, and for how long it records. */
export function ReadingTiles({ device }: { device: Device }) {
  const { camera } = device;
  const isNow = useIsNow(device);
  if (!camera) return null;
  const battery = withTime(batteryWords(camera), camera, isNow);
  const card = withTime(cardWords(camera), camera, isNow);
  const left = timeLeft(camera);
  return (
    <>
      {isNow && camera.recording && (
        <Stat title={t.reading.recording} note={camera.recording_since && t.reading.since(moment(camera.recording_since))}>
          <span class="recording-now">
            <Running device={device} />
          </span>
        </Stat>
      )}
      {battery !== null && (
        <Stat title={t.reading.battery}>
          <BatteryLevel percent={camera.battery_level} words={battery} />
        </Stat>
      )}
      {card !== null && (
        <Stat title={t.reading.card} note={isNow && left !== null ? t.reading.left(left) : null}>
          <span class="memory">{card}</span>
        </Stat>
      )}
    </>
  );
}

/** For how long it has recorded, second by second. */
function Running({ device }: { device: Device }) {
  return <>{runningTime(device.camera, hubTime.value)}</>;
}

/** What is wrong with a camera now, as far as it is known to be so. What stands as its state does so also where the camera
 * was not read for long: that may be what is wrong. */
export function useProblems(device: Device): ProblemWords[] {
  const { camera } = device;
  const isNow = useIsNow(device);
  if (!camera || !isCurrent.value) return [];
  const found = problemsOf(camera);
  return isNow ? found : found.filter(({ code }) => isRecordingTrouble(code));
}

/** What is wrong with a camera now: one line each, with what to do. */
export function CameraProblems({ device }: { device: Device }) {
  const problems = useProblems(device);
  if (problems.length === 0) return null;
  return (
    <div class="trouble">
      {problems.map(({ code, what, advice }) => (
        <p key={code} data-problem={code}>
          <strong>{what}</strong> {advice}
        </p>
      ))}
    </div>
  );
}

/** All else that it says, and its clock, for its own page. */
export function Reading({ device }: { device: Device }) {
  const { camera } = device;
  const isNow = useIsNow(device);
  if (!camera) return null;
  const { storage_total: size, temperature_state: temperature } = camera;
  const facts: [string, string | null][] = [
    // In large it stands above as long as it is so.
    [t.reading.timeLeft, isNow ? null : withTime(timeLeft(camera), camera, isNow)],
    [t.reading.cardSize, size === null ? null : t.reading.gigabytes(sizeOf(size))],
    [t.reading.temperature, withTime(temperature && t.reading.temperatures[temperature], camera, isNow)],
    [t.reading.clock, withTime(clockWords(camera), camera, isNow)],
    [t.reading.model, camera.model],
    [t.reading.serialNumber, camera.serial_number],
    [t.reading.firmware, camera.firmware_version],
  ];
  const known = facts.filter((one): one is [string, string] => one[1] !== null);
  if (known.length === 0 && !device.connected) return null;
  return (
    <section class="panel" aria-labelledby="reading-title">
      <h3 id="reading-title">{t.reading.title}</h3>
      <dl class="facts">
        {known.map(([name, words]) => (
          <Fact key={name} name={name} words={words} />
        ))}
      </dl>
      {device.connected && <SetClock device={device} isRecording={camera.recording === true} />}
    </section>
  );
}

const Fact = ({ name, words }: { name: string; words: string }) => (
  <>
    <dt>{name}</dt>
    <dd>
      <Name text={words} />
    </dd>
  </>
);

function SetClock({ device, isRecording }: { device: Device; isRecording: boolean }) {
  const isUnderWay = underWay.value.has(device.id);
  return (
    <div class="actions">
      <button
        type="button"
        disabled={!isCurrent.value || isRecording}
        aria-busy={isUnderWay}
        aria-describedby={isRecording ? "clock-obstacle" : "reading-title"}
        onClick={() => {
          if (!isUnderWay) void setClock(device);
        }}
      >
        {isUnderWay && <span class="spinner" aria-hidden="true" />}
        {t.camera.setClock}
      </button>
      {isRecording && <small id="clock-obstacle">{t.reading.notWhileRecording}</small>}
    </div>
  );
}
