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
} from "./records";

export type { BluetoothDevice, Camera, Device, Interface, Network, RecordingStopped, Search, Service, StatusUpdate } from "./records";

export interface Model {
  codename: string;
  device_name: string;
  device_image_url: string | null;
  /** Where such a camera gives a still, at its own HTTP server. */
  snapshot_path?: string;
}

/** An adapter that is reserved for a device, and is not plugged in. */
export interface AbsentAdapter {
  device_id: number | null;
  mac_address: string | null;
  usb_port: string | null;
  interface: string | null;
  product: string | null;
  unplugged_at: string | null;
}

export interface HistoryRow {
  id: number;
  time: string;
  device_id: number | null;
  device_name: string | null;
  kind: "session" | "interruption" | "failure" | "wake" | "recording" | "adapter" | "backend";
  interface: string | null;
  code: string | null;
  message: string | null;
  ended: string | null;
  signal_minimum: number | null;
  signal_mean: number | null;
}

/** A file on a camera's card: its path there, and bytes. */
export interface RecordedFile {
  name: string;
  size: number | null;
}

/** A row of the history of kind `recording`, with what is kept of it beside its begin and end; null is not known. */
export interface Recording extends HistoryRow {
  serial_number: string | null;
  /** Percent and bytes, at the begin and at the end. */
  battery_level: number | null;
  battery_level_after: number | null;
  storage_free: number | null;
  storage_free_after: number | null;
  /** The camera's clock minus the hub's, as it was last read before the begin, and how far the true one may be from that. */
  clock_offset_ms: number | null;
  clock_bound_ms: number | null;
  files: readonly RecordedFile[] | null;
}

/** A camera that was expected to record in a take, and did not. */
export interface MissingCamera {
  device_id: number | null;
  device_name: string | null;
  /** Of the command to record, if it failed. */
  code: string | null;
}

/** Recordings that overlap: from the first begin until none runs. */
export interface Take {
  time: string;
  /** Null while one runs. */
  ended: string | null;
  recordings: readonly Recording[];
  missing: readonly MissingCamera[];
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
  | Message<"device.operation.failed", OperationFailed>
  | Message<"interface.added" | "interface.updated", Interface>
  | Message<"interface.removed", { name: string }>
  | Message<"service.updated", Service>
  | Message<"tileset.updated", { tileset: string; available: boolean }>;
