"""The answers of a tile server, in memory and bounded: the least recently used is dropped first. Pure: no
clock, no I/O."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from wifimgrd.tiles.tile import Tile

_ENTRY_COST: Final = 500
"""Octets of an entry beside its tile's."""
Place = tuple[int, int, int]


@dataclass(slots=True)
class Kept:
    """An answer: a tile, or None if there is none."""

    tile: Tile | None
    fresh_until: float
    etag: str = ""
    last_modified: str = ""

    @property
    def cost(self) -> int:
        """Octets in memory, approximately."""
        return _ENTRY_COST + (0 if self.tile is None else len(self.tile.octets))


class UpstreamCache:
    """Answers by place."""

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
