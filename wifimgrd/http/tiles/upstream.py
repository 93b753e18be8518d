"""Another tile server, which is asked over connections that stay, once for everybody who waits.

What it said is kept as long as it said, and asked for again with its tag after that. While it is
away, what is kept is served although it is old: an old map is better than none.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit

import structlog
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

from wifimgrd.http.tiles.source import Summary
from wifimgrd.http.tiles.tile import (
    LARGEST_TILE,
    TYPE_OF_FORMAT,
    UNKNOWN,
    VECTOR,
    NotReadyError,
    Tile,
    UnavailableError,
    encoding_of,
    media_type_of,
)
from wifimgrd.http.tiles.upstream_cache import Kept, Place, UpstreamCache

TIMEOUT_S: Final = 5.0
CACHE_LIMIT: Final = 32 << 20
_CONNECTIONS: Final = 16
_FRESH_S: Final = 60.0
"""How long an answer is fresh that does not say so; a missing tile is asked for again as soon."""
_LEAST_MISSING_S: Final = 5.0
"""A missing tile is not asked for again sooner, whatever the server says: maps ask again and again."""
_LONGEST_FRESH_S: Final = 86400.0
_VECTOR_TYPES: Final = frozenset({VECTOR, "application/x-protobuf", "application/protobuf"})
_NO_TILES: Final = frozenset(
    {
        "text/html", "application/xhtml+xml", "text/xml", "application/xml", "image/svg+xml",
        "text/javascript", "application/javascript", "application/json", "application/problem+json",
    }
)  # fmt: skip
"""What pages of errors and of captive portals come as, with status 200."""
_PAUSE_S: Final = 1.0
"""How long a server that refuses connections or does not answer is left alone."""
_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,10})")

_log = structlog.get_logger("wifimgrd.http.tiles")


class UpstreamSlot:
    """A tile server in a tileset."""

    kind = "upstream"

    def __init__(
        self,
        tileset: str,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        cache_limit: int = CACHE_LIMIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place = url
        self.reason = ""
        ending = urlsplit(url).path.rpartition(".")[2]
        self.summary = Summary(media_type=TYPE_OF_FORMAT.get(ending, ""))
        self.tag = ""
        self._tileset = tileset
        self._timeout_s = timeout_s
        self._clock = clock
        self._cache = UpstreamCache(cache_limit)
        self._asking: dict[Place, asyncio.Task[Tile | None]] = {}
        self._session: ClientSession | None = None
        self._away: UnavailableError | None = None
        self._away_until = 0.0

    async def stop(self) -> None:
        """End what is under way, and the connections."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile that is kept and fresh."""
        kept = self._cache.get((z, x, y))
        if kept is None or kept.fresh_until <= self._clock():
            raise NotReadyError
        return kept.tile

    async def fetch(self, z: int, x: int, y: int) -> Tile | None:
        """A tile from the server; who asks while it is being asked for waits for the same answer."""
        place = (z, x, y)
        task = self._asking.get(place)
        if task is None:
            task = self._asking[place] = asyncio.create_task(self._ask(place))
            task.add_done_callback(lambda done: self._done(place, done))
        return await asyncio.shield(task)

    def _done(self, place: Place, task: asyncio.Task[Tile | None]) -> None:
        del self._asking[place]
        if not task.cancelled():
            task.exception()  # everybody who waited for it may have gone

    async def _ask(self, place: Place) -> Tile | None:
        kept = self._cache.get(place)
        try:
            self._leave_alone()
            tile = await self._request(place, kept)
        except UnavailableError as error:
            self._note(error)
            if kept is not None and kept.tile is not None:
                return kept.tile
            raise
        self._note(None)
        return tile

    def _leave_alone(self) -> None:
        """Ask nothing for a while of a server that has just failed."""
        if self._away is not None and self._clock() < self._away_until:
            raise UnavailableError(str(self._away), late=self._away.late)

    async def _request(self, place: Place, kept: Kept | None) -> Tile | None:
        z, x, y = place
        address = self.place.replace("{z}", str(z)).replace("{x}", str(x)).replace("{y}", str(y))
        headers = {"Accept": "*/*", "Accept-Encoding": "gzip"}
        if kept is not None and kept.etag:
            headers["If-None-Match"] = kept.etag
        if kept is not None and kept.last_modified:
            headers["If-Modified-Since"] = kept.last_modified
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._connections().get(address, headers=headers, allow_redirects=False) as answer,
            ):
                return await self._answered(place, kept, answer)
        except TimeoutError:
            problem = UnavailableError(
                f"the tile server did not answer within {self._timeout_s:g} s", late=True
            )
        except (ClientError, OSError, ValueError) as error:
            why = getattr(getattr(error, "os_error", error), "strerror", None) or type(error).__name__
            problem = UnavailableError(f"the tile server cannot be asked: {why}")
        self._away, self._away_until = problem, self._clock() + _PAUSE_S
        raise problem

    async def _answered(self, place: Place, kept: Kept | None, answer: ClientResponse) -> Tile | None:
        until = self._clock() + _freshness(answer)
        etag, modified = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")
        match answer.status:
            case 304 if kept is not None:
                kept.fresh_until = until
                return kept.tile
            case 200:
                octets = await _body(answer)
                tile = _tile(octets, answer, self.summary.media_type)
                self._cache.put(place, Kept(tile, until, etag, modified))
                return tile
            case 204 | 404 | 410:
                now = self._clock()
                self._cache.put(place, Kept(None, min(max(until, now + _LEAST_MISSING_S), now + _FRESH_S)))
                return None
        raise UnavailableError(f"the tile server answered {answer.status}")

    def _note(self, error: UnavailableError | None) -> None:
        """Log the first failure and the first success after it."""
        reason = "" if error is None else str(error)
        if error is None:
            self._away = None
        if bool(reason) != bool(self.reason):
            tell = _log.warning if reason else _log.info
            event = "upstream_unavailable" if reason else "upstream_available"
            tell(event, tileset=self._tileset, url=self.place, **({"reason": reason} if reason else {}))
        self.reason = reason

    def _connections(self) -> ClientSession:
        if self._session is None:
            self._session = ClientSession(
                connector=TCPConnector(limit=_CONNECTIONS),
                cookie_jar=DummyCookieJar(),
                auto_decompress=False,
                timeout=ClientTimeout(total=None),
                headers={"User-Agent": "wifimgrd"},
            )
        return self._session


async def _body(answer: ClientResponse) -> bytes:
    octets = bytearray()
    async for piece in answer.content.iter_any():
        octets += piece
        if len(octets) > LARGEST_TILE:
            raise UnavailableError(f"the tile server sent more than {LARGEST_TILE} octets")
    return bytes(octets)


def _tile(octets: bytes, answer: ClientResponse, otherwise: str) -> Tile | None:
    """The tile in an answer; an empty body is none. What its header says counts, and where it says
    nothing, what the octets are."""
    if not octets:
        return None
    coding = answer.headers.get("Content-Encoding", "").strip().lower().removeprefix("x-")
    if coding not in ("", "identity", "gzip", "br", "zstd"):
        raise UnavailableError(f"the tile server packs with {coding}, which nobody asked it to")
    encoding = coding if coding in ("gzip", "br", "zstd") else encoding_of(octets)
    said = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if said in _NO_TILES and media_type_of(octets, UNKNOWN) == UNKNOWN:
        raise UnavailableError(f"the tile server answered with {said}, which is no tile")
    if not (said.startswith("image/") and "svg" not in said):  # nothing that a browser would run
        said = VECTOR if said in _VECTOR_TYPES else otherwise or UNKNOWN
    tag = blake2b(octets, digest_size=12).hexdigest()
    return Tile(octets, media_type_of(octets, said), encoding, tag, "upstream")


def _freshness(answer: ClientResponse) -> float:
    """Seconds for which an answer may be kept without asking again."""
    said = answer.headers.get("Cache-Control", "").lower()
    if "no-store" in said or "no-cache" in said:
        return 0.0
    found = _MAX_AGE.search(said)
    if found is None:
        return _FRESH_S
    age = answer.headers.get("Age", "0")
    spent = int(age) if age.isascii() and age.isdecimal() and len(age) < 10 else 0
    return max(0.0, min(float(found[1]) - spent, _LONGEST_FRESH_S))
