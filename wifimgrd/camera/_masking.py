"""Hides what strangers must not see in what a camera has sent: by characters of the same kind and number, so
that every length in the messages stays right.

Of an answer over HTTP each text is hidden, but those under names that are known to tell no secret: nobody
knows by which names all makers call their passwords. In other protocols only what is known to be secret is
found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_TEXTS: Final = frozenset(
    (
        b"model model_name manufacturer firmwareVersion firmware_version name state code message sessionId"
        b" captureMode _captureStatus _batteryState _cardState _cameraError api apiLevel dateTimeZone"
        b" _dateTime date time"
    ).split()
)
"""The names of texts in JSON that stay."""
_PLACES: Final = re.compile(rb"(?i)_?(?:lat|lng|lon|latitude|longitude|altitude|gps.*|location|position)")
"""The names of numbers in JSON that do not."""
_VERSION: Final = b"3012"
"""Novatek's command for the version of the firmware, the only one whose text stays."""
_ELEMENT: Final = re.compile(rb"<([A-Za-z_]{1,40})>([^<]*)")
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*")
_HEAD: Final = re.compile(rb"(HTTP/1\.[01] .*?\r\n\r\n)", re.DOTALL)
_MAC: Final = re.compile(rb"(?i)(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}")
_CHARACTER: Final = re.compile(rb"(\\u[0-9A-Fa-f]{4}|\\.)|[A-Za-z]|([0-9])|[\x80-\xff]", re.DOTALL)


def without_secrets(
    pieces: Sequence[tuple[tuple[int, bool], bytes]], secrets: Sequence[bytes]
) -> list[bytes]:
    """The bytes of pieces, each of which has its connection and whether the camera has sent it, without these
    texts and, in those of the camera, without what else may be secret. All that one side has sent over a
    connection is looked at as one text: a secret may be divided between two pieces."""
    streams: dict[tuple[int, bool], bytes] = {}
    for stream, data in pieces:
        streams[stream] = streams.get(stream, b"") + data
    left = {
        (number, is_camera): _hidden(data, secrets, is_camera=is_camera)
        for (number, is_camera), data in streams.items()
    }
    shown = []
    for stream, data in pieces:
        shown.append(left[stream][: len(data)])
        left[stream] = left[stream][len(data) :]
    return shown


def _hidden(data: bytes, secrets: Sequence[bytes], *, is_camera: bool) -> bytes:
    for secret in secrets:
        found = re.escape(secret)
        if secret.isalnum():  # a part of a longer word or number is another one
            found = rb"(?<![A-Za-z0-9])" + found + rb"(?![A-Za-z0-9])"
        data = re.sub(rb"(?i)" + found, _masked_match, data)
    data = _MAC.sub(_masked_match, data)
    if is_camera and data.startswith(b"HTTP/"):
        heads_and_bodies = _HEAD.split(data)
        bodies = (_without_elements(_without_texts(one)) for one in heads_and_bodies[::2])
        heads_and_bodies[::2] = bodies
        data = b"".join(heads_and_bodies)
    return data


def _without_texts(data: bytes) -> bytes:
    """Hide the texts in JSON, and the numbers that are places, in one pass."""
    parts: list[bytes] = []
    begin, name = 0, b""
    while (quote := data.find(b'"', begin)) >= 0:
        parts.append(_between(data[begin:quote], name))
        end = _end_of_text(data, quote + 1)
        text = data[quote + 1 : end]
        if data[end + 1 : end + 20].lstrip().startswith(b":"):
            name = text
            parts.append(data[quote : end + 1])
        else:
            parts.append(b'"' + (text if name in _TEXTS else _masked(text)) + data[end : end + 1])
        begin = end + 1
    parts.append(_between(data[begin:], name))
    return b"".join(parts)


def _between(data: bytes, name: bytes) -> bytes:
    return _NUMBER.sub(_masked_match, data) if _PLACES.fullmatch(name) else data


def _end_of_text(data: bytes, begin: int) -> int:
    """Where a text in JSON ends: at its quote, or with the data."""
    while True:
        quote = data.find(b'"', begin)
        if quote < 0:
            return len(data)
        escapes = quote - len(data[begin:quote].rstrip(b"\\")) - begin
        if escapes % 2 == 0:
            return quote
        begin = quote + 1


def _without_elements(data: bytes) -> bytes:
    """Hide the texts in XML."""
    command = b""

    def shown(found: re.Match[bytes]) -> bytes:
        nonlocal command
        name, text = found[1], found[2]
        if name == b"Cmd":
            command = text.strip()
        is_number = re.fullmatch(rb"\s*-?[0-9]{1,18}\s*", text) is not None
        stays = (
            is_number if name in (b"Cmd", b"Status", b"Value") else (name, command) == (b"String", _VERSION)
        )
        return found[0] if stays else b"<" + name + b">" + _masked(text)

    return _ELEMENT.sub(shown, data)


def _masked(text: bytes) -> bytes:
    """A text of the same form: x for each letter, and 1 for each digit, so that a number does not begin with
    0. Escapes of JSON stay escapes."""
    return _CHARACTER.sub(_character, text)


def _masked_match(found: re.Match[bytes]) -> bytes:
    return _masked(found[0])


def _character(found: re.Match[bytes]) -> bytes:
    if (escape := found[1]) is not None:
        return b"\\u0078" if escape.startswith(b"\\u") else escape
    return b"1" if found[2] is not None else b"x"
