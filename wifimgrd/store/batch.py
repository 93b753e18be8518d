"""Writes that nobody waits for, gathered until the disk has time."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from wifimgrd.domain.device import DeviceId
from wifimgrd.store import rows


@dataclass(slots=True)
class Batch:
    """Rows of devices and notes; of two to the same place the later one counts."""

    devices: dict[DeviceId, rows.Row] = field(default_factory=dict)
    notes: dict[str, str | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.devices or self.notes)

    def followed_by(self, later: Batch) -> Batch:
        """Both in one."""
        return Batch(self.devices | later.devices, self.notes | later.notes)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write it all, in the transaction that is open; raises sqlite3.Error."""
        # A device that was removed since matches no row.
        connection.executemany(rows.UPDATE_DEVICE, [(*row, ident) for ident, row in self.devices.items()])
        for key, value in self.notes.items():
            if value is None:
                connection.execute("DELETE FROM memory WHERE key = ?", (key,))
            else:
                connection.execute("INSERT OR REPLACE INTO memory (key, value) VALUES (?, ?)", (key, value))
