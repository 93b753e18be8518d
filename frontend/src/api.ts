// Requests to the service, whose addresses are relative to the page.

import { takeDate } from "./hub_clock";
import { t } from "./messages";

const devices = document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-devices"]')?.content ?? "";

/** What the service answers instead of what was asked for (RFC 9457). */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  /** Sentences by field. */
  readonly fields: Record<string, string[]>;

  constructor(status: number, body: Record<string, unknown>) {
    super(typeof body.detail === "string" ? body.detail : t.service.status(status));
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : "";
    this.fields = status === 400 ? fieldsOf(body) : {};
  }
}

const lists = (members: unknown): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(members ?? {}).filter((entry): entry is [string, string[]] => Array.isArray(entry[1])),
  );

/** Sentences by field. What is wrong outside of the form alone stands in it once more, under `ssid`. */
function fieldsOf(body: Record<string, unknown>): Record<string, string[]> {
  const outside = lists(body);
  const inside = lists(body.connection_settings);
  const again = Object.values(outside).flat().join("\n");
  return again && inside.ssid?.join("\n") === again ? outside : { ...outside, ...inside };
}

interface Options {
  method?: string;
  body?: unknown;
  timeoutMs?: number;
  /** The media type of an answer that is wanted as it is, as a text. */
  accept?: string;
}

/** Whether what was asked for may have been done: the answer was lost on its way, or the hub itself does not know. */
export const isUnconfirmed = ({ code, status }: Problem): boolean =>
  code === "unconfirmed" || (code === "" && (status === 0 || status >= 500));

/** Make a request; throws Problem, also where it cannot be reached (status 0). */
export async function request<Answer>(path: string, { method = "GET", body, timeoutMs = 40_000, accept }: Options = {}): Promise<Answer> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), timeoutMs);
  const begun = Date.now();
  try {
    const response = await fetch(path, {
      method,
      signal: patience.signal,
      ...(accept === undefined ? {} : { headers: { Accept: accept } }),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
    takeDate(response.headers.get("Date"), begun, Date.now());
    const text = await response.text();
    if (response.ok && accept !== undefined) return text as Answer;
    const value: unknown = text && response.headers.get("Content-Type")?.includes("json") ? JSON.parse(text) : {};
    if (!response.ok) throw new Problem(response.status, value as Record<string, unknown>);
    return value as Answer;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(0, { detail: t.service.unreachable });
  } finally {
    clearTimeout(timer);
  }
}

/** An address under the devices' own. */
export const deviceAddress = (rest = ""): string => `${devices}/${rest}`;

export const remove = (id: number) => request(deviceAddress(`${id}/`), { method: "DELETE" });
export const change = (id: number, body: unknown) => request(deviceAddress(`${id}/`), { method: "PATCH", body });
