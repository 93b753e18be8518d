// An empty hub: the cameras whose networks are in range, each one press away from being added.

import { useEffect, useRef, useState } from "preact/hooks";
import { choose, simulatedPassword, tellAdded } from "../adding";
import { deviceAddress, Problem, request } from "../api";
import { isBluetoothReady } from "../bluetooth";
import { t } from "../messages";
import { GENERIC, isGoPro, loadModels, modelName } from "../models";
import { openStep } from "../route";
import { isCurrent } from "../state";
import type { Network, Search } from "../types";
import { BluetoothCameras } from "./bluetooth_cameras";
import { Faults, Name, Signal } from "./parts";
import "./shared";

/** What a network's name or access point says to be a camera. */
const isCamera = (one: Network): boolean => (one.codename !== null && one.codename !== GENERIC) || isGoPro(one.ssid) || simulatedPassword(one.ssid) !== undefined;

export default function InRange() {
  const [found, setFound] = useState<readonly Network[] | null>(null);
  const [fault, setFault] = useState("");
  const current = isCurrent.value;
  const search = async () => {
    setFound(null);
    setFault("");
    try {
      setFound((await request<Search>(deviceAddress("wifi/networks"))).networks.filter(isCamera));
    } catch (error) {
      setFound([]);
      setFault(error instanceof Problem ? error.message : t.hub.failed);
    }
  };
  const part = useRef<HTMLDivElement>(null);
  useEffect(
    () => () => {
      // With the first camera it goes, and with it the button that was pressed.
      const { activeElement: focused, body } = document;
      if (focused === body || part.current?.contains(focused)) document.getElementById("cameras-title")?.focus();
    },
    [],
  );
  useEffect(() => {
    void loadModels().catch(() => undefined);
    if (current) void search();
  }, [current]);
  const add = (network: Network) => {
    choose(network);
    openStep(0);
    openStep(1);
  };
  return (
    <div class="empty" ref={part}>
      <p>{t.cameras.noneAdvice}</p>
      <Faults id="in-range-fault" sentences={fault ? [fault] : undefined} />
      {found === null && <progress aria-label={t.add.searching} />}
      <ul class="rows" aria-label={t.cameras.inRange}>
        {found?.map((one) => (
          <li key={one.ssid_hex + one.security} class="row">
            <div>
              <strong>
                <Name text={one.ssid} />
              </strong>
              <small>{one.codename ? modelName(one.codename) : isGoPro(one.ssid) ? t.add.whichGoPro : ""}</small>
            </div>
            <Signal percent={one.signal_strength} />
            <button type="button" disabled={!current} onClick={() => add(one)}>
              {t.cameras.addThis} <span class="visually-hidden"><Name text={one.ssid} /></span>
            </button>
          </li>
        ))}
      </ul>
      {isBluetoothReady() && <BluetoothCameras onAdded={tellAdded} />}
      {found !== null && (
        <button type="button" disabled={!current} onClick={() => void search()}>
          {t.add.searchAgain}
        </button>
      )}
    </div>
  );
}
