"""A Theta's live preview: a stream of JPEGs, each with what an emulated camera sees, a mosaic in a colour of
its own, with the time of its clock and a mark that crosses it once a minute.

https://github.com/ricohapi/theta-api-specs says in theta-web-api-v2.1/commands/camera.get_live_preview.md in
which modes there is one, and that it ends when a recording begins or the mode is changed, and in
theta-web-api-v2.1/options/preview_format.md how large it is. Its parts begin as no other stream's do:
https://docs-theta-api.ricoh360.com/web-api/commands/getLivePreview-response-done.html. Insta360's cameras
have none: https://github.com/Insta360Develop/CameraSDK-iOS.

Each JPEG is a baseline one (ITU-T T.81) in which each square of 16 x 16 pixels has one colour: of all
coefficients only those of the mean are there.
"""

from __future__ import annotations

import colorsys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from wifimgrd.simulator.emulators._camera import EmulatedCamera
from wifimgrd.simulator.emulators._http import Stream

_BOUNDARY: Final = "---osclivepreview---"
_SQUARE: Final = 16
"""The pixels of a square's side."""
_CHARACTERS: Final = {
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717",
    "6": "74757", "7": "71122", "8": "75757", "9": "75717", ":": "02020",
}  # fmt: skip
"""The dots of each row, as the bits of an octal digit."""
_ROWS: Final = 5
_WIDTH: Final = 4
"""Of a character and the space after it."""
_WHITE: Final = (110, 0, 0)
_MARK: Final = (90, -90, 40)
_SCALE: Final = 8
"""A mean of a block is its coefficient divided by 8, so by this it is coded as it is."""

Colour = tuple[int, int, int]
"""Luma, blue and red difference, each from -128 to 127."""


@dataclass(frozen=True, slots=True)
class _Format:
    width: int
    height: int
    per_s: int


_USUAL: Final = _Format(1024, 512, 8)
_FORMATS: Final[Mapping[str, _Format]] = {
    "RICOH THETA X": _Format(1024, 512, 30),
    "RICOH THETA S": _Format(640, 320, 10),
    "RICOH THETA SC": _Format(640, 320, 10),
}
"""One of those that the model has."""


def live_preview(camera: EmulatedCamera, is_on: Callable[[], bool]) -> Stream:
    """The preview of a camera, for as long as it is on."""
    form = _FORMATS.get(camera.settings.model, _USUAL)

    def part() -> bytes:
        if not is_on():
            return b""
        local_s = int(camera.clock_s) + camera.zone_min * 60
        content = picture(camera.settings.ssid, local_s, form.width, form.height)
        head = f"{_BOUNDARY}\r\nContent-type: image/jpeg\r\nContent-Length: {len(content)}\r\n\r\n"
        return head.encode() + content + b"\r\n\r\n"

    return Stream(f'multipart/x-mixed-replace; boundary="{_BOUNDARY}"', part, 1 / form.per_s)


@lru_cache(maxsize=4)
def picture(name: str, moment_s: int, width: int, height: int) -> bytes:
    """The JPEG of a camera with this name, at seconds since the epoch of its local time."""
    columns, rows = width // _SQUARE, height // _SQUARE
    return _jpeg(_mosaic(name, moment_s, columns, rows), columns, rows)


# The page cuts small pictures to 16:9, into which the text fits.
def _mosaic(name: str, moment_s: int, columns: int, rows: int) -> list[Colour]:
    hue = zlib.crc32(name.encode()) % 360 / 360
    squares: list[Colour] = []
    for row in range(rows):
        squares += [_colour(hue, 0.75 - 0.5 * row / rows)] * columns
    minutes, second = divmod(moment_s, 60)
    mark = columns * second // 60
    for row in range(rows - 3, rows - 1):
        squares[row * columns + mark] = _MARK
    text = f"{minutes // 60 % 24:02}:{minutes % 60:02}"
    size = rows * 16 // 9 // (_WIDTH * len(text))
    left = (columns - size * (_WIDTH * len(text) - 1)) // 2
    top = (rows - size * _ROWS) // 2
    for column, row in _dots(text):
        for down in range(size):
            begin = (top + row * size + down) * columns + left + column * size
            squares[begin : begin + size] = [_WHITE] * size
    return squares


def _dots(text: str) -> Iterator[tuple[int, int]]:
    """The columns and rows of a text's dots."""
    for number, character in enumerate(text):
        for row, bits in enumerate(_CHARACTERS[character]):
            for column in range(3):
                if int(bits) >> (2 - column) & 1:
                    yield number * _WIDTH + column, row


def _colour(hue: float, value: float) -> Colour:
    red, green, blue = (255 * part for part in colorsys.hsv_to_rgb(hue, 0.55, value))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    return round(luma) - 128, round(0.564 * (blue - luma)), round(0.713 * (red - luma))


def _jpeg(squares: Sequence[Colour], columns: int, rows: int) -> bytes:
    size = (rows * _SQUARE).to_bytes(2, "big") + (columns * _SQUARE).to_bytes(2, "big")
    return b"".join(
        (
            b"\xff\xd8",
            _segment(0xDB, bytes([0]) + bytes([_SCALE]) * 64),
            _segment(0xC0, bytes([8]) + size + bytes([3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0])),
            _segment(0xC4, bytes([0x00, 1, 0, 0, 0, 8, *[0] * 11, *range(9)])),
            _segment(0xC4, bytes([0x10, 1, *[0] * 15, 0])),
            _segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0])),
            _scan(squares),
            b"\xff\xd9",
        )
    )


def _segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + (len(content) + 2).to_bytes(2, "big") + content


def _scan(squares: Sequence[Colour]) -> bytes:
    """Four blocks of luma and one of each difference for every square; each block is the difference of its
    mean from that of the block before, and an end (a bit 0)."""
    bits: list[str] = []
    before: Colour = (0, 0, 0)
    for square in squares:
        luma, blue, red = (_mean(now - then) for now, then in zip(square, before, strict=True))
        same = _mean(0) * 3
        bits.append(luma + same + blue + red)
        before = square
    coded = "".join(bits)
    coded += "1" * (-len(coded) % 8)
    return int(coded, 2).to_bytes(len(coded) // 8, "big").replace(b"\xff", b"\xff\x00")


@lru_cache(maxsize=512)
def _mean(difference: int) -> str:
    """The bits of a block: how many bits its difference has, these, and its end. No bits are coded as 0, and
    1 to 8 as 10000 to 10111."""
    if difference == 0:
        return "00"
    count = abs(difference).bit_length()
    value = difference if difference > 0 else difference + (1 << count) - 1
    return f"{0b10000 + count - 1:05b}{value:0{count}b}0"
