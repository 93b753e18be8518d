"""Which Bluetooth bonds are the hub's, as rows of their table."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from wifimgrd.daemon.store._schema import BACKUP_NAME, FILE_NAME, SCHEMA_VERSION, migrate, version_of
from wifimgrd.domain.bonds import UNKNOWN, Claim

_MAC: Final = re.compile(r"(?:[0-9A-F]{2}:){5}[0-9A-F]{2}")


def read(connection: sqlite3.Connection) -> Mapping[str, Claim]:
    """All, by the address of the camera."""
    return _claims(connection.execute("SELECT address, adapter, is_own FROM bond"))


def keep(connection: sqlite3.Connection, address: str, claim: Claim) -> None:
    """Write those with one camera."""
    connection.execute("DELETE FROM bond WHERE address = ?", (address,))
    rows = ((address, adapter, is_own) for adapter, is_own in claim.rows())
    connection.executemany("INSERT INTO bond VALUES (?, ?, ?)", rows)


def of_state(directory: Path) -> Mapping[str, Claim]:
    """Those of the state in a directory, as the daemon would open it: the file, or the copy beside it if the
    file is empty or cannot be read. Empty if neither can; an entry that is not a bond is left out."""
    for name in (FILE_NAME, BACKUP_NAME):
        path = directory / name
        with (
            suppress(sqlite3.Error, UnicodeDecodeError),
            closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as source,
            closing(sqlite3.connect(":memory:", isolation_level=None)) as copy,
        ):
            source.backup(copy)
            copy.text_factory = lambda data: data.decode(errors="replace")
            if not (version := version_of(copy)):
                continue
            if version < SCHEMA_VERSION:
                migrate(copy)
            return _claims(_valid(copy.execute("SELECT address, adapter, is_own FROM bond")))
    return {}


def _claims(rows: Iterable[tuple[str, str, int]]) -> Mapping[str, Claim]:
    found: dict[str, list[tuple[str, bool]]] = {}
    for address, adapter, is_own in rows:
        found.setdefault(address, []).append((adapter, bool(is_own)))
    return {address: Claim.of(pairs) for address, pairs in found.items()}


def _valid(rows: Iterable[tuple[object, object, object]]) -> Iterator[tuple[str, str, int]]:
    for address, adapter, is_own in rows:
        match address, adapter, is_own:
            case str(), str(), int() if _MAC.fullmatch(address) and _is_adapter(adapter):
                yield address, adapter, is_own


def _is_adapter(text: str) -> bool:
    return text == UNKNOWN or _MAC.fullmatch(text) is not None
