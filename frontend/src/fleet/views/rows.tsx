// The row of a hub, and the row of a camera with its command.

import { signal } from "@preact/signals";
import { countOf, doubtOf, isFree, isFreeFor, isKept, isRecordingTrouble, KIND_OF, type LinkState, STATES } from "../../camera_state";
import { t } from "../../messages";
import { fleetWords } from "../../messages/fleet";
import { batteryWords, problemsOf } from "../../reading";
import { detailOf, failureText, headingFor, printable, stepWords } from "../../sentences";
import { notify } from "../../toasts";
import { Badge, RecordingBadge, Shape } from "../../views/badge";
import { BatteryLevel, Name, Signal } from "../../views/parts";
import { type CameraVerb, command, CommandError } from "../broker";
import type { Camera, Hub } from "../hubs";
import { isCurrent, needs } from "../rows";
import { conditionOf } from "./fleet_band";

/** The cameras that a command is under way for, as HUB/ID. */
const underWay = signal<ReadonlySet<string>>(new Set());

const clock = new Intl.DateTimeFormat([], { hour: "numeric", minute: "2-digit", second: "2-digit" });

/** The states in which a person has to act or to look. */
const IN_NEED = STATES.filter((one) => KIND_OF[one] === "act" || KIND_OF[one] === "look");

const MOST_MARKS = 16;

interface HubProps {
  hub: Hub;
  isOpen: boolean;
  isLive: boolean;
  onToggle: () => void;
}

export function HubRow({ hub, isOpen, isLive, onToggle }: HubProps) {
  const isOnline = isLive && hub.isOnline;
  const cameras = [...hub.cameras.values()];
  const adapters = [...hub.adapters.values()];
  const recording = cameras.filter(isRecording).length;
  const connected = cameras.filter((one) => one.record.connected).length;
  const troubles = IN_NEED.map((state) => [cameras.filter((one) => one.state === state).length, t.states[state]] as const);
  const free = adapters.filter(isFree).length;
  const kept = adapters.filter(isKept).map((one) => fleetWords.reserved(one.name, keeperOf(hub, one.reserved_device_id ?? 0)));
  const doubts = adapters.map((one) => [one, doubtOf(one)] as const);
  const doubted = doubts.flatMap(([one, doubt]) => (doubt ? [fleetWords.doubted(one.name, t.adapters[doubt])] : []));
  const isKnown = isCurrent(hub, isLive);
  const problem = isOnline && hub.record && hub.record.backend_state !== "ready";
  return (
    <div class={`hub${isLive && needs(hub) ? " in-need" : ""}`} data-hub={hub.id}>
      <button type="button" class="quiet" aria-expanded={isOpen} disabled={cameras.length === 0} onClick={onToggle}>
        <span class="visually-hidden">{fleetWords.hub} </span>
        {hub.id}
      </button>
      <span class={`badge ${!isLive ? "stale" : isOnline ? "available" : "unavailable"}`}>
        {!isLive ? t.unknown : isOnline ? fleetWords.online : fleetWords.offline}
      </span>
      <div class="about">
        {isLive && <strong title={conditionOf(hub)}>{conditionOf(hub)}</strong>}
        <span>
          {isKnown
            ? fleetWords.ofHub(connected, cameras.length)
            : fleetWords.ofOfflineHub(cameras.length)}
          {isKnown && recording > 0 && `, ${fleetWords.recording(recording)}`}
          {isKnown && troubles.map(([count, state]) => count > 0 && `, ${fleetWords.inState(count, state)}`)}
          {isKnown && [fleetWords.adapters(free, countOf(adapters)), ...doubted, ...kept].map((one) => `, ${printable(one)}`)}
        </span>
        <small>
          {problem && <span class="why">{t.hub.cannotConnect} {printable(hub.record?.backend_reason ?? "")} · </span>}
          {hub.unreadable.size > 0 && <span class="why">{fleetWords.unreadable(hub.unreadable.size)} · </span>}
          {hub.lastMessage === null ? fleetWords.noChange : fleetWords.lastMessage(clock.format(hub.lastMessage))}
        </small>
      </div>
      <Marks cameras={cameras} isKnown={isKnown} />
      {hub.record?.page && (
        <a class="button own-page" href={hub.record.page} target="_blank" rel="noopener noreferrer" title={hub.record.page}>
          {fleetWords.ownPage}
          <span class="visually-hidden">{fleetWords.ownPageWhat(hub.id)}</span>
        </a>
      )}
    </div>
  );
}

/** A mark for each camera, as many as there is room for. The words beside it say the same. */
function Marks({ cameras, isKnown }: { cameras: readonly Camera[]; isKnown: boolean }) {
  const shown = cameras.length > MOST_MARKS ? cameras.slice(0, MOST_MARKS - 1) : cameras;
  return (
    <div class={`marks${isKnown ? "" : " past"}`} aria-hidden="true">
      {shown.map((one) => (
        <span key={one.record.id} class={`mark ${isRecording(one) ? "recording" : KIND_OF[one.state]}`} title={printable(one.record.name)}>
          {isRecording(one) ? <span class="dot" /> : <Shape state={one.state} />}
        </span>
      ))}
      {shown.length < cameras.length && <span class="more">+{cameras.length - shown.length}</span>}
    </div>
  );
}

const keeperOf = (hub: Hub, id: number): string => hub.cameras.get(id)?.record.name ?? t.events.camera(id);

interface CameraProps {
  hub: Hub;
  camera: Camera;
  isLive: boolean;
}

/** For how long would need the hub's clock, which this page does not know. */
const isRecording = ({ record, state }: Camera): boolean => state === "connected" && record.camera?.recording === true;

export function CameraRow({ hub, camera, isLive }: CameraProps) {
  const { record, state, link } = camera;
  const isKnown = isCurrent(hub, isLive);
  const why = whyOf(record, link);
  const battery = record.camera && batteryWords(record.camera);
  // Of a camera that is not connected only what stands as its state is so now.
  const [problem] = record.camera ? problemsOf(record.camera).filter(({ code }) => record.connected || isRecordingTrouble(code)) : [];
  const obstacle = obstacleOf(hub, isLive);
  const obstacleId = `obstacle-${hub.id}/${record.id}`;
  const about = [record.connection_settings.ssid, record.camera?.model ?? record.codename].filter((one) => one !== record.name).join(" · ");
  return (
    <div class="camera" data-camera={`${hub.id}/${record.id}`}>
      <div class="named">
        <Name text={record.name} />
        <small>
          <Name text={about} />
        </small>
      </div>
      {isKnown && isRecording(camera) ? <RecordingBadge label={t.reading.recording} /> : <Badge state={state} isCurrent={isKnown} />}
      <div class="about">
        {isKnown && why && <span class="why" title={printable(why)}>{printable(why)}</span>}
        {isKnown && !record.connected && problem && <span class="why">{problem.what}</span>}
        {isKnown && record.connected && (
          <span>
            <Name text={record.interface ?? ""} /> {record.signal_strength !== null && <Signal percent={record.signal_strength} />}
            {problem && <span class="why">{problem.what}</span>}
            {battery !== null && <BatteryLevel percent={record.camera?.battery_level ?? null} words={battery} />}
          </span>
        )}
        {obstacle && <small id={obstacleId}>{obstacle}</small>}
      </div>
      <Command hub={hub.id} camera={record} choice={choiceFor(hub, camera)} obstacleId={obstacle ? obstacleId : ""} />
    </div>
  );
}

/** What its state is about, beside its word. */
function whyOf(record: Camera["record"], link: LinkState): string {
  if (link === "recovering") return t.trouble.recovering(stepWords(record.recovery_step ?? ""));
  const code = record.connection_error_code;
  return KIND_OF[link] === "act" || link === "no-adapter" ? [headingFor(code), detailOf(code, record.connection_error_message ?? "")].join(" ") : "";
}

interface Choice {
  verb: CameraVerb;
  words: string;
  whenFree?: boolean;
  wake?: boolean;
}

const CONNECT: Choice = { verb: "connect", words: t.camera.connect };
/** What is not in it has one thing to do: connect. */
const CHOICES: Partial<Record<LinkState, Choice>> = {
  connected: { verb: "disconnect", words: t.camera.disconnect },
  "not-answering": { verb: "disconnect", words: t.camera.disconnect },
  recovering: { verb: "disconnect", words: t.camera.stop },
  connecting: { verb: "disconnect", words: t.camera.stop },
  waking: { verb: "disconnect", words: t.camera.stop },
  waiting: { verb: "disconnect", words: t.camera.stopWaiting },
  searching: { verb: "disconnect", words: t.camera.stopSearching },
  asleep: { verb: "connect", words: t.camera.wakeAndConnect, wake: true },
};
const WHEN_FREE: Choice = { verb: "connect", words: t.camera.connectWhenFree, whenFree: true };

const RECORD: Choice = { verb: "start_recording", words: t.camera.record };
const STOP: Choice = { verb: "stop_recording", words: t.camera.stopRecording };

/** The most likely command in a state; a camera that records is not disconnected by the way. */
function choiceFor(hub: Hub, { record: camera, state, link }: Camera): Choice {
  if (camera.connected && state === "not-recording") return RECORD;
  if (camera.connected && camera.camera?.recording) return STOP;
  const isFree = [...hub.adapters.values()].some((one) => isFreeFor(camera.id, one));
  return link === "no-adapter" && !isFree ? WHEN_FREE : (CHOICES[link] ?? CONNECT);
}

/** Why no command can be sent; empty if one can. */
function obstacleOf(hub: Hub, isLive: boolean): string {
  if (!isLive) return fleetWords.pageOffline;
  if (!hub.isOnline) return fleetWords.hubOffline;
  return hub.record?.commands ? "" : fleetWords.commandsOff;
}

/** Drawn anew only where one of these is another value, since it reads a signal: a hub is one that changes. */
interface CommandProps {
  hub: string;
  camera: Camera["record"];
  choice: Choice;
  /** Of the element that says why no command can be sent; empty if one can. */
  obstacleId: string;
}

function Command({ hub, camera, choice, obstacleId }: CommandProps) {
  const key = `${hub}/${camera.id}`;
  // Not disabled meanwhile, so that the button keeps the focus.
  const isUnderWay = underWay.value.has(key) || camera.connection_status === "disconnecting";
  const name = printable(camera.name);
  return (
    <div class="command">
      <button
        type="button"
        class={choice.verb === "connect" ? "cure" : ""}
        disabled={obstacleId !== ""}
        aria-busy={isUnderWay}
        aria-describedby={obstacleId || undefined}
        onClick={() => {
          if (!isUnderWay) void send(hub, camera.id, name, choice);
        }}
      >
        {isUnderWay && <span class="spinner" aria-hidden="true" />}
        {choice.words}
        <span class="visually-hidden">{fleetWords.commandWhat(name, hub)}</span>
      </button>
    </div>
  );
}

function setUnderWay(key: string, isUnderWay: boolean): void {
  const next = new Set(underWay.value);
  if (isUnderWay) next.add(key);
  else next.delete(key);
  underWay.value = next;
}

const ASKING: Readonly<Record<CameraVerb, (name: string) => string>> = {
  ...t.answers.asking,
  start_recording: t.answers.asking.record,
  stop_recording: t.answers.asking.stopRecording,
};
/** What it came to if the answer has no such word. */
const DONE = {
  connect: "connecting",
  disconnect: "disconnected",
  start_recording: "recording",
  stop_recording: "recordingStopped",
} as const satisfies Record<CameraVerb, string>;

/** Send a command; the answer is a message over the page, the state that follows is in the record. */
async function send(hub: string, camera: number, cameraName: string, { verb, whenFree, wake }: Choice): Promise<void> {
  const key = `${hub}/${camera}`;
  const name = fleetWords.at(cameraName, hub);
  setUnderWay(key, true);
  notify(key, ASKING[verb](name), "plain");
  try {
    const { message } = await command(hub, camera, verb, { ...(whenFree ? { when_free: true } : {}), ...(wake ? { wake: true } : {}) });
    const known = ["connecting", "connected", "waiting", "disconnecting", "disconnected"] as const;
    const outcome = known.find((one) => one === message) ?? DONE[verb];
    notify(key, t.answers[outcome](name), outcome === "connected" || message === "done" ? "good" : "plain");
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const text = error.code === null ? fleetWords.commandFailed(name, error.message) : failureText(name, error.code, error.message);
    notify(key, text, "bad");
  } finally {
    setUnderWay(key, false);
  }
}
