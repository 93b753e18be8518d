// The cameras: how many, each as a card, and one more.

import { useWhoSleeps } from "../bluetooth";
import { isCommandingMany, recordOnMany } from "../commands";
import { t } from "../messages";
import { takesCommands } from "../reading";
import { openStep, route } from "../route";
import { devices, isCurrent } from "../state";
import { AddCamera } from "./add_camera";
import { DeviceCard } from "./device_card";
import { DeviceList } from "./device_list";

/** With more cameras than this, each is a row instead of a card. */
const MANY = 8;

export function Devices() {
  const everyone = [...devices.value.values()];
  const connected = everyone.filter((one) => one.connected).length;
  const silent = everyone.filter((one) => one.connected && one.reachable === false).length;
  const shown = route.value;
  useWhoSleeps();
  return (
    <section aria-labelledby="cameras-title">
      <div class="section-head">
        <h2 id="cameras-title" tabIndex={-1}>
          {t.cameras.title}{" "}
          {everyone.length > 0 && (
            <span class="count">
              {isCurrent.value
                ? t.cameras.count(connected, everyone.length, silent)
                : t.cameras.countUnknown(everyone.length)}
            </span>
          )}
        </h2>
        <button type="button" class="primary" disabled={!isCurrent.value} onClick={() => openStep(0)}>
          {t.cameras.add}
        </button>
        {everyone.some((one) => one.camera) && <RecordOnAll isPossible={isCurrent.value && everyone.some(takesCommands)} />}
      </div>
      {everyone.length === 0 && isCurrent.value && (
        <div class="empty">
          <p>{t.cameras.none}</p>
          <p>{t.cameras.noneAdvice}</p>
        </div>
      )}
      {everyone.length > MANY ? (
        <DeviceList everyone={everyone} />
      ) : (
        <ul class="cards">
          {everyone.map((device) => (
            <DeviceCard key={device.id} device={device} />
          ))}
        </ul>
      )}
      {shown.view === "add" && <AddCamera step={shown.step} />}
    </section>
  );
}

/** Always there where a camera can do it, and enabled also where it changes nothing: the buttons keep their places and the focus. */
function RecordOnAll({ isPossible }: { isPossible: boolean }) {
  const button = (words: string, isOn: boolean) => (
    <button type="button" disabled={!isPossible} aria-busy={isCommandingMany.value} onClick={() => void recordOnMany(isOn)}>
      {words}
    </button>
  );
  return (
    <div class="record-on-all">
      {button(t.cameras.recordOnAll, true)}
      {button(t.cameras.stopAll, false)}
    </div>
  );
}
