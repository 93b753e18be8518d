// What is wrong with a camera now, since when, and what to do about it.

import { isFreeFor, isKept, stateOf, wereAllInUse } from "../camera_state";
import { t } from "../messages";
import { adviceFor, detailOf, headingFor, printable } from "../sentences";
import { devices, interfaces, isCurrent } from "../state";
import type { Device } from "../types";
import { moment, Name } from "./parts";

/** What ends an attempt or a link only because the camera sleeps. */
const EXPLAINED_BY_SLEEP: ReadonlySet<string> = new Set(["device-not-reachable", "connection-lost"]);

export function Trouble({ device }: { device: Device }) {
  const state = stateOf(device);
  const code = device.connection_error_code;
  if (state === "not-answering") {
    return isCurrent.value ? (
      <div class="trouble">
        <p>
          <strong>{t.trouble.notAnswering}</strong> {t.trouble.notAnsweringAdvice}
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

const nameOf = (id: number): string => printable(devices.value.get(id)?.name ?? t.events.camera(id));

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
