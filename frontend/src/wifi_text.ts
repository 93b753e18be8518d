// The text of a Wi-Fi QR code: WIFI:T:WPA;S:name;P:password;;

export interface WifiText {
  ssid: string;
  password: string;
  isOpen: boolean;
}

/** Longer than any such text with 32 octets of SSID and 64 of password, each escaped. */
const LONGEST = 512;

/** What such a text says; null where it is none, or not whole. */
export function wifiText(text: string): WifiText | null {
  const trimmed = text.trim();
  if (trimmed.length > LONGEST || !/^WIFI:.*;;$/i.test(trimmed)) return null;
  const members = new Map<string, string>();
  for (const [, name, value] of trimmed.slice(5).matchAll(/([A-Za-z]+):((?:\\.|[^\\;])*);/g)) {
    const key = (name ?? "").toUpperCase();
    if (!members.has(key)) members.set(key, (value ?? "").replace(/\\(.)/g, "$1"));
  }
  const ssid = members.get("S");
  if (!ssid) return null;
  const password = members.get("P") ?? "";
  return { ssid, password, isOpen: password === "" || members.get("T")?.toLowerCase() === "nopass" };
}
