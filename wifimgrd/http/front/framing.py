"""Where requests end: heads (RFC 9112, 3 and 5) and bodies (6 and 7). Pure: bytes in, values out.

Stricter than a server has to be, so that no proxy and no parser behind this one can see another request in
the same bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv6Address
from typing import Final

PIECE_BYTES: Final = 16 * 1024
"""Bytes that are read and parsed at once, before others have their turn."""
HEAD_BYTES: Final = 64 * 1024
"""Bytes of a head: the first line and the fields; of an answer also the informational ones before it."""
HEAD_FIELDS: Final = 128
"""Fields of a head; small ones need many times their length in memory."""
LINE_BYTES: Final = 8190
"""Bytes of a line of a head; the limit of aiohttp."""
FRAMING_BYTES: Final = 1024
"""Bytes of a chunked body that are not content, beyond as many as its content has."""
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;" + _TOKEN + rb"(?:=" + _TOKEN + rb")?)*")
"""The size of a chunk, with extensions, which nobody needs."""
_TARGET: Final = (
    rb"(?:/[!-~]*|\*|https?://([0-9A-Za-z.\-_]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:[/?][!-~]*)?)"
)
_FIELD_LINE: Final = _TOKEN + rb":[\t -~\x80-\xff]*"
_HEAD: Final = re.compile(
    rb"(" + _TOKEN + rb") " + _TARGET + rb" HTTP/1\.([01])\r\n(?:" + _FIELD_LINE + rb"\r\n)*\r\n"
)
_OF_FRAMING: Final = re.compile(rb"\n(host|content-length|transfer-encoding|connection|upgrade):([^\r]*)")
"""In a head in small letters."""
_OF_UPGRADE: Final = re.compile(rb"\r\n(?:connection|upgrade|http2-settings):[^\r]*", re.IGNORECASE)
_METHOD: Final = re.compile(rb"(?!(?:CONNECT|PRI|SOURCE)$)[A-Z]{3,16}")
"""Not those with which other protocols begin; aiohttp answers methods that nothing here has."""
_LAST_PORT: Final = 65535


class Refused(Exception):
    """Bytes that are not a request that this server takes."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def too_large() -> Refused:
    """A head over the limits (RFC 6585, 5)."""
    return Refused(431, f"the head of a request has at most {HEAD_BYTES // 1024} kB and {HEAD_FIELDS} fields")


def not_http() -> Refused:
    """Bytes that are not HTTP."""
    return Refused(400, "this is not a request in HTTP")


@dataclass(frozen=True, slots=True)
class Head:
    """The parts of a head that decide where the request ends."""

    length: int = 0
    """Bytes of the body, if it is not chunked."""
    is_chunked: bool = False
    is_upgrade: bool = False
    """It wants a WebSocket; what follows is not HTTP if it gets that."""
    has_other_upgrade: bool = False
    """It wants another protocol than it can get."""
    is_last: bool = False
    """The client sends no other on this connection (RFC 9112, 9.3)."""


def end_of_head(data: bytearray, seen: int) -> int:
    """The end of the first head in some bytes, 0 if it is missing; `seen` of them were looked at before.

    Raises Refused as soon as no further bytes can complete the head.
    """
    end = data.find(b"\r\n\r\n", max(0, seen - 3)) + 4
    size = end if end >= 4 else len(data)
    if size > HEAD_BYTES:
        raise too_large()
    if end >= 4:
        return end
    if data.count(b"\n", seen) != data.count(b"\r\n", max(0, seen - 1)):
        raise not_http()
    if len(data) - data.rfind(b"\n") > LINE_BYTES + 2:
        raise too_large()
    return 0


def parse_head(data: bytes) -> Head:
    """A complete head; raises Refused."""
    is_long = len(data) > LINE_BYTES and max(map(len, data.split(b"\r\n"))) > LINE_BYTES
    if is_long or data.count(b"\r\n") > HEAD_FIELDS + 2:
        raise too_large()
    valid = _HEAD.fullmatch(data)
    if valid is None or not _METHOD.fullmatch(valid[1]) or not _is_address(valid[2], valid[3]):
        raise not_http()
    is_old = valid[4] == b"0"
    found: dict[bytes, list[bytes]] = {}
    for name, value in _OF_FRAMING.findall(data.lower()):
        found.setdefault(name, []).append(value.strip(b" "))
    hosts, length = len(found.get(b"host", ())), found.get(b"content-length", [b"0"])
    coding = found.get(b"transfer-encoding")
    if hosts > 1 or (not hosts and not is_old) or len(length) > 1 or _LENGTH.fullmatch(length[0]) is None:
        raise not_http()
    if coding is not None and (coding != [b"chunked"] or is_old or b"content-length" in found):
        raise not_http()
    has_body = coding is not None or int(length[0]) > 0
    upgrade = found.get(b"upgrade")
    options = [one.strip() for value in found.get(b"connection", ()) for one in value.split(b",")]
    is_websocket = upgrade == [b"websocket"] and b"upgrade" in options and valid[1] == b"GET" and not has_body
    is_last = b"close" in options or (is_old and b"keep-alive" not in options)
    has_other_upgrade = upgrade is not None and not is_websocket
    return Head(int(length[0]), coding is not None, is_websocket, has_other_upgrade, is_last)


def without_upgrade(data: bytes) -> bytes:
    """A head without the wish for another protocol, which a server may ignore (RFC 9110, 7.8): parsers of
    other versions differ in what of it they heed."""

    def rest(field: re.Match[bytes]) -> bytes:
        return b"\r\nConnection: close" if b"close" in field[0].lower() else b""

    return _OF_UPGRADE.sub(rest, data)


def _is_address(host: bytes | None, port: bytes | None) -> bool:
    """Whether an address in the first line, if it has one, is one that can be parsed."""
    if host is not None and host.startswith(b"["):
        try:
            IPv6Address(host[1:-1].decode())
        except ValueError:
            return False
    return port is None or int(port) <= _LAST_PORT


class _Part(Enum):
    SIZE = "the line with the size of a chunk"
    CONTENT = "its content"
    END = "the end of its line"
    LAST = "the end of the body"


class Body:
    """The rest of a request, after its head."""

    def __init__(self, head: Head) -> None:
        self._is_chunked = head.is_chunked
        self._part = _Part.SIZE
        self._rest = head.length
        """Bytes of content that are still to come, of the whole body or of a chunk."""
        self._line = b""
        """The beginning of a line."""
        self._content = self._framing = 0
        self.is_complete = not head.is_chunked and not head.length

    def take(self, data: bytes) -> int:
        """How many of these bytes belong to the body; fewer only if it ends there. Raises Refused."""
        if not self._is_chunked:
            taken = min(self._rest, len(data))
            self._rest -= taken
            self.is_complete = not self._rest
            return taken
        at = 0
        while at < len(data) and not self.is_complete:
            at = self._take_part(data, at)
        if self._framing > FRAMING_BYTES + self._content:
            raise Refused(400, "the framing of a chunked body is larger than its content")
        return at

    def _take_part(self, data: bytes, at: int) -> int:
        if self._part is _Part.CONTENT:
            taken = min(self._rest, len(data) - at)
            self._rest -= taken
            self._content += taken
            if not self._rest:
                self._part = _Part.END
            return at + taken
        end = data.find(b"\n", at)
        after = len(data) if end < 0 else end + 1
        self._line += data[at:after]
        self._framing += after - at
        if len(self._line) > FRAMING_BYTES:
            raise not_http()
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
            self._part = _Part.CONTENT if self._rest else _Part.LAST
        elif line:  # trailers, too, which aiohttp takes for fields of the next request
            raise not_http()
        elif self._part is _Part.END:
            self._part = _Part.SIZE
        else:
            self.is_complete = True
