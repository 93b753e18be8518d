"""The size of a JPEG: what the page reads before anything is decoded is what the browser then decodes."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.async_api import Page

from tests.faults.random_life import duration_s, seed
from tests.programs import node

pytestmark = pytest.mark.asyncio(loop_scope="session")

DURATION_MS: Final = duration_s("10s", "WIFIMGRD_FUZZ") * 1000 / 4
"""A quarter of the time of all readers: see tests/faults/test_reader_fuzz.py."""
READER: Final = """
import { build } from "esbuild";
const entryPoints = ["src/jpeg_size.ts"];
const built = await build({ entryPoints, bundle: true, format: "iife", globalName: "reader", write: false });
console.log(built.outputFiles[0].text);
"""
DECODE: Final = """
async function decoded(bytes) {
  try {
    const picture = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
    return { width: picture.width, height: picture.height };
  } catch {
    return null;
  }
}
async function drawn(width, height) {
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d").fillRect(1, 1, 3, 3);
  const blob = await canvas.convertToBlob({ type: "image/jpeg" });
  return new Uint8Array(await blob.arrayBuffer());
}
/** A JPEG's segments up to its first scan, and the rest. */
function cut(bytes) {
  const parts = [];
  let at = 2;
  while (bytes[at + 1] !== 0xda) {
    const end = at + 2 + bytes[at + 2] * 256 + bytes[at + 3];
    parts.push([...bytes.slice(at, end)]);
    at = end;
  }
  return [parts, [...bytes.slice(at)]];
}
const two = (number) => [number >> 8, number & 255];
const frame = (width, height) =>
  [0xff, 0xc0, ...two(17), 8, ...two(height), ...two(width), 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
const comment = (content, marker = 0xfe) => [0xff, marker, ...two(content.length + 2), ...content];
/** Who takes what follows a marker without a length for its length comes to another frame, in a comment. */
const fill = (count) => Array(count).fill(0xff);
const trap = (marker, ...size) =>
  [0xff, marker, ...comment(fill(60000)), ...comment([...fill(6000), ...frame(...size)])];
"""
CASES: Final = """async () => {
  const [parts, rest] = cut(await drawn(40, 24));
  const picture = (...inserted) => new Uint8Array([0xff, 0xd8, ...inserted.flat(), ...parts.flat(), ...rest]);
  const cases = {
    "plain": picture(),
    "a comment with a frame in it": picture(comment(frame(8, 8))),
    "fill bytes": picture([0xff, 0xff, 0xff, 0xff], comment([1, 2])),
    "TEM": picture(trap(0x01, 8, 8)),
    "RST0": picture(trap(0xd0, 8, 8)),
    "TEM, and no trap": picture([0xff, 0x01]),
    "a second beginning": picture([0xff, 0xd8]),
    "two frames": picture(frame(8, 8)),
    "no lines": new Uint8Array([0xff, 0xd8, ...frame(40, 0), ...rest]),
    "a length of nothing": picture([0xff, 0xfe, 0, 0]),
    "a stuffed byte": picture([0xff, 0x00]),
    "no scan": new Uint8Array([0xff, 0xd8, ...parts.flat()]),
    "no frame": new Uint8Array([0xff, 0xd8, ...rest]),
    "no beginning": new Uint8Array([...parts.flat(), ...rest]),
    "nothing": new Uint8Array(),
  };
  return Object.fromEntries(Object.entries(cases).map(([name, bytes]) => {
    const size = reader.jpegSize(bytes);
    return [name, size && [size.width, size.height]];
  }));
}"""
FUZZ: Final = """async ([seed, duration]) => {
  const random = (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const some = (count) => Array.from({ length: random(count) }, () => random(256));
  const one = (...choices) => choices[random(choices.length)]();
  const inserted = () => one(
    () => [0xff, random(256)],
    () => [0xff, one(() => 0x01, () => 0xd0 + random(10), () => 0)],
    () => comment(frame(1 + random(64), 1 + random(64)), one(() => 0xfe, () => 0xe0 + random(16))),
    () => frame(random(64), random(64)),
    () => trap(one(() => 0x01, () => 0xd0 + random(10)), 1 + random(64), 1 + random(64)),
    () => fill(random(5)),
    () => comment(some(30)),
    () => [0xff, 0xfe, 0, random(60)],
    () => some(6),
  );
  const pictures = [];
  for (let count = 0; count < 8; count++) pictures.push(cut(await drawn(1 + random(64), 1 + random(64))));
  const begin = performance.now();
  const found = { cases: 0, read: 0, decoded: 0, agreed: 0, wrong: [] };
  while (performance.now() - begin < duration && found.wrong.length === 0) {
    const [whole, rest] = pictures[random(pictures.length)];
    const parts = [...whole];
    for (let count = random(4); count > 0; count--) parts.splice(random(parts.length + 1), 0, inserted());
    const bytes = new Uint8Array([0xff, 0xd8, ...parts.flat(), ...rest]);
    if (random(3) === 0) bytes[2 + random(bytes.length - 2)] = random(256);
    const size = reader.jpegSize(bytes);
    const picture = await decoded(bytes);
    found.cases += 1;
    found.read += size ? 1 : 0;
    found.decoded += picture ? 1 : 0;
    if (!size || !picture) continue;
    if (size.width === picture.width && size.height === picture.height) found.agreed += 1;
    else found.wrong.push([size, picture, bytes.join(" ")]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def reader() -> str:
    """The page's reader, as a script."""
    return node(READER)


async def test_only_the_size_that_the_browser_decodes_is_read(page: Page, reader: str) -> None:
    await page.goto("about:blank")
    await page.add_script_tag(content=reader + DECODE)
    read = await page.evaluate(CASES)
    right = ("plain", "a comment with a frame in it", "fill bytes")
    assert read == {name: [40, 24] if name in right else None for name in read}


async def test_any_picture_is_decoded_in_the_size_that_was_read(page: Page, reader: str) -> None:
    await page.goto("about:blank")
    await page.add_script_tag(content=reader + DECODE)
    found = await page.evaluate(FUZZ, [seed(), DURATION_MS])
    assert found["wrong"] == []
    assert found["agreed"] > found["cases"] / 10, found
