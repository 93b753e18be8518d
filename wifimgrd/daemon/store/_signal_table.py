"""The signal of each device, and its battery, in the file of the history: one blob an hour.

The hour comes first in the key, so that a write of all devices touches neighbouring pages.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import structlog

from wifimgrd.daemon.store._signal_samples import MINUTES, BlobDamaged, packed, unpacked
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import KEPT_DAYS, Samples, SignalSample

_log: Any = structlog.get_logger(__name__)

CREATE: Final = """
    CREATE TABLE signal (
        hour      INTEGER NOT NULL,  -- since the epoch
        device_id INTEGER NOT NULL,
        samples   BLOB NOT NULL,     -- wifimgrd.daemon.store._signal_samples
        PRIMARY KEY (hour, device_id)
    ) STRICT, WITHOUT ROWID
"""
_KEPT_HOURS: Final = KEPT_DAYS * 24
_MOST_HOURS: Final = 2 * (_KEPT_HOURS + 1)
"""A clock that jumps leaves hours far from now; with those that are kept there are no more than this."""


def put(connection: sqlite3.Connection, samples: Mapping[DeviceId, Samples]) -> None:
    """Add samples to their hours; a later one for a minute takes the place of an earlier one. In the
    transaction that is open; raises sqlite3.Error."""
    hours: dict[tuple[int, DeviceId], dict[int, SignalSample]] = defaultdict(dict)
    for device_id, of_device in samples.items():
        for minute, sample in of_device.items():
            hours[minute // MINUTES, device_id][minute % MINUTES] = sample
    for (hour, device_id), added in sorted(hours.items()):
        connection.execute(
            "INSERT OR REPLACE INTO signal VALUES (?, ?, ?)",
            (hour, device_id, packed({**_hour(connection, hour, device_id), **added})),
        )


def prune(connection: sqlite3.Connection, minute: int) -> None:
    """Delete the samples that are too old at a minute. In the transaction that is open; raises
    sqlite3.Error."""
    now = minute // MINUTES
    connection.execute("DELETE FROM signal WHERE hour < ?", (now - _KEPT_HOURS,))
    connection.execute(
        "DELETE FROM signal WHERE hour IN (SELECT DISTINCT hour FROM signal ORDER BY abs(hour - ?)"
        " LIMIT -1 OFFSET ?)",
        (now, _MOST_HOURS),
    )


def read(connection: sqlite3.Connection, device_id: DeviceId, minutes: range) -> dict[int, SignalSample]:
    """The samples of a device in some minutes, the earlier ones first; raises sqlite3.Error."""
    found: dict[int, SignalSample] = {}
    if minutes:
        for hour in range(minutes[0] // MINUTES, minutes[-1] // MINUTES + 1):
            for minute, sample in _hour(connection, hour, device_id).items():
                if (at := hour * MINUTES + minute) in minutes:
                    found[at] = sample
    return found


def forget(connection: sqlite3.Connection, device_id: DeviceId) -> None:
    """Delete the samples of a device; raises sqlite3.Error."""
    connection.execute("DELETE FROM signal WHERE device_id = ?", (device_id,))


def _hour(connection: sqlite3.Connection, hour: int, device_id: DeviceId) -> Samples:
    """The samples of an hour; none if its blob is damaged, which costs no other one."""
    query = "SELECT samples FROM signal WHERE hour = ? AND device_id = ?"
    row = connection.execute(query, (hour, device_id)).fetchone()
    if row is None:
        return {}
    try:
        return unpacked(row[0])
    except BlobDamaged as error:
        _log.debug("signal_hour_damaged", device=device_id, hour=hour, reason=str(error))
        return {}
