// The first part of a stream of JPEGs, as motion JPEG is sent over HTTP: multipart/x-mixed-replace.

/** Of its head, in bytes. */
const MOST_HEAD = 1024;
const END = "\r\n\r\n";

/** Where the content of a part is. */
export interface Place {
  begin: number;
  end: number;
}

/** What divides the parts of an answer of this type; null for an answer that has none. */
export function boundaryOf(contentType: string): string | null {
  const found = /^multipart\/x-mixed-replace *; *boundary=(?:"([!#-[\]-~]{1,70})"|([!#-+\--:<-[\]-~]{1,70}))$/i.exec(contentType);
  return found?.[1] ?? found?.[2] ?? null;
}

/** The JPEG of the first part; null while its head is not complete. Throws RangeError for what is no such part, or is longer. */
export function firstPart(bytes: Uint8Array, boundary: string, mostBytes: number): Place | null {
  const text = String.fromCharCode(...bytes.subarray(0, MOST_HEAD));
  const end = text.indexOf(END);
  if (end < 0 && bytes.length < MOST_HEAD) return null;
  const [line, ...fields] = text.slice(0, Math.max(0, end)).replace(/^\r\n/, "").split("\r\n");
  // The dashes belong before each (RFC 2046, 5.1.1), and a Theta leaves them out.
  if (line !== boundary && line !== `--${boundary}`) throw new RangeError();
  const named = (name: string) => fields.filter((one) => one.toLowerCase().startsWith(`${name}:`)).map((one) => one.slice(name.length + 1).trim());
  const [type, ...types] = named("content-type");
  const [length = "", ...lengths] = named("content-length");
  if (type?.toLowerCase() !== "image/jpeg" || types.length > 0 || lengths.length > 0) throw new RangeError();
  if (!/^[0-9]{1,9}$/.test(length) || Number(length) > mostBytes) throw new RangeError();
  return { begin: end + END.length, end: end + END.length + Number(length) };
}
