// The size of a JPEG before anything is decoded, as the decoder of the browser will read it, or none at all.

export interface Size {
  width: number;
  height: number;
}

const SOI = 0xd8;
const SOS = 0xda;
/** Tables, restart interval, and what belongs to applications or is a comment: all that cameras write before the first
 * scan beside the frame. Decoders differ in what they do with other markers, some of which have no length (T.81, B.1.1.3). */
const SKIPPED = new Set([0xc4, 0xcc, 0xdb, 0xdd, 0xfe, ...Array.from({ length: 16 }, (_, number) => 0xe0 + number)]);

/** What the only frame header before the first scan says (ITU-T T.81, B.2.2); null for what is no such picture. */
export function jpegSize(bytes: Uint8Array<ArrayBuffer>): Size | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 4 || view.getUint8(0) !== 0xff || view.getUint8(1) !== SOI) return null;
  let size: Size | null = null;
  let at = 2;
  while (at + 4 <= bytes.length && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    // Any number of bytes 0xff may be before a marker.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === SOS) return size;
    const length = view.getUint16(at + 2);
    if (isFrame(marker)) {
      if (size || length < 8 || at + 9 > bytes.length) return null;
      size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
      if (size.height === 0 || size.width === 0) return null;
    } else if (!SKIPPED.has(marker) || length < 2) return null;
    at += 2 + length;
  }
  return null;
}

const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
