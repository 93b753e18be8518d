// Several cameras in a text: texts of QR codes, one a line, or a CSV table; and what would come of each. `wifimgrctl import`
// reads the same (wifimgrd/cli/_camera_files.py). Values and words alone.

import { CsvFault, type CsvRow, csvRows } from "./csv_rows";
import { bulkWords } from "./messages/bulk";
import { GENERIC } from "./models";
import { visible } from "./sentences";
import { nearest, similar } from "./similar";
import type { Device, Model } from "./types";
import { isWifiText, wifiText } from "./wifi_text";

export const LARGEST_LIST = 1024 * 1024;
export const MOST_CAMERAS = 500;

/** Why a text is no list of cameras. */
export class ListFault extends Error {}

export interface Settings {
  name?: string;
  codename?: string;
  priority?: number;
  auto_reconnect?: boolean;
  auto_wake?: boolean;
  pin?: { mac: string } | { usb_port: string };
}

/** One camera of a list. */
export interface Entry {
  /** The list, and the line in it. */
  where: string;
  ssid: Uint8Array;
  /** Empty for an open network; null where the list does not have it. */
  password: string | null;
  settings: Settings;
  /** Why it cannot be registered. */
  problem: string;
}

const COLUMNS = ["name", "ssid", "ssid_hex", "password", "open", "codename", "priority", "auto_reconnect", "auto_wake", "pin_mac", "pin_usb_port"];
/** Those whose cells are texts, whatever a spreadsheet takes them for. */
const TEXTS = new Set(["name", "ssid", "ssid_hex", "codename", "pin_mac", "pin_usb_port"]);
const MONTH = "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?";
const BLANK = String.raw`[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`;
/** What is neither a letter nor a number, or is a number or an underscore. */
const MARK = String.raw`(?:[^\p{L}\p{N}_]|\p{Nd}|_)`;
/** What a spreadsheet changes: formulas, dates, numbers, times; an apostrophe before a cell says that it is a text. */
const NO_TEXT = new RegExp(
  [
    String.raw`^(?:${BLANK}*[=+\-@'\uff1d\uff0b\uff0d\uff20].*`,
    String.raw`(?!(?:0|[1-9][0-9]{0,9})$)(?=.*\p{Nd})${MARK}*`,
    String.raw`${BLANK}*[\p{Nd}.,]+[ed][+\-]?\p{Nd}+${BLANK}*`,
    String.raw`(?=.*\p{Nd})${MARK}*(?:${MONTH})${MARK}*`,
    String.raw`${BLANK}*\p{Nd}[\p{Nd}:., ]*(?: [ap]|[ap]m)${BLANK}*`,
    String.raw`${BLANK}*(?:true|false)${BLANK}*)$`,
  ].join("|"),
  "isu",
);
const DELIMITERS = [",", ";", "\t"];
/** The first line that Excel writes and reads. */
const NAMED_DELIMITER = /^"?sep=([,;\t|:])"?[,;\t|:]*(\r\n|\r|\n)/i;
const EDGES = new RegExp(`^${BLANK}+|${BLANK}+$`, "gu");
const MAC = /^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$/;
const USB_PORT = /^[0-9]{1,4}-[0-9]{1,4}(\.[0-9]{1,4}){0,8}$/;
const HIGHEST_PRIORITY = 1_000;
const LONGEST_TEXT = 128;
const LONGEST_SSID = 32;
/** How formats are recognized that are not read. */
const OTHERS: readonly [RegExp, keyof typeof bulkWords.formats][] = [
  [/^[ \t]*(network[ \t]*=[ \t]*\{|ctrl_interface[ \t]*=)/m, "supplicant"],
  [/^network:[ \t\r]*$/m, "netplan"],
  [/^\[(Security|Settings)\][ \t\r]*$/m, "iwd"],
  [/^\s*[[{]\s*[[\]{}"]/, "json"],
];

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const stripped = (text: string): string => text.replace(EDGES, "");
const keyOf = (ssid: Uint8Array): string => ssid.join(",");

/** The network's name, where it is a text; the API takes no other. */
export function textOf(ssid: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(ssid);
  } catch {
    return null;
  }
}

/** A network's name for people; of what is too long for one the beginning, since it may be anything. */
export const networkOf = ({ ssid }: Entry): string => visible(new TextDecoder().decode(ssid.slice(0, LONGEST_SSID)));

/** The camera's name, or else its network. */
export const titleOf = (entry: Entry): string => [...(entry.settings.name ?? networkOf(entry))].slice(0, LONGEST_TEXT).join("");

/** The text in a file; throws ListFault. */
export function decoded(data: Uint8Array, source: string): string {
  if (data.length > LARGEST_LIST) throw new ListFault(bulkWords.tooLarge(source, LARGEST_LIST));
  const begins = (...bytes: number[]) => bytes.every((one, index) => data[index] === one);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    throw new ListFault(bulkWords.notText(source, begins(0x50, 0x4b, 3, 4) ? "sheet" : begins(0xff, 0xfe) ? "utf16" : "other"));
  }
}

/** The cameras of a text; throws ListFault if it is no list of them. */
export function entriesOf(text: string, source: string): Entry[] {
  if (stripped(text) === "") throw new ListFault(bulkWords.empty(source));
  if (source.endsWith(".nmconnection") || (isProfile(text) && !isWifiText(text))) throw new ListFault(bulkWords.profile(source));
  const found = isWifiText(text) ? scanned(text, source) : ofTable(text, source);
  if (found.length > MOST_CAMERAS) throw new ListFault(bulkWords.tooMany(found.length, MOST_CAMERAS));
  return found;
}

function isProfile(text: string): boolean {
  const lines = text.split("\n").map(stripped);
  return (lines.find((line) => line && !line.startsWith("#")) ?? "").startsWith("[") && lines.includes("[connection]");
}

function scanned(text: string, source: string): Entry[] {
  return text.split("\n").flatMap((line, index): Entry[] => {
    if (stripped(line) === "") return [];
    const read = wifiText(line);
    const entry = { where: bulkWords.where(source, index + 1), ssid: bytesOf(read?.ssid ?? ""), password: null, settings: {}, problem: "" };
    if (!read) return [{ ...entry, problem: bulkWords.notWifiText }];
    if (read.unsupported) return [{ ...entry, problem: bulkWords.unsupported(read.unsupported) }];
    if (read.fault) return [{ ...entry, problem: bulkWords.textFaults[read.fault] }];
    return [checked({ ...entry, password: read.password })];
  });
}

function ofTable(text: string, source: string): Entry[] {
  try {
    return csvEntries(text, source).map(checked);
  } catch (fault) {
    const format = fault instanceof ListFault && OTHERS.find(([mark]) => mark.test(text))?.[1];
    throw format ? new ListFault(bulkWords.otherFormat(source, bulkWords.formats[format])) : fault;
  }
}

function csvEntries(text: string, source: string): Entry[] {
  const named = NAMED_DELIMITER.exec(text);
  const table = named ? text.slice(named[0].length) : text;
  const [head = ""] = table.split(/[\r\n]/, 1);
  const count = (delimiter: string) => head.split(delimiter).length;
  const delimiter = named?.[1] ?? DELIMITERS.reduce((best, one) => (count(one) > count(best) ? one : best));
  const skipped = named ? 1 : 0;
  let rows: CsvRow[];
  try {
    rows = csvRows(table, delimiter);
  } catch (fault) {
    if (!(fault instanceof CsvFault)) throw fault;
    throw new ListFault(`${bulkWords.where(source, fault.line + skipped)}: ${fault.message}`);
  }
  const names = columnsOf(rows[0]?.cells ?? [], source);
  return rows
    .slice(1)
    .filter(({ cells }) => cells.some((one) => stripped(one) !== ""))
    .map(({ cells, line }) => entryOf(names, cells, bulkWords.where(source, line + skipped)));
}

/** The names of the columns; one that a spreadsheet has added has none. */
function columnsOf(head: readonly string[], source: string): string[] {
  const names = head.map(stripped);
  for (const [index, name] of names.entries()) {
    if (!name || COLUMNS.includes(name)) continue;
    // Quoted only if it is like one of a column: the text may be anything.
    const hint = similar(name, COLUMNS);
    throw new ListFault(hint ? bulkWords.unknownColumn(source, name, hint) : bulkWords.unknownColumnAt(source, index + 1));
  }
  const named = names.filter(Boolean);
  if (new Set(named).size < named.length) throw new ListFault(bulkWords.columnTwice(source));
  if (!named.includes("ssid") && !named.includes("ssid_hex")) throw new ListFault(bulkWords.noColumns(source));
  return names;
}

/** A row. Blanks belong to its cells (RFC 4180, 2.4); a cell is not quoted in an error: a password may have got into it. */
function entryOf(names: readonly string[], row: readonly string[], where: string): Entry {
  const entry: Entry = { where, ssid: new Uint8Array(), password: null, settings: {}, problem: "" };
  const cells = new Map(names.slice(0, row.length).flatMap((name, index) => (name ? [[name, row[index] ?? ""] as const] : [])));
  const least = names.filter(Boolean).length;
  if (cells.size < least || row.slice(names.length).some((one) => stripped(one) !== "")) return { ...entry, problem: bulkWords.otherCells };
  const nameless = names.findIndex((name, index) => !name && stripped(row[index] ?? "") !== "");
  if (nameless >= 0) return { ...entry, problem: bulkWords.namelessCell(nameless + 1) };
  const password = cells.get("password") ?? "";
  const cell = (name: string): string => {
    const text = cells.get(name) ?? "";
    if (!TEXTS.has(name)) return stripped(text);
    return text.startsWith("'") && NO_TEXT.test(text.slice(1)) ? text.slice(1) : text;
  };
  try {
    const ssid = ssidOf(bytesOf(cell("ssid")), cell("ssid_hex"));
    const isOpen = switchOf("open", cell("open") || "no");
    const settings = settingsOf(cell);
    if (ssid.length === 0) return { ...entry, settings, problem: bulkWords.noSsid };
    const problem = isOpen && password ? bulkWords.openWithPassword : "";
    return { ...entry, ssid, settings, password: password || isOpen ? password : null, problem };
  } catch (fault) {
    if (!(fault instanceof RowFault)) throw fault;
    return { ...entry, ssid: bytesOf(cell("ssid")), problem: fault.message };
  }
}

class RowFault extends Error {}

function ssidOf(text: Uint8Array, hex: string): Uint8Array {
  if (!/^[\t-\r ]*([0-9a-fA-F]{2}[\t-\r ]*)*$/.test(hex)) throw new RowFault(bulkWords.notHex);
  const data = Uint8Array.from(hex.match(/[0-9a-fA-F]{2}/g) ?? [], (one) => parseInt(one, 16));
  if (text.length > 0 && data.length > 0 && keyOf(text) !== keyOf(data)) throw new RowFault(bulkWords.twoNetworks);
  return data.length > 0 ? data : text;
}

function settingsOf(cell: (name: string) => string): Settings {
  const given = (name: string) => stripped(cell(name)) !== "";
  const settings: Settings = {};
  if (given("name")) settings.name = cell("name");
  if (given("codename")) settings.codename = cell("codename");
  if (given("priority")) settings.priority = priorityOf(cell("priority"));
  for (const name of ["auto_reconnect", "auto_wake"] as const) if (given(name)) settings[name] = switchOf(name, cell(name));
  const [mac, port] = [stripped(cell("pin_mac")), stripped(cell("pin_usb_port"))];
  if (mac && port) throw new RowFault(bulkWords.twoPins);
  if (mac && !MAC.test(mac)) throw new RowFault(bulkWords.notMac);
  if (port && !USB_PORT.test(port)) throw new RowFault(bulkWords.notPort);
  if (mac || port) settings.pin = mac ? { mac } : { usb_port: port };
  return settings;
}

function switchOf(name: string, text: string): boolean {
  const word = text.toLowerCase();
  if (word !== "yes" && word !== "no") throw new RowFault(bulkWords.notSwitch(name));
  return word === "yes";
}

function priorityOf(text: string): number {
  if (!/^[+-]?[0-9]{1,9}$/.test(text) || Math.abs(Number(text)) > HIGHEST_PRIORITY) throw new RowFault(bulkWords.notPriority(HIGHEST_PRIORITY));
  return Number(text);
}

/** The same, with its problem if the hub would refuse it. */
function checked(entry: Entry): Entry {
  if (entry.problem) return entry;
  if (entry.password === null) return { ...entry, problem: bulkWords.noPassword };
  const latin = String.fromCharCode(...entry.ssid.slice(0, LONGEST_SSID * 2));
  const { name, codename } = entry.settings;
  const faults = {
    codename: codename === undefined ? "" : faultOfText(codename),
    ssid: isWifiText(latin) ? bulkWords.isWifiText : faultOfSsid(entry.ssid),
    password: faultOfPassword(entry.password),
    name: name === undefined ? "" : isWifiText(name) ? bulkWords.isWifiText : faultOfText(name),
  };
  const found = Object.entries(faults).filter(([, fault]) => fault);
  return { ...entry, problem: found.map(([field, fault]) => `${field}: ${fault}`).join("; ") };
}

const hasControl = (text: string): boolean => /[\u0000-\u001f\u007f-\u009f]/.test(text);

const faultOfText = (text: string): string => ([...text].length > LONGEST_TEXT ? bulkWords.longText(LONGEST_TEXT) : hasControl(text) ? bulkWords.control : "");

function faultOfSsid(ssid: Uint8Array): string {
  if (ssid.length > LONGEST_SSID) return bulkWords.longSsid(LONGEST_SSID, ssid.length);
  if (ssid.includes(0)) return bulkWords.nul;
  return hasControl(textOf(ssid) ?? "") ? bulkWords.control : "";
}

function faultOfPassword(text: string): string {
  if (text === "" || /^[0-9a-fA-F]{64}$/.test(text)) return "";
  if (!/^[ -~]*$/.test(text)) return bulkWords.notAscii;
  return text.length < 8 || text.length > 63 ? bulkWords.passwordLength : "";
}

export type Result = "new" | "registered" | "known" | "failed" | "unsure";

/** An entry, and what is planned for it, or what came of it. */
export interface Planned {
  entry: Entry;
  codename: string;
  result: Result;
  reason: string;
  id: number | null;
}

/** What would come of each, before anything is done. */
export function planned(entries: readonly Entry[], devices: Iterable<Device>, models: readonly Model[]): Planned[] {
  const everyone = [...devices].map((one) => ({ id: one.id, name: one.name, key: keyOf(bytesOf(one.connection_settings.ssid)) }));
  const seen = new Map<string, string>();
  const called = new Map<string, string>();
  return entries.map((entry) => {
    const { name } = entry.settings;
    const codename = entry.settings.codename ?? (guessed(models, textOf(entry.ssid) ?? "") || GENERIC);
    const key = keyOf(entry.ssid);
    // Several of one network are different cameras if their names differ.
    const identity = JSON.stringify([key, name ?? ""]);
    const ofNetwork = everyone.filter((one) => one.key === key);
    const same = name === undefined ? ofNetwork[ofNetwork.length - 1] : ofNetwork.find((one) => one.name === name);
    const holder = everyone.find((one) => one.name === name);
    const plan = (result: Result, reason = ""): Planned => ({ entry, codename, result, reason, id: same?.id ?? null });
    // A camera that is there needs no password, as one of an export has none.
    if (entry.problem) return same && entry.password === null ? plan("known") : plan("failed", entry.problem);
    if (same) return plan("known", same.name === titleOf(entry) ? "" : bulkWords.knownAs(same.name));
    const before = seen.get(identity);
    if (before !== undefined) return plan("failed", bulkWords.twice(before));
    if (name !== undefined && holder) return plan("failed", bulkWords.nameTaken(holder.id));
    const namesake = name === undefined ? undefined : called.get(name);
    if (namesake !== undefined) return plan("failed", bulkWords.nameTwice(namesake));
    if (textOf(entry.ssid) === null) return plan("failed", bulkWords.noTextSsid);
    seen.set(identity, entry.where);
    if (name !== undefined) called.set(name, entry.where);
    return plan("new", noteOn(entry, codename, models, ofNetwork[ofNetwork.length - 1]));
  });
}

/** What is rarely meant, and is taken as it stands: `other` is a registered camera of the same network. */
function noteOn(entry: Entry, codename: string, models: readonly Model[], other: { name: string } | undefined): string {
  const names = new Map(models.map((one) => [codenameKey(one.codename), one.codename]));
  const key = codenameKey(codename);
  if (models.length > 0 && !names.has(key)) return bulkWords.unknownModel(codename, names.get(nearest(key, [...names.keys()]) ?? "") ?? "");
  if (other) return bulkWords.alsoRegistered(other.name);
  return entry.ssid[0] === 0x20 || entry.ssid[entry.ssid.length - 1] === 0x20 ? bulkWords.blanks : "";
}

/** Codenames with the same key mean the same model, however they are written. */
const codenameKey = (codename: string): string => codename.replace(/[_-]/g, "").toLowerCase();

/** The model that a network probably is of, by its name; empty if none matches or several do. */
function guessed(models: readonly Model[], ssid: string): string {
  const fitting = models.filter(({ ssid_pattern: pattern }) => pattern && isWhole(pattern, ssid));
  return fitting.length === 1 ? (fitting[0]?.codename ?? "") : "";
}

function isWhole(pattern: string, text: string): boolean {
  try {
    return new RegExp(`^(?:${pattern.replace(/\(\?P</g, "(?<")})$`, "u").test(text);
  } catch {
    return false; // of a catalog of the user's own, in Python's words
  }
}

/** The request that registers it. */
export function requestOf({ entry, codename }: Planned, isPatient: boolean): Record<string, unknown> {
  return {
    ...entry.settings,
    codename,
    connection_type: "wifi",
    connection_settings: { ssid: textOf(entry.ssid), password: entry.password },
    ...(isPatient ? { when_free: true } : {}),
  };
}
