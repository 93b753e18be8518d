"""MBTiles: tiles in an SQLite database, rows counted from the south."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event, Lock
from typing import Any, Final
from urllib.parse import quote

from wifimgrd.http.tiles._decompress import decompress
from wifimgrd.http.tiles._files import File, bytes_read
from wifimgrd.http.tiles._source import (
    METADATA_LIMIT,
    Summary,
    bounds_of,
    center_of,
    layers_of,
    texts_of,
    type_of_tiles,
    unfolded,
    zoom_of,
)
from wifimgrd.http.tiles._tile import (
    EMPTY,
    LARGEST_TILE,
    TYPE_OF_FORMAT,
    UNKNOWN,
    DamagedError,
    NotReadyError,
    SlowError,
    Tile,
    encoding_of,
    media_type_of,
)

_CACHE_KIB: Final = 8192
_HEADER: Final = b"SQLite format 3\0"
_FIND: Final = "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ? LIMIT 1"
_NO_INDEX: Final = "it has no index on zoom, column and row: each tile is looked for in all of it"
_GENERATED: Final = (
    "SELECT s.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c"
    " WHERE s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden IN (2, 3) LIMIT 1"
)
"""Tables with columns that are any expressions; SQLite does not ask about their functions."""
_LOG_EVERY_S: Final = 0.2
_OPEN_S: Final = 20.0
_READ_S: Final = 5.0
"""The longest time for opening a file, and for reading a tile: `tiles` may be a view of any query."""
_REST_S: Final = 60.0
"""How long nothing is read of a file after a query that took too long: each tile of a map would ask again."""
_CHECK_S: Final = 60.0
_CHECKED_PER_S: Final = 1 << 20
"""The longest time for a query over all tiles: a minute, and a second for so many bytes of the file."""
_STEPS: Final = 10_000
"""SQLite instructions between two checks of the time."""
_METADATA_ROWS: Final = 1000
_FUNCTIONS: Final = frozenset(
    {
        *("abs", "avg", "coalesce", "count", "iif", "ifnull", "length", "max", "min", "nullif", "round"),
        *("substr", "substring", "sum", "total", "typeof", "zeroblob"),
    }
)
"""The functions that views may have: each takes as long as its values are. SQLite does not look at the time
within one, and others, such as `instr` and LIKE, take as long as the product of two lengths."""


class MBTilesSource:
    """Tiles in a database that is not written to while it is open."""

    def __init__(self, path: Path, stopped: Event | None = None) -> None:
        """`stopped`: queries end with an error once it is set."""
        self._limit = _TimeLimit(Event() if stopped is None else stopped)
        self._limit.within(_OPEN_S)
        file = File(path)
        self.identity = file.identity
        self._tag = self.identity.tag
        self._file = file
        self._check_header(path)
        self._connection = _open(path)
        self._connection.set_progress_handler(self._limit, _STEPS)
        self._lock = Lock()
        self._rests_until = 0.0
        self._too_long = ""
        self.remarks: tuple[str, ...] = ()
        for (table,) in self._query(_GENERATED):
            raise DamagedError(f"its table {table} has generated columns")
        self._connection.set_authorizer(_authorize)
        metadata = self._metadata()
        layers = layers_of(metadata)
        stated = str(metadata.get("format", "")).lower()
        self._media_type = type_of_tiles(
            TYPE_OF_FORMAT.get(stated, UNKNOWN if stated else ""),
            self._first_tile(),
            metadata.get("vector_layers"),
        )
        for key, function in (("minzoom", "min"), ("maxzoom", "max")):
            if key not in metadata:  # one query each, so that an index is used
                [(metadata[key],)] = self._query(f"SELECT {function}(zoom_level) FROM tiles")  # noqa: S608
        self.summary = _summary(metadata, self._media_type, layers)

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:  # its cache of statements refers to it, so that it would stay open
            connection.close()

    def peek(self, z: int, x: int, y: int) -> Tile | None:
        """Always raises NotReadyError: whether SQLite will wait for the disk is not known in advance."""
        del z, x, y
        raise NotReadyError

    def read(self, z: int, x: int, y: int) -> Tile | None:
        """A tile from the disk."""
        with self._lock:
            if self.trouble:
                raise SlowError(self.trouble)
            self._limit.within(_READ_S)
            rows = self._query(_FIND, (z, x, (1 << z) - 1 - y))
        data = _bytes_of(rows[0][0]) if rows else b""
        if not data:
            return None
        media_type = media_type_of(data, self._media_type)
        return Tile(data, media_type, encoding_of(data), f"{self._tag}-{z}-{x}-{y}", "mbtiles")

    def verify(self, counts: dict[int, int]) -> Iterator[tuple[int, int]]:
        """SQLite's own check, then the columns of each tile; the progress is the number of bytes read."""
        with self._lock, ThreadPoolExecutor(1) as executor:
            before = bytes_read()
            self._limit.within(self._check_s)
            work = executor.submit(self._verify, counts)
            try:
                while not wait([work], _LOG_EVERY_S).done:
                    yield min(bytes_read() - before, self._file.size - 1), self._file.size
            finally:
                self._limit.within(0)
            work.result()
        yield 1, 1

    def _verify(self, counts: dict[int, int]) -> None:
        [(result,)] = self._query("PRAGMA quick_check(1)")
        if result != "ok":
            raise DamagedError(f"SQLite's check says: {result}")
        wrong = self._query(
            "SELECT zoom_level, tile_column, tile_row, ifnull(length(tile_data), 0) = 0 FROM tiles"
            " WHERE ifnull(length(tile_data), 0) = 0 OR tile_column NOT BETWEEN 0 AND (1 << zoom_level) - 1"
            " OR tile_row NOT BETWEEN 0 AND (1 << zoom_level) - 1 LIMIT 1"
        )
        if wrong:
            *place, is_empty = wrong[0]
            what = EMPTY if is_empty else "lies outside the world"
            raise DamagedError(f"the tile {'/'.join(map(str, place))} {what} (rows from the south)")
        plan = [str(detail) for *_, detail in self._query(f"EXPLAIN QUERY PLAN {_FIND}", (0, 0, 0))]
        if any(one.startswith("SCAN") and one != "SCAN CONSTANT ROW" for one in plan):
            self.remarks = (_NO_INDEX,)
        counts.update(self._query("SELECT zoom_level, count(*) FROM tiles GROUP BY 1 ORDER BY 1 LIMIT 32"))

    def _check_header(self, path: Path) -> None:
        """Errors that SQLite would find too late: a file that is truncated or being written."""
        header = self._file.read(0, 100)
        if not header.startswith(_HEADER):
            raise DamagedError("it is not a SQLite database")
        page = int.from_bytes(header[16:18], "big")
        pages = int.from_bytes(header[28:32], "big")
        if pages * (65536 if page == 1 else page) > self._file.size:
            raise DamagedError("it is shorter than its header says")
        for ending in ("-wal", "-journal"):
            beside = path.with_name(path.name + ending)
            if beside.exists() and beside.stat().st_size > 0:
                raise DamagedError(f"it is being written: {beside.name} is there", passing=True)

    def _metadata(self) -> dict[str, object]:
        """Without one that can be read, none; raises DamagedError if it is too large."""
        metadata: dict[str, object] = {}
        size = 0
        try:
            for count, (name, value) in enumerate(
                self._connection.execute("SELECT name, value FROM metadata")
            ):
                size += sum(len(one) for one in (name, value) if isinstance(one, str | bytes))
                if size > METADATA_LIMIT or count == _METADATA_ROWS:
                    raise DamagedError(
                        f"its metadata is over {METADATA_LIMIT >> 20} MB or {_METADATA_ROWS} rows"
                    )
                metadata[str(name)] = value
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if self._limit():
                raise self._error(error) from None
            return {}
        return unfolded(metadata)

    def _first_tile(self) -> bytes:
        """Some tile, uncompressed; raises DamagedError."""
        rows = self._query("SELECT tile_data FROM tiles LIMIT 1")
        if not rows:
            raise DamagedError("it has no tiles")
        data = _bytes_of(rows[0][0])
        return decompress(data, encoding_of(data), LARGEST_TILE)

    def _query(self, question: str, values: tuple[int, ...] = ()) -> list[Any]:
        try:
            return self._connection.execute(question, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise self._error(error) from None

    def _error(self, error: Exception) -> DamagedError:
        if not self._limit():
            return DamagedError(f"SQLite says: {error}")
        self._rests_until = time.monotonic() + _REST_S
        self._too_long = (
            "the process is stopping"
            if self._limit.is_stopped
            else f"a query took longer than {round(self._limit.seconds, 2):g} s"
        )
        return SlowError(self._too_long)

    @property
    def trouble(self) -> str:
        """Why nothing is read now; empty if tiles are."""
        return self._too_long if time.monotonic() < self._rests_until else ""

    @property
    def _check_s(self) -> float:
        return _CHECK_S + self._file.size / _CHECKED_PER_S


class _TimeLimit:
    """Whether SQLite has to give up the present query: the time is over, or the process stops."""

    def __init__(self, stopped: Event) -> None:
        self._stopped = stopped
        self._end = 0.0
        self.seconds = 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether the process stops."""
        return self._stopped.is_set()

    def within(self, seconds: float) -> None:
        """Allow the next query this time."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def __call__(self) -> bool:
        return self._stopped.is_set() or time.monotonic() > self._end


def _bytes_of(value: object) -> bytes:
    """A tile's bytes; a tile without any is a missing one. Raises DamagedError."""
    if value is None:
        return b""
    if not isinstance(value, bytes) or len(value) > LARGEST_TILE:
        raise DamagedError("a tile is not a blob of a tile's size")
    return value


def _open(path: Path) -> sqlite3.Connection:
    """Without locks and journals: the file is not written to, and its folder may be read-only."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA mmap_size = 0")  # a truncated file would kill the process
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")  # any expressions
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_TILE)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise DamagedError(f"SQLite says: {error}") from None
    return connection


def _authorize(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    is_refused = action == sqlite3.SQLITE_FUNCTION and str(name).lower() not in _FUNCTIONS
    return sqlite3.SQLITE_DENY if is_refused else sqlite3.SQLITE_OK


def _summary(metadata: dict[str, object], media_type: str, layers: list[object] | None) -> Summary:
    return Summary(
        media_type=media_type,
        minzoom=zoom_of(metadata.get("minzoom"), 0),
        maxzoom=zoom_of(metadata.get("maxzoom"), 30),
        bounds=bounds_of(metadata.get("bounds")),
        center=center_of(metadata.get("center")),
        texts=texts_of(metadata),
        vector_layers=layers,
    )
