"""The search for the files of a recording: it gives way to each command, and tells no file twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.domain.errors import CameraBusy
from wifimgrd.domain.recordings import RecordedFile

_COMMANDED: Final = "the camera was commanded while its files were searched for"
_SAME_US: Final = 1_000_000
"""The begin of one recording is told within so much, by a clock that is corrected meanwhile."""


class FileSearch:
    """The one search at a camera that may run."""

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        """The end of the one that runs."""
        self._names: frozenset[str] = frozenset()
        """The files that were found last."""
        self._began_us = 0
        """The begin of their recording."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """A search; raises CameraBusy if it has given way, or another one runs."""
        if self._limit is not None:
            raise CameraBusy("another search for files runs")
        try:
            async with asyncio.timeout(None) as self._limit:
                yield
        except TimeoutError:
            raise CameraBusy(_COMMANDED) from None
        finally:
            self._limit = None

    def give_way(self) -> None:
        """A command has come: a search that runs ends at once."""
        if self._limit is not None and self._limit.when() is None:
            self._limit.reschedule(asyncio.get_running_loop().time())

    def found(
        self, files: tuple[RecordedFile, ...] | None, recording: PastRecording
    ) -> tuple[RecordedFile, ...] | None:
        """The files of a recording, unless they are those that were found for the one before: then the camera
        does not list its own yet, or never."""
        names = frozenset(file.name for file in files or ())
        is_other = abs(recording.began_us - self._began_us) > _SAME_US
        if is_other and not names.isdisjoint(self._names):
            return None
        if names:
            self._names, self._began_us = names, recording.began_us
        return files
