// The text of a Wi-Fi QR code: WIFI:T:WPA;S:name;P:password;;

export interface WifiText {
  ssid: string;
  password: string;
  isOpen: boolean;
}

/** Longer than any such text with 32 octets of SSID and 64 of password, each escaped. */
const LONGEST = 512;
/** A member, `NAME:value`; generators leave out the last semicolons, and Samsung's adds a control character. */
const MEMBER = String.raw`([A-Za-z][A-Za-z0-9]*):((?:\\.|[^\\;])*)(?:;+|$)`;
const WHOLE = new RegExp(`^WIFI:(?:${MEMBER})+$`, "i");

/** Whether a text is meant as that of a Wi-Fi QR code, even if it cannot be read. */
export const isWifiText = (text: string): boolean => /^\s*WIFI:/i.test(text);

/** The network and the password in such a text; null if it has no network, or is something else. */
export function wifiText(text: string): WifiText | null {
  const trimmed = text.replace(/^\s+|[\s\u0000-\u001f\u007f]+$/g, "");
  if (trimmed.length > LONGEST || !WHOLE.test(trimmed)) return null;
  const members = new Map<string, string>();
  for (const [, name, value] of trimmed.slice("WIFI:".length).matchAll(new RegExp(MEMBER, "g"))) {
    const key = (name ?? "").toUpperCase();
    if (!members.has(key)) members.set(key, unescaped(value ?? ""));
  }
  const ssid = members.get("S");
  if (!ssid) return null;
  const password = members.get("P") ?? "";
  return { ssid, password, isOpen: password === "" || members.get("T")?.toLowerCase() === "nopass" };
}

/** A value without its escapes, and without the quotes around it: NetworkManager's nmcli and applet put a value that
 * could be taken for hexadecimal digits in quotes. A quote that belongs to the value is escaped. */
function unescaped(value: string): string {
  const characters: string[] = value.match(/\\.|[^\\]/gs) ?? [];
  const isQuoted = characters.length > 1 && characters[0] === '"' && characters[characters.length - 1] === '"';
  return (isQuoted ? characters.slice(1, -1) : characters).map((one) => one.slice(-1)).join("");
}
