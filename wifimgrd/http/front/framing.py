"""Where requests end: heads (RFC 9112, 3 and 5) and bodies (6 and 7). Pure: octets in, values out.

Stricter than a server has to be, so that no proxy and no parser behind this one can see another request in
the same octets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

HEAD_BYTES: Final = 64 * 1024
"""Octets of a head: the first line and the fields."""
HEAD_FIELDS: Final = 128
"""Fields of a head; small ones need many times their length in memory."""
LINE_BYTES: Final = 8190
"""Octets of a line of a head; the limit of aiohttp."""
FRAMING_BYTES: Final = 1024
"""Octets of a chunked body that are no content, beyond as many as its content has."""
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t -~\x80-\xff]*)?")
"""The size of a chunk, with extensions, which nobody needs."""
_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_FIELD_LINE: Final = _TOKEN + rb":[\t -~\x80-\xff]*"
_FIELD: Final = re.compile(_FIELD_LINE)
_HEAD: Final = re.compile(_TOKEN + rb" [!-~\x80-\xff]+ HTTP/1\.([01])\r\n(?:" + _FIELD_LINE + rb"\r\n)*\r\n")
_OF_FRAMING: Final = re.compile(rb"\n(host|content-length|transfer-encoding|connection|upgrade):([^\r]*)")
"""In a head in small letters."""


class Refused(Exception):
    """Octets that are no request that is taken here."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def too_large() -> Refused:
    """A head over the limits (RFC 6585, 5)."""
    return Refused(431, f"the head of a request has at most {HEAD_BYTES // 1024} kB and {HEAD_FIELDS} fields")


def not_http() -> Refused:
    """Octets that are not HTTP."""
    return Refused(400, "this is not a request in HTTP")


@dataclass(frozen=True, slots=True)
class Head:
    """What of a head decides where the request ends."""

    length: int = 0
    """Octets of the body, if it is not chunked."""
    is_chunked: bool = False
    is_upgrade: bool = False
    """It wants another protocol; what follows is not HTTP if it gets it."""


def end_of_head(octets: bytearray, seen: int) -> int:
    """Where the first head in some octets ends, 0 if that is missing; `seen` of them were looked at before.

    Raises Refused as soon as no rest can make a head of them.
    """
    end = octets.find(b"\r\n\r\n", max(0, seen - 3)) + 4
    size = end if end >= 4 else len(octets)
    if size > HEAD_BYTES:
        raise too_large()
    if end >= 4:
        return end
    if octets.count(b"\n", seen) != octets.count(b"\r\n", max(0, seen - 1)):
        raise not_http()
    if len(octets) - octets.rfind(b"\n") > LINE_BYTES + 2:
        raise too_large()
    return 0


def parse_head(octets: bytes) -> Head:
    """A complete head; raises Refused."""
    is_long = len(octets) > LINE_BYTES and max(map(len, octets.split(b"\r\n"))) > LINE_BYTES
    if is_long or octets.count(b"\r\n") > HEAD_FIELDS + 2:
        raise too_large()
    valid = _HEAD.fullmatch(octets)
    if valid is None or octets.startswith(b"CONNECT "):
        raise not_http()
    is_old = valid[1] == b"0"
    found: dict[bytes, list[bytes]] = {}
    for name, value in _OF_FRAMING.findall(octets.lower()):
        found.setdefault(name, []).append(value.strip(b" \t"))
    hosts, length = len(found.get(b"host", ())), found.get(b"content-length", [b"0"])
    coding = found.get(b"transfer-encoding")
    if hosts > 1 or (not hosts and not is_old) or len(length) > 1 or _LENGTH.fullmatch(length[0]) is None:
        raise not_http()
    if coding is not None and (coding != [b"chunked"] or is_old or b"content-length" in found):
        raise not_http()
    options = [one.strip() for value in found.get(b"connection", ()) for one in value.split(b",")]
    return Head(int(length[0]), coding is not None, b"upgrade" in found and b"upgrade" in options)


class _Part(Enum):
    SIZE = "the line with the size of a chunk"
    CONTENT = "its content"
    END = "the end of its line"
    TRAILERS = "the fields after the last one"


class Body:
    """The rest of a request, after its head."""

    def __init__(self, head: Head) -> None:
        self._is_chunked = head.is_chunked
        self._part = _Part.SIZE
        self._rest = head.length
        """Octets of content that are still to come, of the whole body or of a chunk."""
        self._line = b""
        """The beginning of a line."""
        self._content = self._framing = self._trailers = 0
        self.is_complete = not head.is_chunked and not head.length

    def take(self, octets: bytes) -> int:
        """How many of these octets belong to the body; fewer only if it ends there. Raises Refused."""
        if not self._is_chunked:
            taken = min(self._rest, len(octets))
            self._rest -= taken
            self.is_complete = not self._rest
            return taken
        at = 0
        while at < len(octets) and not self.is_complete:
            at = self._take_part(octets, at)
        if self._framing > FRAMING_BYTES + self._content:
            raise Refused(400, "the framing of a chunked body is larger than its content")
        return at

    def _take_part(self, octets: bytes, at: int) -> int:
        if self._part is _Part.CONTENT:
            taken = min(self._rest, len(octets) - at)
            self._rest -= taken
            self._content += taken
            if not self._rest:
                self._part = _Part.END
            return at + taken
        end = octets.find(b"\n", at)
        after = len(octets) if end < 0 else end + 1
        self._line += octets[at:after]
        self._framing += after - at
        if len(self._line) > FRAMING_BYTES and self._part is not _Part.TRAILERS:
            raise not_http()
        if self._part is _Part.TRAILERS:
            self._trailers += after - at
            self._framing -= after - at
            if self._trailers > HEAD_BYTES or len(self._line) > LINE_BYTES:
                raise too_large()
        if end >= 0:
            line, self._line = self._line, b""
            if not line.endswith(b"\r\n"):
                raise not_http()
            self._end_line(line[:-2])
        return after

    def _end_line(self, line: bytes) -> None:
        if self._part is _Part.SIZE:
            size = _CHUNK.fullmatch(line)
            if size is None:
                raise not_http()
            self._rest = int(size[1], 16)
            self._part = _Part.CONTENT if self._rest else _Part.TRAILERS
        elif self._part is _Part.END:
            if line:
                raise not_http()
            self._part = _Part.SIZE
        elif line:
            if _FIELD.fullmatch(line) is None:
                raise not_http()
        else:
            self.is_complete = True
