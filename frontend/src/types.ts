// The API's values that the page uses; those of the records are made of the fields in wifimgrd/domain/records.py.

import type {
  CameraUpdate,
  Device,
  Interface,
  OperationFailed,
  PowerState,
  RecordingStopped,
  Service,
  Signal,
  StatusUpdate,
  Take,
} from "./records";

export type { BluetoothDevice, Camera, Device, HistoryRow, Interface, Network, RecordingStopped, Search, Service, StatusUpdate, Take } from "./records";
/** A row of the history of kind `recording`, a file of one, and who has none in a take. */
export type { File as RecordedFile, HistoryRow as Recording, Missing as MissingCamera } from "./records";

/** Where a camera gives a still, at its own HTTP server. */
export interface StillSource {
  path: string;
  /** What is sent there by POST; null: it is a GET. */
  body: string | null;
  while_recording: boolean;
}

export interface Model {
  codename: string;
  device_name: string;
  device_image_url: string | null;
  /** Matches the whole factory name of its network, in Python's words. */
  ssid_pattern?: string;
  snapshot?: StillSource;
}

/** An adapter that is reserved, or was plugged in since the hub's start, and is not now. */
export interface AbsentAdapter {
  /** Whom it is reserved for. */
  device_id: number | null;
  /** Who used it last. */
  last_device_id: number | null;
  mac_address: string | null;
  usb_port: string | null;
  interface: string | null;
  product: string | null;
  unplugged_at: string | null;
}

export interface Tileset {
  tileset: string;
  name: string;
  url: string;
  tiles: string[];
  minzoom: number;
  maxzoom: number;
  bounds: [number, number, number, number];
  center?: [number, number, number];
  format?: string;
  attribution?: string;
  vector_layers?: unknown[];
}

export interface Snapshot {
  type: "snapshot";
  epoch: string;
  seq: number;
  service: Service;
  devices: Device[];
  interfaces: Interface[];
}

interface Message<Type extends string, Data> {
  type: Type;
  seq?: number;
  time: string;
  data: Data;
}

export type Event =
  | Message<"device.created" | "device.updated", Device>
  | Message<"device.removed", { id: number }>
  | Message<"device.connection_status.update", StatusUpdate>
  | Message<"device.signal", Signal>
  | Message<"device.power_state.update", PowerState>
  | Message<"device.camera.update", CameraUpdate>
  | Message<"device.recording.stopped", RecordingStopped>
  | Message<"take.ended", Take>
  | Message<"device.operation.failed", OperationFailed>
  | Message<"interface.added" | "interface.updated", Interface>
  | Message<"interface.removed", { name: string }>
  | Message<"service.updated", Service>
  | Message<"tileset.updated", { tileset: string; available: boolean }>;
