// What the API answers and the channel tells; /openapi.json and /asyncapi.json describe it.

export type DeviceState = "disconnected" | "connecting" | "connected" | "disconnecting";

export interface Device {
  id: number;
  name: string;
  codename: string;
  connection_status: DeviceState;
  connected: boolean;
  connection_settings: { ssid: string; ssid_hex?: string };
  interface: string | null;
  local_address: string | null;
  camera_address: string | null;
  signal_strength: number | null;
  address: string | null;
  reachable: boolean | null;
  last_connection_attempt: string | null;
  last_successful_connection: string | null;
  connection_error_code: string | null;
  connection_error_message: string | null;
  auto_reconnect: boolean;
  priority: number;
  /** Since when it is away that is being brought back. */
  lost_at: string | null;
}

export interface Interface {
  name: string;
  state: "available" | "in-use" | "unavailable";
  reason: string | null;
  device_id: number | null;
  mac_address: string | null;
  driver: string | null;
  usb: { vendor_id: string | null; product_id: string | null; product: string | null; port: string | null };
  bands: string[];
}

export interface Service {
  backend: string;
  backend_state: "ready" | "starting" | "unavailable";
  backend_reason: string;
}

export interface StatusUpdate {
  id: number;
  name: string;
  connection_status: DeviceState | "failed";
  connected: boolean;
  interface: string | null;
  last_connection_attempt: string | null;
  last_successful_connection: string | null;
  connection_error_code: string | null;
  connection_error_message: string | null;
}

export interface Network {
  ssid: string;
  ssid_hex: string;
  security: string;
  bands: string[];
  signal_strength: number;
  device_id: number | null;
}

export interface Air {
  networks: Network[];
  scanned_interfaces: string[];
  skipped_interfaces: Record<string, string>;
}

export interface Model {
  codename: string;
  device_name: string;
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

interface Told<Type extends string, Data> {
  type: Type;
  seq?: number;
  time: string;
  data: Data;
}

export type Event =
  | Told<"device.created" | "device.updated", Device>
  | Told<"device.removed", { id: number }>
  | Told<"device.connection_status.update", StatusUpdate>
  | Told<"device.signal", { id: number; signal_strength: number }>
  | Told<"interface.added" | "interface.updated", Interface>
  | Told<"interface.removed", { name: string }>
  | Told<"service.updated", Service>
  | Told<"tileset.updated", { tileset: string; available: boolean }>;
