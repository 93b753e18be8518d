// Numbers, times and lists of names as the texts of the page say them.

export const NUMBERS = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
export const numeral = (count: number) => NUMBERS[count] ?? String(count);
export const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
export const duration = (seconds: number) =>
  seconds < 1 ? "less than 1 s" : seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
/** The same for what may be days. */
export const longDuration = (seconds: number) =>
  seconds < 7_200 ? duration(seconds) : seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
/** How long something lasted, in its largest unit, as the command line says it. */
export const span = (seconds: number) =>
  seconds < 1
    ? "< 1 s"
    : seconds < 60
      ? `${Math.floor(seconds)} s`
      : seconds < 3_600
        ? `${Math.floor(seconds / 60)} min`
        : seconds < 86_400
          ? `${Math.floor(seconds / 3_600)} h`
          : `${Math.floor(seconds / 86_400)} d`;
/** What is left, rounded down. */
export const remaining = (seconds: number) => {
  const minutes = Math.floor(seconds / 60);
  return minutes < 1 ? "less than 1 min" : minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

/** The number of a Wi-Fi channel (IEEE 802.11, annex E). */
export const channelOf = (megahertz: number) =>
  megahertz === 2484 ? 14 : megahertz < 5_000 ? (megahertz - 2_407) / 5 : megahertz < 5_950 ? (megahertz - 5_000) / 5 : (megahertz - 5_950) / 5;

export const bandOf = (megahertz: number) => (megahertz < 5_000 ? "2.4 GHz" : megahertz < 5_925 ? "5 GHz" : "6 GHz");
export const rateOf = (kbits: number) => (kbits < 1_000 ? `${kbits} kbit/s` : `${Math.round(kbits / 1_000)} Mbit/s`);
/** What lies between begins. */
export const spreadOf = (ms: number) => (ms < 1_000 ? `${Math.max(1, Math.round(ms))} ms` : ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : duration(ms / 1_000));
/** A finding at one camera, and at several. */
export type Predicate = readonly [one: string, several: string];
export const NOT_READY: Predicate = ["is not ready", "are not ready"];
export const NAMED_IN_A_CLAUSE = 3;
export const NAMED = 8;
/** The first of many names, and how many others there are. */
export const someOf = (names: readonly string[]) => listOf(names.length > NAMED ? [...names.slice(0, NAMED), `${names.length - NAMED} more`] : names);
export const listOf = (names: readonly string[]) => `${names.slice(0, -1).join(", ")}${names.length > 1 ? " and " : ""}${names[names.length - 1] ?? ""}`;
