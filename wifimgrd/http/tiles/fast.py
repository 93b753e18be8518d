"""The short way to a tile: from the bytes of a request to the bytes of its answer.

It takes only plain GETs of tiles that are in memory, from admitted clients; all other requests are left to
the application, which gives the same answer. Headers are parsed once: a client repeats its own without any
change, so the result is cached by their bytes. Those of clients that are not admitted are never cached.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from multidict import CIMultiDict

from wifimgrd.http.access.cors import EMBEDDED, Cors
from wifimgrd.http.access.request_safety import RequestSafety
from wifimgrd.http.access.token import AccessToken
from wifimgrd.http.tiles._coordinates import exists
from wifimgrd.http.tiles._date_line import DateLine
from wifimgrd.http.tiles._readers import Place, Result
from wifimgrd.http.tiles._replies import Reply, Terms, is_unpacked_for, missing_reply, not_found, tile_reply
from wifimgrd.http.tiles._tile import NotReadyError, Tile
from wifimgrd.http.tiles._tileset import FOUND, MISSING, NO_SOURCE, Tileset
from wifimgrd.http.tiles.tilesets import Tilesets

_KEPT_CLIENTS: Final = 256
_LONGEST_HEAD: Final = 8192
_NAME: Final = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Bytes of a field's name (RFC 9110, 5.6.2)."""
_VALUE: Final = b"\t" + bytes(range(0x20, 0x7F))
"""Bytes of a plain field's value."""
_ONLY_ONCE: Final = ("Authorization", "Accept-Encoding", "If-None-Match", "Cookie", "Origin")
_NOT_PLAIN: Final = ("Upgrade", "Content-Length", "Transfer-Encoding", "Expect", "Connection")
_REASONS: Final = {200: "OK", 204: "No Content", 304: "Not Modified", 404: "Not Found"}


class Client(NamedTuple):
    """The result of parsing a request's headers, after the client was admitted."""

    terms: Terms
    origin: bytes
    """Headers of the answer that name its origin."""
    heads: dict[tuple[str, str], bytes]
    """First parts of answers, by media type and coding."""


Clients = dict[bytes, Client]


class Later(NamedTuple):
    """A request whose tile has to be read from the disk."""

    client: Client
    tileset: Tileset
    place: Place


class FastPath:
    """Answers requests for tiles."""

    def __init__(
        self, tilesets: Tilesets, platform: str, safety: RequestSafety, token: AccessToken | None, cors: Cors
    ) -> None:
        self._readers = tilesets.readers
        self._safety = safety
        self._token = token
        self._cors = cors
        self._by_name = {name.encode(): tileset for name, tileset in tilesets.by_name.items()}
        self._default = tilesets.by_name[tilesets.default]
        start = f"GET /plugin-views/{platform}_plugin_map/map/offline-tiles"
        pattern = re.escape(start) + r"/?\?z=([0-9]{1,10})&x=([0-9]{1,10})&y=([0-9]{1,10}) HTTP/1\.1"
        self._of_platform = re.compile(pattern.encode()).fullmatch
        self._clients: dict[object, Clients] = {}
        self._lost: dict[str, bytes] = {}
        self._date_line = DateLine()

    def clients_at(self, own: object) -> Clients:
        """The clients that were admitted on one of the shim's addresses, which decides the allowed Hosts."""
        name = own[0] if isinstance(own, tuple) else own
        if len(self._clients) > _KEPT_CLIENTS:
            self._clients.clear()
        return self._clients.setdefault(name, {})

    def forget_clients(self) -> None:
        """Clear the caches: every client is checked anew."""
        for clients in self._clients.values():
            clients.clear()

    def answer(self, request: bytes, clients: Clients, own: object) -> bytes | Later | None:
        """The whole answer, or the tile to read for it; None if the application has to answer."""
        line, _, fields = request.partition(b"\r\n")
        pieces = line.split(b"/")
        if len(pieces) == 7 and pieces[1] == b"tiles":
            verb, _, name, z, x, row, version = pieces
            y, dot, ending = row[:-5].partition(b".")
            if (
                verb != b"GET "
                or version != b"1.1"
                or row[-5:] != b" HTTP"
                or not (z.isdigit() and x.isdigit() and y.isdigit() and len(line) < 128)
                or (dot and not (ending.isalnum() and ending[:1].isalpha() and len(ending) < 12))
            ):
                return None
            tileset = self._by_name.get(name)
        else:
            found = self._of_platform(line)
            if found is None:
                return None
            z, x, y = found.groups()
            tileset = self._default
        if tileset is None:
            return None
        client = clients.get(fields)
        if client is None:
            client = admitted(fields, own, self._safety, self._token, self._cors)
            if client is None:
                return None
            if len(clients) >= _KEPT_CLIENTS:
                clients.clear()
            clients[fields] = client
        place = (int(z), int(x), int(y))
        try:
            tile = tileset.peek(*place) if exists(*place) else None
        except NotReadyError:
            return Later(client, tileset, place) if tileset.is_on_disk else None
        return self._written_tile(tile, client, tileset, place)

    def read(self, later: Later, take: Callable[[bytes | None], None]) -> None:
        """Read a tile in a thread, then call back with the answer; None if the application has to answer."""

        def answer(result: Result) -> None:
            if isinstance(result, Exception):
                take(None)
            else:
                take(self._written_tile(result, *later))

        self._readers.submit(later.tileset.read, later.place, answer)

    def _written_tile(
        self, tile: Tile | None, client: Client, tileset: Tileset, place: Place
    ) -> bytes | None:
        if tile is None:
            answer = self._missing(client, tileset, b"%d/%d/%d" % place)
            tileset.counts[MISSING, NO_SOURCE] += answer is not None
            return answer
        if is_unpacked_for(tile, client.terms):
            return None  # left to a thread
        if client.terms.tags:
            answer = self._written(tile_reply(tile, client.terms), client)
            tileset.counts[FOUND, tile.source] += 1
            return answer
        kind = (tile.media_type, tile.encoding)
        head = client.heads.get(kind)
        if head is None:
            head = client.heads[kind] = self._head(tile, client)
        data = tile.data
        tileset.counts[FOUND, tile.source] += 1
        return b'%b%bETag: "%b"\r\nContent-Length: %d\r\n\r\n%b' % (
            head,
            self._date_line(),
            tile.tag.encode(),
            len(data),
            data,
        )

    def _head(self, tile: Tile, client: Client) -> bytes:
        reply = tile_reply(tile, client.terms)
        return self._lines(Reply(200, {k: v for k, v in reply.headers.items() if k != "ETag"}, b""), client)

    def _missing(self, client: Client, tileset: Tileset, where: bytes) -> bytes | None:
        if not tileset.is_there:
            return None
        reply = missing_reply(tileset.missing, tileset.media_type)
        if reply is None and client.terms.is_picture:
            reply = Reply(404, {"Cache-Control": "no-store"}, b"")
        elif reply is None:
            text = self._lost.get(tileset.name)
            if text is None:
                response = not_found(tileset.name, "@").response()
                text = self._lost[tileset.name] = bytes(response.body)  # type: ignore[arg-type]
            headers = {"Content-Type": "application/problem+json", "Cache-Control": "no-store"}
            reply = Reply(404, headers, text.replace(b"@", where))
        return self._written(reply, client)

    def _written(self, reply: Reply, client: Client) -> bytes:
        length = b"" if reply.status in (204, 304) else b"Content-Length: %d\r\n" % len(reply.body)
        return self._lines(reply, client) + self._date_line() + length + b"\r\n" + reply.body

    def _lines(self, reply: Reply, client: Client) -> bytes:
        headers = dict(reply.headers) | {"X-Content-Type-Options": "nosniff"}
        if self._cors.is_used:
            headers["Vary"] = f"{headers['Vary']}, Origin" if "Vary" in headers else "Origin"
            headers |= EMBEDDED
        lines = [f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n" + client.origin


def admitted(
    fields: bytes, own: object, safety: RequestSafety, token: AccessToken | None, cors: Cors
) -> Client | None:
    """The values of headers, if they are plain, complete, and admitted."""
    if len(fields) > _LONGEST_HEAD or not fields.endswith(b"\r\n\r\n"):
        return None
    headers: CIMultiDict[str] = CIMultiDict()
    for line in fields[:-4].split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not name or not colon or name.translate(None, _NAME) or value.translate(None, _VALUE):
            return None
        headers.add(name.decode(), value.strip(b" \t").decode())
    if headers.get("Connection", "keep-alive").lower() == "keep-alive":
        headers.popall("Connection", None)
    hosts = headers.getall("Host", [])
    if (
        len(hosts) != 1
        or not safety.allows(hosts[0], own)
        or (token is not None and not token.admits(headers))
        or any(name in headers for name in _NOT_PLAIN)
        or any(len(headers.getall(name, [])) > 1 for name in _ONLY_ONCE)
    ):
        return None
    headers_of_origin = cors.named(headers.get("Origin"))
    origin = "".join(f"{name}: {value}\r\n" for name, value in headers_of_origin.items()).encode()
    return Client(Terms.of(headers), origin, {})
