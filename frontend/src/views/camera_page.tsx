// One camera's own page: what it is, how it is, what happened to it, and all that can be done with it.

import { useEffect, useRef, useState } from "preact/hooks";
import { deviceAddress, Problem, request } from "../api";
import { t } from "../messages";
import { loadModels, modelName } from "../models";
import { endWords } from "../reading";
import { adviceFor, detailOf, headingFor, printable } from "../sentences";
import { devices, samples } from "../state";
import type { Device, HistoryRow } from "../types";
import { StateBadge } from "./state_badge";
import { DeviceActions } from "./device_actions";
import { Facts, Progress } from "./device_card";
import { pinWords } from "./device_forms";
import { Faults, moment, Name } from "./parts";
import { CameraProblems, Reading, WasRecording } from "./reading";
import { Code, Trouble } from "./trouble";

const ROWS = 200;
const LISTED = 30;
const DAY_MS = 86_400_000;
const LINE_MS = 300_000;
const REDRAW_MS = 2_000;

export function CameraPage({ id }: { id: number }) {
  const device = devices.value.get(id);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    void loadModels().catch(() => undefined);
    title.current?.focus();
    scrollTo(0, 0);
  }, [id, device === undefined]);
  useEffect(() => {
    if (device) document.title = `${printable(device.name)} – ${t.hub.title}`;
    return () => void (document.title = t.hub.title);
  }, [device?.name]);
  return (
    <article class="camera-page" aria-labelledby="camera-title">
      <p>
        <a href="#cameras">{t.camera.back}</a>
      </p>
      {device ? (
        <>
          <div class="camera-head">
            {device.device_type_icon_url && <img src={device.device_type_icon_url.replace(/^\//, "")} alt="" />}
            <div>
              <h2 id="camera-title" ref={title} tabIndex={-1}>
                <Name text={device.name} />
              </h2>
              {modelName(device.codename)}
            </div>
            <StateBadge device={device} />
          </div>
          <State device={device} />
          <Reading device={device} />
          <SignalLine device={device} />
          <Past device={device} />
        </>
      ) : (
        <h2 id="camera-title" ref={title} tabIndex={-1}>
          {t.camera.gone}
        </h2>
      )}
    </article>
  );
}

function State({ device }: { device: Device }) {
  const address = device.connected ? (device.address ?? device.camera_address) : null;
  return (
    <section class="panel" aria-label={t.camera.state} data-device={device.id}>
      <Progress device={device} />
      <WasRecording device={device} />
      <dl class="facts">
        <dt>{t.camera.network}</dt>
        <dd>
          <Name text={device.connection_settings.ssid} />
        </dd>
        <Facts device={device} />
        {!device.connected && device.last_seen && (
          <>
            <dt>{t.camera.lastSeen}</dt>
            <dd>{moment(device.last_seen)}</dd>
          </>
        )}
        {device.pin && (
          <>
            <dt>{t.camera.pin}</dt>
            <dd>{pinWords(device.pin)}</dd>
          </>
        )}
      </dl>
      {address && <small>{t.camera.addressAdvice(address)}</small>}
      {address && device.reachable === false && <small>{t.camera.notOpen}</small>}
      {device.warnings.map((warning) => (
        <p key={warning} class="warning">
          {printable(warning)}
        </p>
      ))}
      <Trouble device={device} />
      <CameraProblems device={device} />
      <DeviceActions device={device} describedBy="camera-title" />
    </section>
  );
}

/** The signal since the page knows of it, for at most five minutes. */
function SignalLine({ device }: { device: Device }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), REDRAW_MS);
    return () => clearInterval(timer);
  }, []);
  const known = samples.value.get(device.id) ?? [];
  const newest = known[known.length - 1];
  const end = Math.max(now, newest?.at ?? 0);
  const x = (at: number) => Math.max(0, 300 * (1 - (end - at) / LINE_MS)).toFixed(1);
  // Between two measurements the signal has not changed by a step: a line of steps.
  const steps = known.map(({ at, percent }, index) => {
    const next = known[index + 1]?.at ?? end;
    return `${Math.min(294, Number(x(at)))},${100 - percent} ${x(next)},${100 - percent}`;
  });
  return (
    <section class="panel" aria-labelledby="signal-title">
      <h3 id="signal-title">{t.camera.liveSignal}</h3>
      {newest ? (
        <>
          <svg class="plot" viewBox="0 0 300 100" preserveAspectRatio="none" role="img" aria-label={`${newest.percent} %`}>
            <polyline class="line" points={steps.join(" ")} />
          </svg>
          <p class="ends">
            <span>{t.camera.fiveMinutesAgo}</span>
            <span>{newest.percent} %</span>
          </p>
        </>
      ) : (
        <p>{t.camera.noSignal}</p>
      )}
    </section>
  );
}

/** Sessions and errors: the last day as a picture, all that is listed as text. */
function Past({ device }: { device: Device }) {
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
    device.connection_error_at,
    device.last_disconnection,
    device.camera?.recording,
  ]);
  const sessions = rows?.filter((row) => row.kind === "session") ?? [];
  const failures = rows?.filter((row) => row.kind === "failure") ?? [];
  const interruptions = rows?.filter((row) => row.kind === "interruption") ?? [];
  return (
    <section class="panel" aria-labelledby="past-title">
      <h3 id="past-title">{t.camera.history}</h3>
      <Faults id="history-fault" sentences={fault ? [fault] : undefined} />
      {!rows && !fault && <progress aria-label={t.camera.loading} />}
      {rows?.length === 0 && <p>{t.camera.noHistory}</p>}
      {rows && rows.length > 0 && (
        <>
          <TimeLine sessions={sessions} interruptions={interruptions} failures={failures} />
          <ol class="past">
            {rows.slice(0, LISTED).map((row) => (
              <PastRow key={row.id} row={row} />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

/** Sessions as bars, interruptions as notches in them, errors as marks below. */
function TimeLine({ sessions, interruptions, failures }: Record<"sessions" | "interruptions" | "failures", readonly HistoryRow[]>) {
  const end = Date.now();
  const begin = end - DAY_MS;
  const x = (time: string | null) => (1000 * (Math.min(end, Math.max(begin, time ? Date.parse(time) : end)) - begin)) / DAY_MS;
  const isRecent = (time: string | null) => !time || Date.parse(time) >= begin;
  const recent = sessions.filter((row) => isRecent(row.ended));
  const notches = interruptions.filter((row) => isRecent(row.ended));
  const errors = [
    ...failures.map((row) => row.time),
    ...recent.filter((row) => row.ended && isOutage(row)).map((row) => row.ended ?? row.time),
  ].filter(isRecent);
  const summary = t.camera.timelineSummary(recent.length, notches.length, errors.length);
  return (
    <>
      <svg class="plot time" viewBox="0 0 1000 30" preserveAspectRatio="none" role="img" aria-label={`${t.camera.timeline}: ${summary}`}>
        {recent.map((row) => (
          <rect key={row.id} class="session" x={x(row.time)} y="4" width={Math.max(3, x(row.ended) - x(row.time))} height="14" />
        ))}
        {notches.map((row) => (
          <rect key={row.id} class="interruption" x={Math.min(997, x(row.time))} y="4" width={Math.max(3, x(row.ended) - x(row.time))} height="9" />
        ))}
        {errors.map((time, index) => (
          <rect key={index} class="error" x={Math.min(997, x(time))} y="18" width="3" height="12" />
        ))}
      </svg>
      <p class="ends">
        <span>{t.camera.yesterday}</span>
        <span>{t.camera.now}</span>
      </p>
      <p class="legend">
        <span>{t.camera.legendSession}</span>
        {notches.length > 0 && <span class="interruption">{t.camera.legendInterruption}</span>}
        <span class="error">{t.camera.legendError}</span>
      </p>
    </>
  );
}

/** Whether a session ended otherwise than by a command. */
const isOutage = (row: HistoryRow) => Boolean(row.code) && row.code !== "cancelled";

function PastRow({ row }: { row: HistoryRow }) {
  const details = [
    row.interface && t.camera.through(row.interface),
    row.signal_mean !== null && t.camera.signalRange(row.signal_minimum ?? row.signal_mean, row.signal_mean),
  ].filter(Boolean);
  const isCut = row.kind === "recording" && row.code !== "stopped";
  const isError = row.kind === "failure" || (row.kind !== "recording" && isOutage(row));
  const wake = isError ? t.camera.notWoken : t.camera.woken;
  return (
    <li data-kind={row.kind}>
      {row.kind === "session" ? (
        <strong>{row.ended ? t.camera.session(moment(row.time), moment(row.ended)) : t.camera.sessionOpen(moment(row.time))}</strong>
      ) : row.kind === "interruption" && row.ended ? (
        <strong>{t.camera.interruption(moment(row.time), (Date.parse(row.ended) - Date.parse(row.time)) / 1000)}</strong>
      ) : row.kind === "recording" ? (
        <strong>{t.camera.recorded(moment(row.time), moment(row.ended ?? row.time))}</strong>
      ) : row.kind === "wake" ? (
        <strong>{wake(moment(row.time))}</strong>
      ) : (
        <strong>
          <time dateTime={row.time}>{moment(row.time)}</time>
        </strong>
      )}
      {details.length > 0 && <small>{details.join(" · ")}</small>}
      {isCut && <div>{t.camera.recordingEnded(endWords(row.code ?? ""))}</div>}
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
