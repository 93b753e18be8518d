// Requests to the service, whose addresses are relative to the page.

const devices = document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-devices"]')?.content ?? "";

/** What the service answers instead of what was asked for (RFC 9457). */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  /** Sentences by field. */
  readonly fields: Record<string, string[]>;

  constructor(status: number, body: Record<string, unknown>) {
    super(typeof body.detail === "string" ? body.detail : `The service answered with status ${status}.`);
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : "";
    const nested = body.connection_settings;
    const told = { ...body, ...(typeof nested === "object" && nested !== null ? nested : {}) };
    this.fields = Object.fromEntries(
      Object.entries(told).filter((entry): entry is [string, string[]] => Array.isArray(entry[1])),
    );
  }
}

interface Options {
  method?: string;
  body?: unknown;
  timeoutMs?: number;
}

/** Ask the service; throws Problem, also where it cannot be reached (status 0). */
export async function ask<Answer>(path: string, { method = "GET", body, timeoutMs = 40_000 }: Options = {}): Promise<Answer> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), timeoutMs);
  try {
    const response = await fetch(path, {
      method,
      signal: patience.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
    const text = await response.text();
    const value: unknown = text && response.headers.get("Content-Type")?.includes("json") ? JSON.parse(text) : {};
    if (!response.ok) throw new Problem(response.status, value as Record<string, unknown>);
    return value as Answer;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(0, { detail: "The service cannot be reached." });
  } finally {
    clearTimeout(timer);
  }
}

/** An address under the devices' own. */
export const deviceAddress = (rest = ""): string => `${devices}/${rest}`;

export const connect = (id: number) => ask(deviceAddress(`wifi/connect?device_id=${id}`), { method: "POST" });
export const disconnect = (id: number) => ask(deviceAddress(`wifi/disconnect?device_id=${id}`), { method: "POST" });
export const remove = (id: number) => ask(deviceAddress(`${id}/`), { method: "DELETE" });
export const change = (id: number, body: unknown) => ask(deviceAddress(`${id}/`), { method: "PATCH", body });
