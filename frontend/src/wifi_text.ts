// The text of a Wi-Fi QR code: WIFI:T:WPA;S:name;P:password;;

export interface WifiText {
  ssid: string;
  password: string;
  isOpen: boolean;
  /** The security that it has, if that is one that cameras do not have. */
  unsupported: "" | "802.1X" | "WEP" | "SAE with a password identifier";
  /** What is wrong with its password. */
  fault: "" | "password-missing" | "password-unused";
}

/** More characters than any such text has with 32 octets of SSID and 64 of password, each escaped. */
const LONGEST = 512;
/** A member, `NAME:value`; generators leave out the last semicolons, and Samsung's adds a control character. */
const MEMBER = String.raw`([A-Za-z][A-Za-z0-9]*):((?:\\.|[^\\;])*)(?:;+|$)`;
const START = /^[\u0000-\u0020\u007f\u00a0\ufeff]*WIFI:/i;
const WHOLE = new RegExp(`^(?:${MEMBER})+$`, "s");
const CONTROL = /[\u0000-\u0020\u007f]+$/;
/** EAP method, its second phase and the anonymous identity. */
const OF_ENTERPRISE = ["E", "PH2", "A"];
/** The kinds of a network without a password; a text may leave its kind out. */
const OPEN = ["", "nopass"];

/** Whether a text is meant as that of a Wi-Fi QR code, even if it cannot be read. */
export const isWifiText = (text: string): boolean => START.test(text);

/** The network and the password in such a text; null if it has no network, or is something else. `wifimgrctl` reads
 * the same texts (wifimgrd/cli/_wifi_text.py). */
export function wifiText(text: string): WifiText | null {
  if (!isWifiText(text)) return null;
  const content = text.replace(START, "").replace(CONTROL, "");
  if ([...content].length > LONGEST || !WHOLE.test(content)) return null;
  const members = new Map<string, string>();
  for (const [, name, value] of content.matchAll(new RegExp(MEMBER, "gs"))) {
    const key = (name ?? "").toUpperCase();
    if (!members.has(key)) members.set(key, unescaped(value ?? ""));
  }
  const ssid = members.get("S");
  if (!ssid) return null;
  const kind = (members.get("T") ?? "").toLowerCase();
  const password = members.get("P") ?? "";
  const isOpen = password === "";
  return { ssid, password, isOpen, unsupported: unsupported(kind, members), fault: fault(kind, password) };
}

/** What is not said in full is never an open network, and no password is dropped. */
function fault(kind: string, password: string): WifiText["fault"] {
  if (password) return kind === "nopass" ? "password-unused" : "";
  return OPEN.includes(kind) ? "" : "password-missing";
}

function unsupported(kind: string, members: ReadonlyMap<string, string>): WifiText["unsupported"] {
  if (kind.includes("eap") || OF_ENTERPRISE.some((name) => members.get(name))) return "802.1X";
  if (kind === "wep") return "WEP";
  return members.get("I") ? "SAE with a password identifier" : "";
}

/** A value without its escapes, and without the quotes around it: NetworkManager's nmcli and applet put a value that
 * could be taken for hexadecimal digits in quotes. A quote that belongs to the value is escaped. */
function unescaped(value: string): string {
  const characters: string[] = value.match(/\\.|[^\\]/gs) ?? [];
  const isQuoted = characters.length > 1 && characters[0] === '"' && characters[characters.length - 1] === '"';
  return (isQuoted ? characters.slice(1, -1) : characters).map((one) => one.slice(-1)).join("");
}
