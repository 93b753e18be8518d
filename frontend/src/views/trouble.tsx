// What is wrong with a camera now, since when, and what to do about it.

import { computed } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { countOf, isFreeFor, isKept, isRecordingTrouble, KIND_OF, linkOf, wereAllInUse } from "../camera_state";
import { t } from "../messages";
import type { ProblemWords } from "../reading";
import { readTries, tries } from "../recovery_tries";
import { adviceFor, detailOf, headingFor, stepWords } from "../sentences";
import { interfaces, isCurrent, nameOf } from "../state";
import { minute, moment } from "../times";
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

/** The errors that a state's word says: what is left to say is what to do. */
const SAID_BY_STATE: ReadonlySet<string> = new Set(["authentication-failed", "device-not-reachable", "association-refused", "address-failed", "not-paired"]);

/** What stands against what is wanted of a camera, and what to do, in one or two lines: all else is on its page. */
export function useTrouble(device: Device): Line | null {
  const { id, recovery_step: step } = device;
  const isSilent = isCurrent.value && linkOf(device) === "not-answering";
  // What was tried is said once no step runs.
  useEffect(() => {
    if (isSilent) readTries(id).catch(() => undefined);
  }, [id, isSilent, step]);
  const tried = useMemo(() => computed(() => tries.value.get(id)), [id]).value;
  const line = troubleOf(device, useProblems(device));
  return isSilent && tried && line?.text === t.trouble.notAnsweringLine
    ? { ...line, text: t.trouble.tried(tried.count, minute(tried.next)) }
    : line;
}

export function troubleOf(device: Device, [problem]: readonly ProblemWords[]): Line | null {
  const state = linkOf(device);
  const code = device.connection_error_code;
  const line = (text: string, tone: Line["tone"] = "plain"): Line => ({ text, tone });
  // What stands as the state comes before what is wrong with the connection; its word is said there.
  if (problem && isRecordingTrouble(problem.code)) {
    return { ...line(problem.advice, KIND_OF[problem.code] === "act" ? "bad" : "warn"), problem: problem.code };
  }
  if (problem && state === "connected") return { ...line(`${problem.what} ${problem.advice}`, "warn"), problem: problem.code };
  if (state === "not-answering") return isCurrent.value ? line(t.trouble.notAnsweringLine, "warn") : null;
  if (state === "recovering") return isCurrent.value ? line(recoveringWords(device), "warn") : null;
  if (device.connected) return null;
  if (state === "waiting") return line(t.trouble.waitingAdvice);
  if (state === "asleep" && code !== "authentication-failed") return line(t.trouble.asleepAdvice);
  if (!device.connection_error_message) return null;
  const heading = headingFor(code);
  const at = device.connection_error_at;
  // What is last known has its time.
  if (!isCurrent.value) return line(at ? t.trouble.headingAt(heading, moment(at)) : heading);
  if (state === "searching") return line((isAnyFreeFor(device) ? t.trouble.lost : t.trouble.lostWithout)(heading));
  if (state === "no-adapter") {
    const adapters = [...interfaces.value.values()];
    const free = adapters.filter((one) => isFreeFor(device.id, one)).length;
    if (free > 0) return line(t.trouble.freeNow(free, adapters.length));
    const why = wereAllInUse(device.connection_error_message) ? t.trouble.inUseLine(countOf(adapters)) : t.trouble.noneFreeLine;
    return line(`${why} ${t.trouble.busyLine}`);
  }
  if (state === "connecting" || state === "waking") return line(`${heading} ${t.trouble.tryingAgain}`);
  if (KIND_OF[state] !== "act") return line(heading);
  return line([SAID_BY_STATE.has(code ?? "") ? "" : heading, adviceFor(code)].filter(Boolean).join(" "), "bad");
}

/** Whether an adapter is free for a camera. */
export const isAnyFreeFor = ({ id }: Device): boolean => [...interfaces.value.values()].some((one) => isFreeFor(id, one));

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
