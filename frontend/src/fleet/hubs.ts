// The hubs of a broker and what they publish, kept by its messages alone. No element is touched here.

import { type CameraState, type LinkState, linkOf, stateOf } from "../camera_state";
import { type AdapterRecord, type CameraRecord, type KnownHub, parseAdapter, parseAvailability, parseCamera, parseHub } from "./records";

/** Whoever may write to the broker could publish any number of topics. */
export const MOST = { hubs: 5_000, cameras: 50_000, camerasOfHub: 1_000 };
const MOST_ADAPTERS_OF_HUB = 64;
const MOST_UNREADABLE = 64;
const BELOW_PREFIX = /^([A-Za-z0-9_-]{1,64})\/(availability|hub|devices\/([1-9]\d{0,14})|interfaces\/([^/]{1,256}))$/;

export interface Camera {
  record: CameraRecord;
  state: CameraState;
  link: LinkState;
  /** What it is found by. */
  words: string;
}

export interface Hub {
  id: string;
  isOnline: boolean;
  /** Whether the broker retains anything about that. */
  hasAvailability: boolean;
  record: KnownHub | null;
  cameras: Map<number, Camera>;
  adapters: Map<string, AdapterRecord>;
  /** When a message came that was not retained before, in milliseconds; null if none has. */
  lastMessage: number | null;
  /** Topics whose last message was no record. */
  unreadable: Set<string>;
}

const { compare } = new Intl.Collator(undefined, { numeric: true });

export class Hubs {
  private readonly byId = new Map<string, Hub>();
  private cameras = 0;
  private inOrder: readonly Hub[] | null = null;
  /** Something was not kept, since there is too much. */
  isCut = false;

  constructor(
    private readonly prefix: string,
    private readonly onHub: (id: string) => void,
  ) {}

  /** All of them in the order of their ids. */
  get all(): readonly Hub[] {
    this.inOrder ??= [...this.byId.values()].sort((one, other) => compare(one.id, other.id));
    return this.inOrder;
  }

  clear(): void {
    this.byId.clear();
    this.cameras = 0;
    this.inOrder = null;
    this.isCut = false;
  }

  /** Take a message; one without content removes what is at its topic. */
  take(topic: string, payload: Uint8Array, isRetained: boolean, now: number): void {
    const found = topic.startsWith(`${this.prefix}/`) ? BELOW_PREFIX.exec(topic.slice(this.prefix.length + 1)) : null;
    if (!found) return;
    const [, id = "", kind = "", camera, adapter] = found;
    const hub = this.byId.get(id) ?? (payload.length > 0 ? this.add(id) : null);
    if (!hub) return;
    if (!isRetained) hub.lastMessage = now;
    let isRead = true;
    if (kind === "availability") {
      const isOnline = parseAvailability(payload);
      hub.isOnline = isOnline ?? false;
      hub.hasAvailability = payload.length > 0;
      isRead = isOnline !== null;
    } else if (kind === "hub") {
      hub.record = parseHub(payload, id);
      isRead = hub.record !== null;
    } else if (camera !== undefined) {
      isRead = this.setCamera(hub, Number(camera), payload);
    } else if (adapter !== undefined) {
      isRead = this.setAdapter(hub, adapter, payload);
    }
    if (isRead || payload.length === 0) hub.unreadable.delete(kind);
    else if (hub.unreadable.size < MOST_UNREADABLE) hub.unreadable.add(kind);
    if (payload.length === 0) this.removeIfGone(hub);
  }

  private add(id: string): Hub | null {
    if (this.byId.size >= MOST.hubs) {
      this.isCut = true;
      return null;
    }
    const none = { isOnline: false, hasAvailability: false, record: null, lastMessage: null };
    const hub: Hub = { id, ...none, cameras: new Map(), adapters: new Map(), unreadable: new Set() };
    this.byId.set(id, hub);
    this.inOrder = null;
    this.onHub(id);
    return hub;
  }

  /** Of a hub that was removed from the broker nothing is retained. */
  private removeIfGone(hub: Hub): void {
    const isThere = hub.hasAvailability || hub.record || hub.cameras.size > 0 || hub.adapters.size > 0;
    if (isThere || hub.unreadable.size > 0) return;
    this.byId.delete(hub.id);
    this.inOrder = null;
  }

  private setCamera(hub: Hub, id: number, payload: Uint8Array): boolean {
    const record = payload.length > 0 ? parseCamera(payload, id) : null;
    const known = hub.cameras.get(id);
    if (!record) {
      if (hub.cameras.delete(id)) this.cameras -= 1;
      return false;
    }
    if (!known && (this.cameras >= MOST.cameras || hub.cameras.size >= MOST.camerasOfHub)) {
      this.isCut = true;
      return true;
    }
    if (!known) this.cameras += 1;
    const words = [record.name, record.connection_settings.ssid, record.codename, record.camera?.model ?? ""].join("\n").toLowerCase();
    hub.cameras.set(id, { record, state: stateOf(record), link: linkOf(record), words });
    return true;
  }

  private setAdapter(hub: Hub, topic: string, payload: Uint8Array): boolean {
    const record = payload.length > 0 ? parseAdapter(payload) : null;
    if (!record) {
      hub.adapters.delete(topic);
      return false;
    }
    if (!hub.adapters.has(topic) && hub.adapters.size >= MOST_ADAPTERS_OF_HUB) this.isCut = true;
    else hub.adapters.set(topic, record);
    return true;
  }
}
