// Takes as a table for a spreadsheet (RFC 4180): a line for each recording, and one without a time for each missing camera.

import type { MissingCamera, Recording, Take } from "./types";

type Value = string | number | null;

const COLUMNS: readonly [name: string, of: (row: Recording) => Value][] = [
  ["time", (row) => row.time],
  ["ended", (row) => row.ended],
  ["device_id", (row) => row.device_id],
  ["device_name", (row) => row.device_name],
  ["serial_number", (row) => row.serial_number],
  ["code", (row) => row.code],
  ["clock_offset_ms", (row) => row.clock_offset_ms],
  ["clock_bound_ms", (row) => row.clock_bound_ms],
  ["battery_level", (row) => row.battery_level],
  ["battery_level_after", (row) => row.battery_level_after],
  ["storage_free", (row) => row.storage_free],
  ["storage_free_after", (row) => row.storage_free_after],
  ["files", (row) => row.files && row.files.map((one) => one.name).join(" ")],
  ["size", (row) => row.files && row.files.reduce<number | null>((sum, one) => (sum === null || one.size === null ? null : sum + one.size), 0)],
];
/** What is known of a camera that did not record. */
const OF_MISSING: Record<string, (camera: MissingCamera) => Value> = {
  device_id: (camera) => camera.device_id,
  device_name: (camera) => camera.device_name,
  code: (camera) => camera.code,
};

/** A text that begins as a formula does is none to a spreadsheet once it has an apostrophe. */
const tame = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

function cell(value: Value): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = tame(value);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const line = (values: readonly Value[]): string => `${values.map(cell).join(",")}\r\n`;

export function csvOf(takes: readonly Take[]): string {
  const lines = [line(["take", ...COLUMNS.map(([name]) => name)])];
  for (const { time: take, recordings, missing } of takes) {
    for (const row of recordings) lines.push(line([take, ...COLUMNS.map(([, of]) => of(row))]));
    for (const camera of missing) lines.push(line([take, ...COLUMNS.map(([name]) => OF_MISSING[name]?.(camera) ?? null)]));
  }
  return lines.join("");
}
