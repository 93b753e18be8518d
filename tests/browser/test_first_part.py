"""The first part of a camera's stream of JPEGs: only one that says its type and its length is read."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from typing import Final

import pytest

from tests.faults.random_life import seed
from tests.programs import node
from tests.soak import examples

READ: Final = """
import { readFileSync } from "node:fs";
import { build } from "esbuild";
const built = await build({ entryPoints: ["src/first_part.ts"], bundle: true, format: "esm", write: false });
const made = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
const { types, parts } = JSON.parse(readFileSync(0, "utf8"));
function found(boundary, part) {
  try {
    const place = made.firstPart(new Uint8Array(Buffer.from(part, "base64")), boundary, 5000);
    return place && [place.begin, place.end];
  } catch (error) {
    if (error instanceof RangeError) return "wrong";
    throw error;
  }
}
console.log(JSON.stringify([
  types.map((one) => made.boundaryOf(one)),
  parts.map(([boundary, part]) => found(boundary, part)),
]));
"""
THETA: Final = "---osclivepreview---"
HEAD: Final = b"---osclivepreview---\r\nContent-type: image/jpeg\r\nContent-Length: 4\r\n\r\n"
"""https://docs-theta-api.ricoh360.com/web-api/commands/getLivePreview-response-done.html"""
USUAL: Final = b"\r\n--frame\r\nX-Time: 5\r\nCONTENT-LENGTH:4 \r\ncontent-type:IMAGE/JPEG\r\n\r\n"


def read(types: Sequence[str], parts: Sequence[tuple[str, bytes]]) -> tuple[list[str | None], list[object]]:
    """The boundary in each type, and the place of each first part: None if it is not complete, or "wrong"."""
    encoded = [(boundary, base64.b64encode(part).decode()) for boundary, part in parts]
    boundaries, places = json.loads(node(READ, given=json.dumps({"types": types, "parts": encoded})))
    return boundaries, places


def test_a_stream_says_what_divides_its_parts() -> None:
    types = {
        'multipart/x-mixed-replace; boundary="---osclivepreview---"': THETA,
        "multipart/x-mixed-replace;boundary=frame": "frame",
        "MULTIPART/X-Mixed-Replace ; Boundary=a:b": "a:b",
        "image/jpeg": None,
        "": None,
        "multipart/x-mixed-replace": None,
        "multipart/x-mixed-replace; boundary=": None,
        'multipart/x-mixed-replace; boundary=""': None,
        'multipart/x-mixed-replace; boundary="a': None,
        "multipart/x-mixed-replace; boundary=a b": None,
        "multipart/x-mixed-replace; boundary=a; boundary=b": None,
        "multipart/mixed; boundary=a": None,
        f"multipart/x-mixed-replace; boundary={'x' * 71}": None,
    }
    assert read(list(types), [])[0] == list(types.values())


def test_the_first_part_is_found_as_soon_as_its_head_is_there() -> None:
    for boundary, head in ((THETA, HEAD), ("frame", USUAL)):
        whole = head + b"\xff\xd8\xff\xd9\r\n\r\n--x"
        _, places = read([], [(boundary, whole[:end]) for end in range(len(whole) + 1)])
        place = [len(head), len(head) + 4]
        assert places == [place if end >= len(head) else None for end in range(len(whole) + 1)]


@pytest.mark.parametrize(
    "part",
    [
        HEAD.replace(b"---osc", b"-----osc", 1).replace(b"preview", b"preview2"),
        HEAD.replace(b"---osc", b"------osc", 1),
        HEAD.replace(b"---\r\n", b"--- \r\n", 1),
        HEAD.replace(b"\r\n", b"\n").replace(b"\n\n", b"\r\n\r\n"),
        HEAD.replace(b"image/jpeg", b"text/html"),
        HEAD.replace(b"image/jpeg", b"image/jpeg\r\nContent-Type: text/html"),
        HEAD.replace(b"Content-type: image/jpeg\r\n", b""),
        HEAD.replace(b"Content-Length: 4", b"Content-Length: 4\r\nContent-Length: 5"),
        HEAD.replace(b"Content-Length: 4\r\n", b""),
        HEAD.replace(b": 4", b": -4"),
        HEAD.replace(b": 4", b": 0x4"),
        HEAD.replace(b": 4", b": 4e3"),
        HEAD.replace(b": 4", b": 5001"),
        HEAD.replace(b": 4", b": 9999999999"),
        HEAD.replace(b": 4", b": "),
        HEAD.replace(b"\r\n\r\n", b"\r\nX: " + b"y" * 2000 + b"\r\n\r\n"),
        b"\r\n\r\n" + HEAD,
        b"\r\n\r\n",
        b"\xff" * 1024,
    ],
)
def test_no_other_part_is_read(part: bytes) -> None:
    assert read([], [(THETA, part)])[1] == ["wrong"]


def test_any_bytes_are_a_part_or_none() -> None:
    chance = random.Random(seed())
    parts = []
    for _ in range(examples(3_000)):
        boundary, head = chance.choice(((THETA, HEAD), ("frame", USUAL)))
        mangled = bytearray(head + chance.randbytes(8))
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(mangled))
            mangled[at : at + chance.randrange(4)] = chance.choice(
                (b"", b"\r\n", b"\xff", b"9", b":", chance.randbytes(3), mangled[: chance.randrange(80)])
            )
        parts.append((boundary, bytes(mangled)))
    found = 0
    for (_, part), place in zip(parts, read([], parts)[1], strict=True):
        assert place in (None, "wrong") or isinstance(place, list)
        if isinstance(place, list):
            begin, end = place
            assert part[begin - 4 : begin] == b"\r\n\r\n"
            assert 0 <= end - begin <= 5000
            found += 1
    assert found > len(parts) / 10
