// The page's parts, each in each of its states, for those who change them: at /style, in a checkout and in no package.

import { render } from "preact";
import { type CameraState, STATES } from "./camera_state";
import { t } from "./messages";
import { takeWords } from "./messages/takes";
import { models } from "./models";
import { devices, interfaces, link, service } from "./state";
import { keepStill } from "./stills";
import type { Camera, Device, Model, Recording, Take } from "./types";
import { Badge, RecordingBadge } from "./views/badge";
import { DeviceCard } from "./views/device_card";
import { DeviceList } from "./views/device_list";
import { BatteryLevel, Signal } from "./views/parts";
import { TakePanel } from "./views/takes";

const COLOURS = ["ground", "surface", "sunken", "line", "edge", "text", "faint", "accent", "good", "busy", "bad", "recording"];
const now = new Date().toISOString();

const CAMERA: Camera = {
  battery_level: 64,
  battery_state: "discharging",
  recording: false,
  recording_since: null,
  recording_requested: false,
  storage_state: "ok",
  storage_free: 36e9,
  storage_total: 128e9,
  recording_time_left_s: 2_880,
  temperature_state: "normal",
  clock_offset_ms: 200,
  clock_bound_ms: 20,
  clock_read_at: now,
  model: null,
  serial_number: null,
  firmware_version: null,
  problems: [],
  read_at: now,
};

const DEVICE: Device = {
  id: 0,
  name: "",
  codename: "insta360-x4",
  connection_type: "wifi",
  connection_status: "disconnected",
  connected: false,
  connection_settings: { ssid: "X4 34UQG5.OSC" },
  interface: null,
  expected: true,
  local_address: null,
  camera_address: null,
  signal_strength: null,
  frequency: null,
  tx_bitrate: null,
  rx_bitrate: null,
  address: null,
  reachable: null,
  device_reachability: "unknown",
  last_connection_attempt: null,
  last_successful_connection: null,
  last_disconnection: null,
  connection_error_code: null,
  connection_error_message: null,
  connection_error_at: null,
  waiting_since: null,
  connection_phase: null,
  recovery_step: null,
  power_state: null,
  last_seen: null,
  auto_wake: null,
  paired: null,
  bluetooth_address: null,
  camera: CAMERA,
  device_type_icon_url: null,
  device_type_icon: "icons.device.camera-360",
  auto_reconnect: true,
  priority: 0,
  lost_at: null,
  pin: null,
  warnings: [],
};

const UP: Partial<Device> = {
  connection_status: "connected",
  connected: true,
  reachable: true,
  interface: "wlan0",
  address: "10.77.0.1",
  signal_strength: 61,
  frequency: 2437,
  tx_bitrate: 173_000,
  rx_bitrate: 144_000,
};

const failed = (connection_error_code: Device["connection_error_code"]): Partial<Device> => ({
  connection_error_code,
  connection_error_message: t.headings[connection_error_code ?? ""] ?? "",
  connection_error_at: now,
});

/** A camera that gives stills: one that was just asked, so that it is not asked here. */
const WITH_STILL = 50;
const MODEL: Model = {
  codename: "skycam-2",
  device_name: "Skycam 2",
  device_image_url: null,
  snapshot: { path: "/still.jpg", body: null, while_recording: true },
};

/** A picture that no camera took: a sky over the ground. */
function scene(): Promise<ImageBitmap> {
  const image = new ImageData(160, 90);
  for (let at = 0; at < image.data.length; at += 4) {
    const height = at / image.data.length;
    image.data.set(height < 0.6 ? [110, 160 + 60 * height, 225, 255] : [90, 140 - 60 * height, 60, 255], at);
  }
  return createImageBitmap(image);
}

/** A device in each state, called by it. */
const SAMPLES: Record<CameraState, Partial<Device>> = {
  "not-recording": { ...UP, camera: { ...CAMERA, recording_requested: true, problems: ["not-recording"] } },
  "still-recording": { ...UP, camera: { ...CAMERA, recording: true, recording_since: now, problems: ["still-recording"] } },
  "recording-unconfirmed": { ...UP, camera: { ...CAMERA, recording: null, problems: ["recording-unconfirmed"] } },
  "wrong-password": failed("authentication-failed"),
  "not-found": failed("device-not-reachable"),
  "no-address": failed("address-failed"),
  refused: failed("association-refused"),
  "not-paired": failed("not-paired"),
  lost: failed("interface-lost"),
  failed: failed("backend-unavailable"),
  "not-answering": { ...UP, reachable: false },
  recovering: { ...UP, reachable: false, recovery_step: "camera-access-point" },
  searching: { ...failed("connection-lost"), lost_at: now },
  waiting: { waiting_since: now },
  waking: { connection_phase: "waking", connection_status: "connecting" },
  connecting: { connection_status: "connecting" },
  connected: UP,
  asleep: { power_state: "asleep", last_seen: now },
  "no-adapter": failed("no-interface-available"),
  off: { last_disconnection: now },
};

const samples: Device[] = STATES.map((state, index) => ({ ...DEVICE, id: index + 1, name: t.states[state], ...SAMPLES[state] }));
samples.push(
  { ...DEVICE, ...UP, id: WITH_STILL, codename: MODEL.codename, name: t.reading.recording, camera: { ...CAMERA, recording: true, recording_since: now } },
  { ...DEVICE, ...UP, id: WITH_STILL + 1, name: t.problems["storage-full"].what, camera: { ...CAMERA, storage_state: "full", problems: ["storage-full"] } },
);

const SECOND_MS = 1_000;
const ago = (seconds: number): string => new Date(Date.parse(now) - seconds * SECOND_MS).toISOString();
let rows = 0;

/** A recording, so many seconds ago. */
const recorded = (device_id: number, device_name: string, begin: number, end: number | null, more: Partial<Recording> = {}): Recording => ({
  id: ++rows,
  time: ago(begin),
  device_id,
  device_name,
  kind: "recording",
  interface: "wlan0",
  code: end === null ? null : "stopped",
  message: null,
  ended: end === null ? null : ago(end),
  signal_minimum: null,
  signal_mean: null,
  serial_number: null,
  battery_level: 90,
  battery_level_after: 80,
  storage_free: 40e9,
  storage_free_after: 36e9,
  clock_offset_ms: 50,
  clock_bound_ms: 40,
  files: end === null ? null : [{ name: "100GOPRO/GX010233.MP4", size: 4e9 }, { name: "100GOPRO/GX020233.MP4", size: 3.8e9 }],
  ...more,
});

const TAKES: readonly Take[] = [
  {
    time: ago(724),
    ended: null,
    missing: [{ device_id: 101, device_name: "Mast", code: "not-connected" }],
    recordings: [recorded(102, "Tail", 724, 174, { code: "full" }), recorded(WITH_STILL, "", 723.962, null), recorded(103, "Front", 723.9, null)],
  },
  {
    time: ago(6_000),
    ended: ago(4_895),
    missing: [],
    recordings: [
      recorded(102, "Tail", 6_000, 4_895),
      recorded(103, "Front", 5_999.96, 5_530, { code: "unknown" }),
      recorded(103, "Front", 5_524, 4_895, { files: null, clock_offset_ms: null, clock_bound_ms: null, storage_free: null }),
    ],
  },
  { time: ago(9_000), ended: ago(8_200), missing: [], recordings: [recorded(102, "Tail", 9_000, 8_200), recorded(103, "Front", 8_999.97, 8_200)] },
];

function Gallery() {
  return (
    <main id="content" class="gallery">
      <h1>{t.hub.title}</h1>
      <div class="swatches">
        {COLOURS.map((name) => (
          <span key={name} class={`swatch ${name}`}>
            <code>{name}</code>
          </span>
        ))}
      </div>
      <p class="actions">
        <button type="button" class="primary">{t.camera.connect}</button>
        <button type="button">{t.camera.disconnect}</button>
        <button type="button" class="danger">{t.camera.remove}</button>
        <button type="button" class="quiet">{t.camera.edit}</button>
        <button type="button" disabled>{t.camera.record}</button>
        <button type="button" class="chip" aria-pressed="true">{t.cameras.all}</button>
        <button type="button" class="chip attention" aria-pressed="false">{t.cameras.attention}</button>
      </p>
      <p class="actions">
        {STATES.map((one) => (
          <Badge key={one} state={one} isCurrent />
        ))}
        <Badge state="connected" isCurrent={false} />
        <RecordingBadge label={t.reading.recordingFor("12:34")} />
        <Signal percent={61} />
        <BatteryLevel percent={64} words={t.reading.percent(64)} />
        <BatteryLevel percent={9} words={t.reading.percent(9)} />
      </p>
      <h2 id="cameras-title">{t.cameras.title}</h2>
      <ul class="cards">
        {samples.map((one) => (
          <DeviceCard key={one.id} device={one} />
        ))}
      </ul>
      <DeviceList everyone={samples} />
      <h2>{takeWords.title}</h2>
      <ol class="takes">
        {TAKES.map((one) => (
          <TakePanel key={one.time} take={one} isNewest={false} isFirst />
        ))}
      </ol>
    </main>
  );
}

const page = document.getElementById("page");
if (page) {
  link.value = "live";
  service.value = null;
  devices.value = new Map(samples.map((one) => [one.id, one]));
  interfaces.value = new Map();
  models.value = [{ codename: DEVICE.codename, device_name: "Insta360 X4", device_image_url: null }, MODEL];
  void scene().then((picture) => {
    keepStill(WITH_STILL, picture);
    render(<Gallery />, page);
  });
}
