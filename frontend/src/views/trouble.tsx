// What is wrong with a camera now, since when, and what to do about it.

import { countOf, isFreeFor, isKept, isRecordingTrouble, linkOf, wereAllInUse } from "../camera_state";
import { t } from "../messages";
import { adviceFor, detailOf, headingFor, stepWords } from "../sentences";
import { interfaces, isCurrent, nameOf } from "../state";
import { moment } from "../times";
import type { Device } from "../types";
import { Name } from "./parts";
import { useProblems } from "./reading";

/** What ends an attempt or a link only because the camera sleeps. */
const EXPLAINED_BY_SLEEP: ReadonlySet<string> = new Set(["device-not-reachable", "connection-lost"]);

export interface Line {
  text: string;
  tone: "bad" | "warn" | "plain";
  /** The code of a camera's own problem. */
  problem?: string;
}

/** What stands against what is wanted of a camera, in one line: what to do is the button beside it, all else is on its page. */
export function useTrouble(device: Device): Line | null {
  const [problem] = useProblems(device);
  const state = linkOf(device);
  const code = device.connection_error_code;
  const line = (text: string, tone: Line["tone"] = "plain"): Line => ({ text, tone });
  // What stands as the state comes before what is wrong with the connection.
  if (problem && (isRecordingTrouble(problem.code) || state === "connected")) {
    const tone = problem.code === "recording-unconfirmed" ? "warn" : "bad";
    return { ...line(`${problem.what} ${problem.advice}`, tone), problem: problem.code };
  }
  if (state === "not-answering") return isCurrent.value ? line(t.trouble.notAnswering, "warn") : null;
  if (state === "recovering") return isCurrent.value ? line(recoveringWords(device), "warn") : null;
  if (device.connected) return null;
  if (state === "waiting" && device.waiting_since) return line(t.trouble.waiting(moment(device.waiting_since)));
  if (state === "asleep" && code !== "authentication-failed") {
    return line(device.last_seen ? t.trouble.asleepSeen(moment(device.last_seen)) : t.trouble.asleep);
  }
  if (!device.connection_error_message) return null;
  const heading = headingFor(code);
  if (state === "searching" && device.lost_at) return line(t.trouble.lost(moment(device.lost_at), heading), "warn");
  if (state === "no-adapter" && isCurrent.value) {
    const adapters = [...interfaces.value.values()];
    const free = adapters.filter((one) => isFreeFor(device.id, one)).length;
    if (free > 0) return line(t.trouble.freeNow(free, adapters.length));
    return line(wereAllInUse(device.connection_error_message) ? t.trouble.inUseLine(countOf(adapters)) : t.trouble.noneFreeLine);
  }
  if (state === "connecting" || state === "waking") return line(`${heading} ${t.trouble.tryingAgain}`, "warn");
  const at = device.connection_error_at;
  return line(at ? t.trouble.headingAt(heading, moment(at)) : heading, state === "failed" ? "bad" : "plain");
}

const recoveringWords = (device: Device): string => t.trouble.recovering(stepWords(device.recovery_step ?? ""));

export const TroubleLine = ({ line }: { line: Line }) => (
  <p class={`line trouble ${isCurrent.value ? line.tone : "plain"}`} data-problem={line.problem} title={line.text}>
    {line.text}
  </p>
);

export function Trouble({ device }: { device: Device }) {
  const state = linkOf(device);
  const code = device.connection_error_code;
  if (state === "not-answering" || state === "recovering") {
    return isCurrent.value ? (
      <div class="trouble">
        <p>
          {state === "recovering" ? (
            <strong>{recoveringWords(device)}</strong>
          ) : (
            <>
              <strong>{t.trouble.notAnswering}</strong> {t.trouble.notAnsweringAdvice}
            </>
          )}
        </p>
      </div>
    ) : null;
  }
  if (state === "waiting" && device.waiting_since) {
    return (
      <div class="trouble calm">
        <p>
          <strong>{t.trouble.waiting(moment(device.waiting_since))}</strong> {t.trouble.waitingAdvice}
        </p>
      </div>
    );
  }
  if (device.connected || !device.connection_error_message) return null;
  if (state === "asleep" && code !== null && EXPLAINED_BY_SLEEP.has(code)) {
    return (
      <div class="trouble calm">
        <p>
          <strong>{t.trouble.asleep}</strong> {t.trouble.asleepAdvice}
        </p>
      </div>
    );
  }
  const isTrying = state === "connecting" || state === "waking";
  if (code === "no-interface-available" && !isTrying) return <Refused device={device} />;
  return (
    <div class="trouble">
      <p>
        <strong>
          {headingFor(code)} {isTrying && t.trouble.tryingAgain}
        </strong>{" "}
        {device.connection_error_at && state !== "searching" && t.trouble.at(moment(device.connection_error_at))}{" "}
        <Name text={detailOf(code, device.connection_error_message)} />
      </p>
      {state === "searching" && device.lost_at && (
        <p>
          {t.trouble.searching(moment(device.lost_at))} {t.trouble.searchingAdvice}
        </p>
      )}
      {adviceFor(code) && <p>{adviceFor(code)}</p>}
      <Code code={code} />
    </div>
  );
}

/** A refusal was true when it happened; how many adapters are free now stands beside it. */
function Refused({ device }: { device: Device }) {
  const total = interfaces.value.size;
  const adapters = [...interfaces.value.values()];
  const free = adapters.filter((one) => isFreeFor(device.id, one)).length;
  const kept = adapters.filter((one) => isKept(one) && one.reserved_device_id !== device.id);
  const time = device.connection_error_at ? moment(device.connection_error_at) : t.trouble.earlier;
  const isInUse = wereAllInUse(device.connection_error_message ?? "");
  return (
    <div class={`trouble${free > 0 ? " calm" : ""}`}>
      <p>
        <strong>{isInUse ? t.trouble.allInUse(time) : t.trouble.noneFree(time)}</strong>
        {isCurrent.value && ` ${t.trouble.freeNow(free, total)}`}
        {isCurrent.value && kept.map((one) => ` ${t.trouble.reservedFor(one.name, nameOf(one.reserved_device_id ?? 0))}`)}
      </p>
      {isCurrent.value && total > 0 && <p>{free > 0 ? t.trouble.freeAdvice : t.trouble.busyAdvice}</p>}
      <Code code={device.connection_error_code} />
    </div>
  );
}

export const Code = ({ code }: { code: string | null }) =>
  code ? (
    <small>
      {t.camera.code} <code>{code}</code>
    </small>
  ) : null;
