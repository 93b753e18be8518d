"""Takes, as the rows of recordings say them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from wifimgrd.domain.history import LARGEST_ANSWER, LARGEST_LIMIT, HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.domain.takes import Take, TakeFilter, TakeReader

_ROWS_A_TAKE: Final = 4
"""So many rows are read at a time for each take that is wanted."""
_FEWEST_ROWS: Final = 250
"""So many are read at least: each time costs about as much as these."""
_MOST_PAST: Final = 50
"""Earlier takes are not looked for after so many in a row that ended before those that are wanted. A few may
only seem so, where the clock was set."""


class Takes:
    """Reads takes; nothing of them is kept."""

    def __init__(self, read: Callable[[HistoryFilter], Awaitable[list[HistoryRow]]]) -> None:
        """`read` returns the newest rows that match, the newest first; raises InternalError."""
        self._read = read

    async def newest(self, wanted: TakeFilter) -> list[Take]:
        """The newest takes that match, the newest first; raises InternalError. Not all where they are too
        many bytes for an answer."""
        found, size, past = list[Take](), 0, 0
        rows = min(LARGEST_LIMIT, max(_FEWEST_ROWS, _ROWS_A_TAKE * wanted.limit))
        async for take in self._all(rows, wanted.before):
            past = past + 1 if wanted.is_before(take) else 0
            if past == _MOST_PAST:
                break
            if not wanted.fits(take):
                continue
            fitting = take.within(LARGEST_ANSWER)
            size += fitting.size
            if found and size > LARGEST_ANSWER:
                break
            found.append(fitting)
            if len(found) == wanted.limit:
                break
        return found

    async def of(self, take_id: int) -> Take | None:
        """The take of rows that name an id; None if all were deleted. Raises InternalError."""
        async for take in self._all(_FEWEST_ROWS):
            if take.has_rows_of(take_id):
                return take
            if all(row.id < take_id for row in take.recordings):
                break
        return None

    async def _all(self, limit: int, before: int | None = None) -> AsyncIterator[Take]:
        """All takes whose rows are before the one with an id, the newest first. So many rows are read at a
        time."""
        reader = TakeReader()
        while True:
            rows = await self._read(HistoryFilter(before=before, limit=limit, kind=HistoryKind.RECORDING))
            for take in reader.add(rows):
                yield take
            if len(rows) < limit:
                break
            before = rows[-1].id
        for take in reader.finish():
            yield take
