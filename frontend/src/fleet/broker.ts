// The connection to the broker: MQTT 5 over WebSocket, what is subscribed to, and the commands.

import type { IClientOptions, MqttClient } from "mqtt";
import { signal } from "@preact/signals";
import type { Verb } from "../commands";
import { fleetWords } from "../messages/fleet";
import { Hubs } from "./hubs";
import { parseAnswer, type Answer } from "./records";
import { changed } from "./frame";

const meta = (name: string): string => document.querySelector<HTMLMetaElement>(`meta[name="wifimgrd-${name}"]`)?.content ?? "";

/** Empty where there is none, as in a copy of the page that nobody put one into. */
export const address = /^wss?:\/\//.test(meta("broker")) ? meta("broker") : "";
const prefix = meta("prefix");

/** Only `live` is the present; `loading` is until everything that is retained has been asked for. */
export type Link = "signed-out" | "connecting" | "loading" | "live" | "lost";

export const link = signal<Link>("signed-out");
/** Why it is lost, or why nobody could sign in. */
export const reason = signal("");
/** What the broker does not allow, as a sentence. */
export const denied = signal("");

const CONNECT_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 10_000;
/** A hidden tab has its timers once a minute: pings, at half of this, are still in time. */
const KEEPALIVE_S = 120;
/** A cut cable closes nothing: so often a page in view looks whether anything arrived, */
const CHECK_MS = 5_000;
/** and after so long without anything it pings the broker, which has as long as CHECK_MS for its answer. */
const SILENT_MS = 10_000;
const ANSWER_TIMEOUT_MS = 30_000;
const COMMAND_EXPIRY_S = 15;
const MOST_COMMANDS = 64;
/** A broker drops what does not fit into a client's queue (1,000 messages in Mosquitto), so that what is
 * retained is asked for in parts: those of so many hubs at once. */
const HUBS_AT_ONCE = 20;
const LARGEST_PACKET = 128 * 1024;

/** Reason codes of MQTT 5, and return codes of 3.1.1. */
const REFUSED_USER = [134, 135, 138, 140, 4, 5];
const REFUSED_VERSION = [132, 1];

/** The library is a part of its own, loaded meanwhile. */
const library = import("mqtt");
library.catch(() => undefined);

/** Why a command has no answer. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly code: string | null = null,
  ) {
    super(message);
  }
}

/** What this page commands a camera. */
export type CameraVerb = Verb | "start_recording" | "stop_recording";

interface Pending {
  hub: string;
  /** Until the broker has the command. */
  messageId: number | undefined;
  resolve: (answer: Answer) => void;
  reject: (error: CommandError) => void;
}

let client: MqttClient | null = null;
/** The level of the response topics that is this page's own. It is another one than the client id, which nobody else
 * may know: who connects with it ends the page's connection. */
let ownLevel = "";
let numbered = 0;
/** Counts the connections. */
let connection = 0;
/** When something arrived, and when the broker was last asked for something. */
let receivedAt = 0;
let pingedAt = 0;
let pauseMs = FIRST_PAUSE_MS;
const pending = new Map<string, Pending>();
/** Hubs whose records are not subscribed to yet. */
let unread: string[] = [];
let reading: Promise<void> | null = null;
/** Why the broker refused the connection that is about to end. */
let refusal = "";
/** Whether an attempt to connect again is under way; the library would begin a second one. */
let isTrying = false;

export const hubs = new Hubs(prefix, (id) => {
  unread.push(id);
  reading ??= readHubs();
});

const newId = (): string =>
  `wifimgrd-fleet-${[...crypto.getRandomValues(new Uint8Array(8))].map((one) => one.toString(16).padStart(2, "0")).join("")}`;

export async function signIn(user: string, password: string): Promise<void> {
  link.value = "connecting";
  reason.value = "";
  isTrying = false;
  let connect;
  try {
    ({ connect } = (await library).default);
  } catch {
    leave(fleetWords.libraryUnreadable);
    return;
  }
  ownLevel = newId();
  const options: IClientOptions = {
    protocolVersion: 5,
    clientId: newId(),
    clean: true,
    ...(user ? { username: user, password } : {}),
    keepalive: KEEPALIVE_S,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: nextPause(),
    reconnectOnConnackError: true,
    resubscribe: false,
    queueQoSZero: false,
    properties: { maximumPacketSize: LARGEST_PACKET, sessionExpiryInterval: 0 },
    timerVariant: "native", // the other one is a worker, from an address that the page's policy does not admit
  };
  let made: MqttClient;
  try {
    made = connect(address, options);
  } catch {
    leave(fleetWords.unreachable(address)); // such as without TLS, on a page that was loaded with it
    return;
  }
  client = made;
  made.on("connect", () => {
    if (client !== made) return;
    isTrying = false;
    pauseMs = FIRST_PAUSE_MS;
    made.options.reconnectPeriod = nextPause();
    void readAll();
  });
  made.on("packetreceive", () => (receivedAt = Date.now()));
  made.on("reconnect", () => {
    isTrying = true;
    made.options.reconnectPeriod = nextPause();
  });
  made.on("message", (topic, payload, packet) => {
    if (client !== made) return;
    if (topic.endsWith(`/response/${ownLevel}`)) takeAnswer(topic, payload, String(packet.properties?.correlationData));
    else hubs.take(topic, payload, packet.retain, Date.now());
    changed();
  });
  made.on("close", () => {
    if (client !== made) return;
    isTrying = false;
    lost(refusal || (isJoined() ? fleetWords.connectionLost : fleetWords.unreachable(address)));
    refusal = "";
  });
  made.on("error", (error) => {
    if (client !== made) return;
    const code = "code" in error ? Number(error.code) : NaN;
    if (REFUSED_USER.includes(code)) leave(fleetWords.refused);
    else if (REFUSED_VERSION.includes(code)) leave(fleetWords.noMqtt5);
    else if (code >= 0) refusal = fleetWords.refusedBecause(error.message);
  });
}

/** Whether the messages of the broker arrive. */
export const isJoined = (): boolean => link.value === "live" || link.value === "loading";

export const signOut = (): void => leave("");

/** Connect at once, and not after the pause. */
export function tryNow(): void {
  if (link.value !== "lost" || isTrying) return;
  pauseMs = FIRST_PAUSE_MS;
  client?.reconnect();
}
addEventListener("online", tryNow);

function check(): void {
  if (document.hidden || !client?.connected) return;
  const now = Date.now();
  if (pingedAt > receivedAt) {
    if (now - pingedAt >= CHECK_MS) client.stream.destroy();
  } else if (now - receivedAt > SILENT_MS) {
    pingedAt = now;
    client.sendPing();
  }
}
setInterval(check, CHECK_MS);

/** The next pause: twice the last one, and at random, so that not all pages come back at once. */
function nextPause(): number {
  const pause = pauseMs;
  pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS);
  return pause * (1 + Math.random());
}

function leave(why: string): void {
  const left = client;
  client = null;
  left?.end(true);
  pauseMs = FIRST_PAUSE_MS;
  forgetCommands();
  hubs.clear();
  denied.value = "";
  reason.value = why;
  link.value = "signed-out";
}

function lost(why: string): void {
  reason.value = why;
  link.value = "lost";
  forgetCommands();
  changed();
}

function forgetCommands(): void {
  for (const { reject } of [...pending.values()]) reject(new CommandError(fleetWords.lostMeanwhile));
}

/** Subscribe to filters; false if the broker does not allow that, or the connection is lost. */
async function subscribe(...topics: string[]): Promise<boolean> {
  const asked = client;
  if (!asked?.connected) return false; // otherwise the library would keep it for the next connection
  try {
    // Not with QoS 1: over a slow link that takes a round trip for every few of what is retained.
    await asked.subscribeAsync(topics.map((one) => `${prefix}/${one}`), { qos: 0 });
    return client === asked;
  } catch {
    if (client === asked && asked.connected) denied.value = fleetWords.denied(prefix);
    return false;
  }
}

/** With each connection everything is read anew: what was removed meanwhile is not retained. */
async function readAll(): Promise<void> {
  connection += 1;
  const own = connection;
  hubs.clear();
  unread = [];
  denied.value = "";
  link.value = "loading";
  reason.value = "";
  changed();
  for (const one of [`+/response/${ownLevel}`, "+/availability", "+/hub"]) await subscribe(one);
  await reading;
  if (own === connection && client?.connected) link.value = "live";
}

async function readHubs(): Promise<void> {
  for (let next = unread.splice(0, HUBS_AT_ONCE); next.length > 0; next = unread.splice(0, HUBS_AT_ONCE)) {
    await subscribe(...next.flatMap((id) => [`${id}/devices/+`, `${id}/interfaces/+`]));
  }
  reading = null;
}

/** Send a command to a camera; throws CommandError. */
export function command(hub: string, camera: number, verb: CameraVerb, options: Record<string, boolean> = {}): Promise<Answer> {
  const asked = client;
  if (!asked?.connected) return Promise.reject(new CommandError(fleetWords.notConnected));
  if (pending.size >= MOST_COMMANDS) return Promise.reject(new CommandError(fleetWords.tooManyCommands));
  numbered += 1;
  const id = `${ownLevel}-${numbered}`;
  return new Promise<Answer>((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(new CommandError(fleetWords.noAnswer))), ANSWER_TIMEOUT_MS);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      pending.delete(id);
      // Otherwise it would be sent again with the next connection, however late that is.
      if (sent.messageId !== undefined) asked.removeOutgoingMessage(sent.messageId);
      settle();
    };
    const sent: Pending = {
      hub,
      messageId: undefined,
      resolve: (answer) => end(() => resolve(answer)),
      reject: (error) => end(() => reject(error)),
    };
    pending.set(id, sent);
    const properties = {
      responseTopic: `${prefix}/${hub}/response/${ownLevel}`,
      correlationData: id as unknown as Buffer, // the library takes texts, too, and browsers have no Buffer
      messageExpiryInterval: COMMAND_EXPIRY_S,
    };
    const payload = JSON.stringify({ command: verb, options });
    asked.publish(`${prefix}/${hub}/devices/${camera}/command`, payload, { qos: 1, properties }, (error) => {
      sent.messageId = undefined;
      if (error && pending.has(id)) sent.reject(new CommandError(fleetWords.commandDenied));
    });
    sent.messageId = asked.getLastMessageId();
  });
}

function takeAnswer(topic: string, payload: Uint8Array, id: string): void {
  const sent = pending.get(id);
  // An answer comes from the hub that was asked, which alone may write to its topics.
  if (!sent || topic !== `${prefix}/${sent.hub}/response/${ownLevel}`) return;
  const answer = parseAnswer(payload);
  if (!answer) sent.reject(new CommandError(fleetWords.unreadableAnswer));
  else if (!answer.ok) sent.reject(new CommandError(answer.message, answer.code ?? "internal"));
  else sent.resolve(answer);
}
