// The texts of several cameras at once: the sentences of wifimgrctl's import.

import { inLanguage } from "../messages";
import { plural } from "../phrases";

const en = {
  title: "Add several cameras",
  label: "QR texts or a CSV table",
  hint: "One QR text a line (WIFI:S:…;;), or a CSV table whose first line names the columns: name, ssid, password, open, codename and others.",
  file: "Or choose a file, or drop one here",
  pasted: "the text",
  check: "Check the list",
  reading: "Reading the list",
  unreadableFile: (source: string) => `${source} cannot be read.`,
  heads: { name: "Name", network: "Network", model: "Model", password: "Password", result: "Result", from: "From" },
  results: {
    new: "New",
    registered: "Registered",
    known: "Already registered",
    failed: "Not registered",
    unsure: "Not known",
  },
  hasPassword: "yes",
  isOpen: "open",
  /** How many of each result, as the command line concludes. */
  conclusion: (counts: Readonly<Record<"new" | "registered" | "known" | "failed" | "unsure", number>>) => {
    const words: [number, string][] = [
      [counts.new, "would be registered"],
      [counts.registered, "registered"],
      [counts.known, "already registered"],
      [counts.failed, "not registered"],
      [counts.unsure, "not known"],
    ];
    const told = words.filter(([count]) => count).map(([count, what]) => `${count} ${what}`);
    return told.length ? `${told.join(", ")}.` : "There is no camera in it.";
  },
  unchanged: "Nothing has been changed.",
  patient: "Where no adapter is free, wait for one",
  add: (count: number) => `Add ${plural(count, "camera", "cameras")}`,
  adding: (number: number, count: number, name: string) => `Adding ${number} of ${count}: ${name}`,
  another: "Another list",
  notNow: (source: string) => `${source} is not read while another list is added.`,
  stopped: (done: number, left: number) => `Added ${plural(done, "camera", "cameras")}. ${left} of the list ${left === 1 ? "was" : "were"} not added.`,
  unsure: "The answer was lost: look whether it is in the list of cameras.",
  where: (source: string, line: number) => `${source}, line ${line}`,
  empty: (source: string) => `${source} is empty`,
  profile: (source: string) => `${source} is a profile of NetworkManager, which wifimgrctl import reads`,
  tooLarge: (source: string, bytes: number) => `${source} has more than ${bytes} bytes, and is not a list of cameras`,
  tooMany: (count: number, most: number) => `${count} cameras are more than the ${most} of one import`,
  notText: (source: string, kind: "sheet" | "utf16" | "other") =>
    `${source} is ${{ sheet: "a spreadsheet's own file: save it as CSV in UTF-8", utf16: "text in UTF-16: save it as CSV in UTF-8", other: "not text in UTF-8" }[kind]}`,
  otherFormat: (source: string, what: string) => `${source} is ${what}, which is not read: make a CSV file of it`,
  formats: { supplicant: "wpa_supplicant's configuration", netplan: "netplan's configuration", iwd: "a network of iwd", json: "JSON" },
  unknownColumn: (source: string, name: string, meant: string) => `${source}: unknown column "${name}"; did you mean "${meant}"?`,
  unknownColumnAt: (source: string, number: number) => `${source}: column ${number} has an unknown name`,
  columnTwice: (source: string) => `${source}: a column is there twice`,
  noColumns: (source: string) => `${source}: the first line must name the columns, ssid among them`,
  otherCells: "the line has more or fewer cells than the header",
  namelessCell: (number: number) => `the cell in column ${number} is not empty, and the column has no name`,
  noSsid: "the line has no ssid",
  notHex: "ssid_hex: these are not pairs of hexadecimal digits",
  twoNetworks: "ssid and ssid_hex are different networks",
  twoPins: "pin_mac and pin_usb_port: only one of them can be set",
  notMac: 'pin_mac: not a MAC address such as "02:00:00:00:01:00"',
  notPort: 'pin_usb_port: not a USB port such as "1-1.4"',
  notSwitch: (column: string) => `${column}: neither yes nor no`,
  notPriority: (most: number) => `priority: not a whole number from -${most} to ${most}`,
  openWithPassword: "an open network has no password",
  noPassword: "the file has no password for it; if its network is open, say so in the column open",
  notWifiText: "this is not the text of a Wi-Fi QR code",
  isWifiText: "This is the text of a Wi-Fi QR code, and not a name: in it, the network's name follows S:, and its password P:.",
  unsupported: (security: string) => `its security is ${security}, which cameras do not have`,
  textFaults: {
    "password-missing": "a password is missing: the text says that its network has one",
    "password-unused": "the text has a password, and says that its network has none (T:nopass)",
  },
  longText: (most: number) => `At most ${most} characters are allowed.`,
  longSsid: (most: number, bytes: number) => `An SSID has at most ${most} bytes; this one has ${bytes}.`,
  control: "Control characters are not allowed.",
  nul: "NUL characters are not allowed.",
  notAscii: "Only printable ASCII characters are allowed.",
  passwordLength: "A password has 8 to 63 characters, or 64 hexadecimal digits.",
  noTextSsid: "its network's name is not text; wifimgrctl import adds it",
  knownAs: (name: string) => `as ${name}`,
  twice: (where: string) => `the same is in ${where}`,
  nameTwice: (where: string) => `the name is that of ${where}, which has another network`,
  nameTaken: (id: number) => `the name is taken by camera ${id}, which has another network`,
  unknownModel: (codename: string, closest: string) => `The model "${codename}" is not in the catalog${closest && `; the closest one is ${closest}`}.`,
  alsoRegistered: (name: string) => `its network is also registered as ${name}`,
  blanks: "blanks at the ends of its network belong to it",
};

export const bulkWords = inLanguage({ en });
