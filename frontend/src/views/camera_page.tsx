// One camera's own page: what it is, how it is, what happened to it, and all that can be done with it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../messages";
import { loadModels } from "../models";
import { printable } from "../sentences";
import { devices, isCurrent } from "../state";
import { moment } from "../times";
import type { Device } from "../types";
import { DeviceActions } from "./device_actions";
import { Tile } from "./device_tile";
import { Later } from "./later";
import { pinWords } from "./open_form";
import { Name, Signal, Stat } from "./parts";
import { Progress } from "./progress";
import { CameraProblems, Reading, ReadingTiles, WasRecording } from "./reading";
import "./shared";
import { StateBadge } from "./state_badge";
import { Still } from "./still";
import { Trouble } from "./trouble";
import { aboutWords } from "./where";

/** The library for plots is read with the first of them, and not before. */
const loadOverTime = () => import("./over_time");

export default function CameraPage({ id }: { id: number }) {
  const device = devices.value.get(id);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    void loadModels().catch(() => undefined);
    title.current?.focus();
    scrollTo(0, 0);
  }, [id, device === undefined]);
  return (
    <article class="camera-page" aria-labelledby="camera-title">
      <p class="crumb">
        <a href="#cameras">{t.camera.back}</a>
      </p>
      {device ? (
        <Known device={device} title={title} />
      ) : (
        <h2 id="camera-title" ref={title} tabIndex={-1}>
          {t.camera.gone}
        </h2>
      )}
    </article>
  );
}

function Known({ device, title }: { device: Device; title: { current: HTMLHeadingElement | null } }) {
  return (
    <>
      <div class="camera-head">
        <Tile device={device} />
        <div>
          <h2 id="camera-title" ref={title} tabIndex={-1}>
            <Name text={device.name} />
          </h2>
          <small>
            {aboutWords(device)} · <Name text={device.connection_settings.ssid} />
          </small>
        </div>
        <StateBadge device={device} />
        <div class="actions" data-device={device.id}>
          <DeviceActions device={device} describedBy="camera-title" buttons={2} />
        </div>
      </div>
      <Progress device={device} />
      <WasRecording device={device} />
      {device.warnings.map((warning) => (
        <p key={warning} class="warning">
          {printable(warning)}
        </p>
      ))}
      <Trouble device={device} />
      <CameraProblems device={device} />
      <Tiles device={device} />
      <Still device={device} isLarge />
      <Later load={loadOverTime} props={{ device }} loading={t.camera.loading} fault={t.plot.unreadable} />
      <Details device={device} />
      <Reading device={device} />
    </>
  );
}

/** What is known of it now, at a glance. */
function Tiles({ device }: { device: Device }) {
  if (!device.connected && !device.camera) return null;
  return (
    <dl class="stats">
      {device.connected && device.signal_strength !== null && (
        <Stat title={t.camera.signal}>
          <Signal percent={device.signal_strength} />
        </Stat>
      )}
      {device.connected && device.tx_bitrate !== null && (
        <Stat title={t.camera.link} note={device.frequency === null ? null : t.adapters.channel(device.frequency)}>
          {t.camera.rate(device.tx_bitrate)}
        </Stat>
      )}
      <ReadingTiles device={device} />
    </dl>
  );
}

function Details({ device }: { device: Device }) {
  const address = device.connected ? (device.address ?? device.camera_address) : null;
  const seen = device.last_disconnection ?? device.last_successful_connection;
  const facts: [string, ComponentChildren][] = [
    [t.camera.network, <Name text={device.connection_settings.ssid} />],
    [t.camera.adapter, device.interface],
    [t.camera.address, address && <span class="mono">{address}</span>],
    [t.camera.lastConnected, !device.connected && seen && moment(seen)],
    [t.camera.lastSeen, !device.connected && device.last_seen && moment(device.last_seen)],
    [t.camera.pin, device.pin && pinWords(device.pin)],
  ];
  return (
    <section class="panel" aria-labelledby="details-title">
      <h3 id="details-title">{t.camera.details}</h3>
      <dl class="facts">
        {facts.map(([name, value]) =>
          value ? (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ) : null,
        )}
      </dl>
      {address && (
        <p class="reached">
          <small>{t.camera.addressAdvice(address)}</small>
          {device.reachable && isCurrent.value && (
            <a href={`cameras/${device.id}/`} target="_blank" rel="noopener">
              {t.camera.open}
              <span class="visually-hidden">{t.camera.openWhat}</span>
            </a>
          )}
        </p>
      )}
      {address && device.reachable === false && <small>{t.camera.notOpen}</small>}
    </section>
  );
}
