// A camera's tile on the wall: its name, its state or for how long it has recorded, why, and what stops next.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { CameraState } from "../camera_state";
import { hubTime } from "../hub_clock";
import { t } from "../messages";
import { runningTime } from "../reading";
import { printable } from "../sentences";
import { isCurrent } from "../state";
import type { Device } from "../types";
import { type Others, tileOf, type TileWords } from "../wall";
import { Shape } from "./badge";
import { BatteryLevel, Name } from "./parts";
import { useIsNow } from "./reading";
import type { Mark } from "./wall_moving";

/** More letters than one line has on the smallest tile; those of some scripts are as wide as two. */
const LINE = 18;
const WIDE_FROM = 0x1100;
const widthOf = (name: string): number => [...name].reduce((sum, one) => sum + ((one.codePointAt(0) ?? 0) < WIDE_FROM ? 1 : 2), 0);

export function WallTile({ device, mark }: { device: Device; mark: Mark }) {
  const isNow = useIsNow(device);
  const { look, shape, word, reason, battery, left } = tileOf(device, isCurrent.value, isNow);
  const title = `wall-${device.id}`;
  const name = printable(device.name);
  return (
    <li
      class={`wall-tile${widthOf(name) > LINE ? " long" : ""}`}
      data-look={look}
      data-device={device.id}
      data-mark={mark}
      tabIndex={0}
      aria-labelledby={title}
      aria-describedby="wall-hint"
    >
      <div class="wall-in">
        <h2 id={title} title={name}>
          <Name text={device.name} />
        </h2>
        <State shape={shape} word={word} device={device} />
        <div class="wall-foot">
          {reason && <p>{reason}</p>}
          {(battery || left) && <Values battery={battery} left={left} isNow={isNow} />}
        </div>
      </div>
    </li>
  );
}

/** In large: the word, or, of a camera that says since when it records, for how long it has. */
function State({ shape, word, device }: { shape: CameraState | "recording"; word: string; device: Device }) {
  const time = useMemo(() => computed(() => runningTime(device.camera, hubTime.value)), [device.camera]);
  const hasTime = shape === "recording" && device.camera?.recording_since != null;
  return (
    <p class={`wall-state ${hasTime ? "time" : "word"}`}>
      {shape === "recording" ? <Dot /> : <Shape state={shape} />}
      <span class={hasTime ? "visually-hidden" : ""}>{word}</span>
      {hasTime && <span>{time}</span>}
    </p>
  );
}

const Dot = () => (
  <svg class="shape" data-shape="recording" viewBox="0 0 12 12" aria-hidden="true">
    <circle cx="6" cy="6" r="5" />
  </svg>
);

function Values({ battery, left, isNow }: Pick<TileWords, "battery" | "left"> & { isNow: boolean }) {
  return (
    <p class={`wall-values${isNow ? "" : " old"}`}>
      {battery && (
        <span class={battery.isLow ? "low" : ""}>
          <BatteryLevel percent={battery.percent} words={t.reading.percent(battery.percent)} />
        </span>
      )}
      {left && (
        <span class={left.isLow ? "low" : ""}>
          <strong>{t.wall.left(left.seconds)}</strong> {t.wall.leftUnit}
        </span>
      )}
    </p>
  );
}

/** The last tile where there are more cameras than tiles: how those are that have none. */
export function OthersTile({ others: { total, needy, recording, connected } }: { others: Others }) {
  const current = isCurrent.value;
  const rest = total - needy.length - recording;
  return (
    <li class="wall-tile others" data-look={!current ? "unknown" : needy.length > 0 ? "act" : connected > 0 ? "plain" : "rest"} aria-labelledby="wall-others">
      <div class="wall-in">
        <h2 id="wall-others">{t.wall.others(total)}</h2>
        <p class="wall-state word">
          {!current ? <Shape state="recording-unconfirmed" /> : needy.length > 0 ? <Shape state="not-answering" /> : recording > 0 && <Dot />}
          <span>
            {!current ? t.unknown
            : needy.length > 0 ? t.wall.need(needy.length)
            : recording > 0 ? t.wall.record(recording)
            : t.wall.connected(connected)}
          </span>
        </p>
        <div class="wall-foot">
          {current && needy.length > 0 && <p>{needy.map(printable).join(", ")}</p>}
          {current && needy.length === 0 && recording > 0 && rest > 0 && <p>{t.wall.doNot(rest)}</p>}
        </div>
      </div>
    </li>
  );
}
