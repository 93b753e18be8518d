"""A PMTiles archive at a path: sent as it is, and read for its metadata and its tiles."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import structlog

from wifimgrd.tiles.files import identity_of
from wifimgrd.tiles.map.open_file import OpenFile
from wifimgrd.tiles.pmtiles import PMTilesSource
from wifimgrd.tiles.tile import DamagedError

_log = structlog.get_logger("wifimgrd.tiles.map")


class Archive:
    """The file that is at the path at the time of each call. All calls block on the disk: use threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._source: PMTilesSource | None = None
        self._reason = ""

    def open(self) -> OpenFile:
        """The file, for sending; raises OSError."""
        return OpenFile.at(self.path)

    def source(self) -> PMTilesSource | None:
        """The archive, opened; None if there is none, or if it is damaged, which is logged once."""
        with self._lock:
            try:
                identity = identity_of(self.path)
                if self._source is None or self._source.identity != identity:
                    self._source = None if identity is None else PMTilesSource(self.path)
                self._reason = ""
            except (DamagedError, OSError) as error:
                self._source = None
                reason = str(error)
                if reason != self._reason:
                    _log.warning("map_archive_refused", path=str(self.path), reason=reason)
                self._reason = reason
            return self._source
