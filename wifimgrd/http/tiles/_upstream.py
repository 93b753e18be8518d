"""Another tile server, over persistent connections; simultaneous requests for a tile become one.

An answer is cached as long as its headers allow, and revalidated with its tag after that. While the server is
away, expired answers are served: an old map is better than none.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit

import structlog
from yarl import URL

from wifimgrd.http._client import Answer, HttpBroken, Origin
from wifimgrd.http.tiles._source import Summary
from wifimgrd.http.tiles._tile import (
    LARGEST_TILE,
    TYPE_OF_FORMAT,
    UNKNOWN,
    NotReadyError,
    Tile,
    UnavailableError,
    encoding_of,
    media_type_of,
)

TIMEOUT_S: Final = 5.0
CACHE_LIMIT: Final = 32 << 20
_CONNECTIONS: Final = 16
_FRESH_S: Final = 60.0
"""How long an answer without such headers is fresh; a missing tile is requested again after the same time."""
_LEAST_MISSING_S: Final = 5.0
"""A missing tile is not requested again sooner, whatever the headers: maps request it again and again."""
_LONGEST_FRESH_S: Final = 86400.0
_NO_TILES: Final = frozenset(
    {
        "text/html", "application/xhtml+xml", "text/xml", "application/xml", "image/svg+xml",
        "text/javascript", "application/javascript", "application/json", "application/problem+json",
    }
)  # fmt: skip
"""Media types of error pages and captive portals, with status 200."""
_PAUSE_S: Final = 1.0
"""How long no request is sent to a server that refuses connections or does not answer."""
_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,10})")

_ENTRY_COST: Final = 500
"""Bytes of an entry beside its tile's."""
Place = tuple[int, int, int]

_log = structlog.get_logger("wifimgrd.tiles")


@dataclass(slots=True)
class Kept:
    """An answer: a tile, or None if there is none."""

    tile: Tile | None
    fresh_until: float
    etag: str = ""
    last_modified: str = ""

    @property
    def cost(self) -> int:
        """Bytes in memory, approximately."""
        return _ENTRY_COST + (0 if self.tile is None else len(self.tile.data))


class UpstreamCache:
    """Answers by place, in memory and bounded: the least recently used is dropped first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[Place, Kept] = OrderedDict()
        self.cost = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, place: Place) -> Kept | None:
        """The answer, fresh or not."""
        kept = self._kept.get(place)
        if kept is not None:
            self._kept.move_to_end(place)
        return kept

    def put(self, place: Place, kept: Kept) -> None:
        """Store an answer in place of the last one, unless it is larger than the whole cache may be."""
        self.drop(place)
        if kept.cost > self._limit:
            return
        self._kept[place] = kept
        self.cost += kept.cost
        while self.cost > self._limit:
            self.cost -= self._kept.popitem(last=False)[1].cost

    def drop(self, place: Place) -> None:
        """Remove an answer."""
        kept = self._kept.pop(place, None)
        if kept is not None:
            self.cost -= kept.cost


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
        self._fetching: dict[Place, asyncio.Task[Tile | None]] = {}
        self._origin: Origin | None = None
        self._away: UnavailableError | None = None
        self._away_until = 0.0

    @property
    def trouble(self) -> str:
        """The reason: it is tried again by itself."""
        return self.reason

    async def stop(self) -> None:
        """Cancel the running requests, and close the connections."""
        fetching = list(self._fetching.values())
        for task in fetching:
            task.cancel()
        await asyncio.gather(*fetching, return_exceptions=True)
        if self._origin is not None:
            self._origin.close()

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """A tile that is cached and fresh."""
        kept = self._cache.get((z, x, y))
        if kept is None or kept.fresh_until <= self._clock():
            raise NotReadyError
        return kept.tile

    async def fetch(self, z: int, x: int, y: int) -> Tile | None:
        """A tile from the server; requests during a request for the same tile wait for its answer."""
        place = (z, x, y)
        task = self._fetching.get(place)
        if task is None:
            task = self._fetching[place] = asyncio.create_task(self._fetch(place))
            task.add_done_callback(lambda done: self._done(place, done))
        return await asyncio.shield(task)

    def _done(self, place: Place, task: asyncio.Task[Tile | None]) -> None:
        del self._fetching[place]
        if not task.cancelled():
            task.exception()  # marked as retrieved: there may be no waiter left

    async def _fetch(self, place: Place) -> Tile | None:
        kept = self._cache.get(place)
        try:
            self._pause()
            tile = await self._request(place, kept)
        except UnavailableError as error:
            self._note(error)
            if kept is not None and kept.tile is not None:
                return kept.tile
            raise
        self._note(None)
        return tile

    def _pause(self) -> None:
        """Send no requests for a while to a server that has just failed."""
        if self._away is not None and self._clock() < self._away_until:
            raise UnavailableError(str(self._away), late=self._away.late)

    async def _request(self, place: Place, kept: Kept | None) -> Tile | None:
        z, x, y = place
        address = self.place.replace("{z}", str(z)).replace("{x}", str(x)).replace("{y}", str(y))
        headers = {"Accept": "*/*", "Accept-Encoding": "gzip", "User-Agent": "wifimgrd"}
        if kept is not None and kept.etag:
            headers["If-None-Match"] = kept.etag
        if kept is not None and kept.last_modified:
            headers["If-Modified-Since"] = kept.last_modified
        try:
            self._origin = self._origin or Origin(self.place, _CONNECTIONS)
            async with (
                asyncio.timeout(self._timeout_s),
                self._origin.get(URL(address).raw_path_qs, headers) as (answer, content),
            ):
                return await self._answered(place, kept, answer, content)
        except TimeoutError:
            problem = UnavailableError(
                f"the tile server did not answer within {self._timeout_s:g} s", late=True
            )
        except (HttpBroken, OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            problem = UnavailableError(f"the tile server cannot be used: {why}")
        self._away, self._away_until = problem, self._clock() + _PAUSE_S
        raise problem

    async def _answered(
        self, place: Place, kept: Kept | None, answer: Answer, content: AsyncIterator[bytes]
    ) -> Tile | None:
        until = self._clock() + freshness(answer.headers)
        etag, modified = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")
        match answer.status:
            case 304 if kept is not None:
                kept.fresh_until = until
                return kept.tile
            case 200:
                data = await _body(content)
                tile = _tile(data, answer, self.summary.media_type)
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
            log = _log.warning if reason else _log.info
            event = "upstream_unavailable" if reason else "upstream_available"
            log(event, tileset=self._tileset, url=self.place, **({"reason": reason} if reason else {}))
        self.reason = reason


async def _body(content: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for piece in content:
        data += piece
        if len(data) > LARGEST_TILE:
            raise UnavailableError(f"the tile server sent more than {LARGEST_TILE} bytes")
    return bytes(data)


def _tile(data: bytes, answer: Answer, otherwise: str) -> Tile | None:
    """The tile in an answer; an empty body is not a tile. Its media type is that of its header, or else
    that of its bytes."""
    if not data:
        return None
    coding = answer.headers.get("Content-Encoding", "").strip().lower().removeprefix("x-")
    if coding not in ("", "identity", "gzip", "br", "zstd"):
        raise UnavailableError(f"the tile server packs with {coding}, which was not requested")
    encoding = coding if coding in ("gzip", "br", "zstd") else encoding_of(data)
    media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type in _NO_TILES and media_type_of(data, UNKNOWN) == UNKNOWN:
        raise UnavailableError(f"the tile server answered with {media_type}, which is not a tile")
    if not (
        media_type.startswith("image/") and "svg" not in media_type
    ):  # no type that a browser would execute
        media_type = TYPE_OF_FORMAT.get(media_type) or otherwise or UNKNOWN
    tag = blake2b(data, digest_size=12).hexdigest()
    return Tile(data, media_type_of(data, media_type), encoding, tag, "upstream")


def freshness(headers: Mapping[str, str]) -> float:
    """Seconds for which an answer with these headers may be used without a further request."""
    cache_control = headers.get("Cache-Control", "").lower()
    if "no-store" in cache_control or "no-cache" in cache_control:
        return 0.0
    found = _MAX_AGE.search(cache_control)
    if found is None:
        return _FRESH_S
    age = headers.get("Age", "0")
    spent = int(age) if age.isascii() and age.isdecimal() and len(age) < 10 else 0
    return max(0.0, min(float(found[1]) - spent, _LONGEST_FRESH_S))
