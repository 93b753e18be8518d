// The management channel: joined, followed, joined again from where it was left.

import { batch } from "@preact/signals";
import { Problem, request } from "./api";
import { channelAddress } from "./channel_address";
import { clear } from "./draft";
import { t } from "./messages";
import { devices, forget, heardAgain, link, linkReason, takeEvent, takeSnapshot, wroteLost } from "./state";
import type { Event, Snapshot } from "./types";

const FIRST_PAUSE_MS = 300;
const LAST_PAUSE_MS = 5_000;
/** A cut cable closes nothing and answers nothing: so long a join may take (Chromium holds a WebSocket back for up to
 * 5 s after many that failed), */
const JOIN_TIMEOUT_MS = 6_000;
/** and so often the service is asked whether it is still there. */
const CHECK_MS = 4_000;
const CHECK_TIMEOUT_MS = 3_000;
/** How long events of a burst are gathered: the longer the list, the more it costs to draw, but never longer than what
 * a person takes for a delay. */
const BURST_MS_PER_CAMERA = 0.5;
const LONGEST_BURST_MS = 100;

let socket: WebSocket | null = null;
let mark: { epoch: string; seq: number } | null = null;
let pauseMs = FIRST_PAUSE_MS;
let waiting: Event[] = [];
let burst: ReturnType<typeof setTimeout> | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
/** The other tabs of this browser, which have the same cookie. */
const tabs = new BroadcastChannel("wifimgrd");

export function follow(): void {
  join();
  tabs.onmessage = lock;
  setInterval(() => void check(), CHECK_MS);
  addEventListener("offline", () => drop(t.service.noNetwork));
  addEventListener("online", joinNow);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void check();
  });
}

/** Join at once, e.g. after a login. */
export function joinNow(): void {
  if (link.value === "live") return;
  pauseMs = FIRST_PAUSE_MS;
  join();
}

/** End the session in all tabs of this browser: the cookie goes, and what it got; throws Problem. */
export async function signOut(): Promise<void> {
  await request("session", { method: "DELETE" });
  lock();
  tabs.postMessage("signed out");
}

function lock(): void {
  clearTimeout(retry);
  leave();
  mark = null;
  waiting = [];
  forget();
  clear();
  link.value = "locked";
}

function join(): void {
  clearTimeout(retry);
  leave();
  const first = window.firstChannel;
  window.firstChannel = null;
  const address = channelAddress();
  if (mark) address.searchParams.set("since", `${mark.epoch}:${mark.seq}`);
  const joined = first?.socket ?? new WebSocket(address);
  socket = joined;
  setTimeout(() => {
    if (socket === joined && joined.readyState === WebSocket.CONNECTING) drop(t.service.noAnswer);
  }, JOIN_TIMEOUT_MS);
  joined.onopen = () => {
    // With nothing missed nothing is said; without a mark a snapshot comes first.
    if (mark) live();
  };
  joined.onmessage = (message: MessageEvent<string>) => read(message.data);
  joined.onclose = () => {
    if (socket === joined) void lost();
  };
  // What happened to the first one before this.
  first?.messages.forEach(read);
  if (joined.readyState === WebSocket.CLOSED) void lost();
}

const read = (text: string): void => take(JSON.parse(text) as Snapshot | Event);

function take(message: Snapshot | Event): void {
  if (message.type === "snapshot") {
    showWaiting();
    mark = { epoch: message.epoch, seq: message.seq };
    takeSnapshot(message);
    live();
    return;
  }
  if (mark && message.seq !== undefined) mark.seq = message.seq;
  waiting.push(message);
  if (burst === undefined) showWaiting();
}

/** The first event of a burst is shown at once, the others together after a moment: two hundred cameras may change. */
function showWaiting(): void {
  clearTimeout(burst);
  burst = undefined;
  if (waiting.length === 0) return;
  const events = waiting;
  waiting = [];
  batch(() => events.forEach(takeEvent));
  burst = setTimeout(showWaiting, Math.min(LONGEST_BURST_MS, devices.value.size * BURST_MS_PER_CAMERA));
}

function live(): void {
  pauseMs = FIRST_PAUSE_MS;
  if (link.value !== "starting") heardAgain();
  link.value = "live";
  linkReason.value = "";
}

function leave(): void {
  const left = socket;
  socket = null;
  left?.close();
}

function drop(reason: string): void {
  leave();
  if (link.value === "live") wroteLost(reason);
  if (link.value !== "locked") link.value = "lost";
  linkReason.value = reason;
  clearTimeout(retry);
  retry = setTimeout(join, pauseMs);
  pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS);
}

/** The channel ended or was refused; the answer to a plain request of the same address has the reason. */
async function lost(): Promise<void> {
  drop(t.service.channelLost);
  try {
    await request("ws/management/", { timeoutMs: CHECK_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof Problem) || socket !== null) return;
    if (error.status === 401) {
      clearTimeout(retry);
      link.value = "locked";
    } else if (error.status !== 400 && error.status !== 0) {
      linkReason.value = error.message;
    }
  }
}

async function check(): Promise<void> {
  if (document.hidden || link.value !== "live") return;
  const checked = socket;
  try {
    await request("healthz", { timeoutMs: CHECK_TIMEOUT_MS });
  } catch {
    if (socket === checked) drop(t.service.noAnswer);
  }
}
