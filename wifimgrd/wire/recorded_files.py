"""The files of a recording, as the camera process tells them to the daemon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wifimgrd.domain.recorded_files import recorded_files
from wifimgrd.domain.recordings import RecordedFile

_UNKNOWN: Final = -1
"""A size that is not known."""


def encode(files: tuple[RecordedFile, ...] | None) -> tuple[bool, list[list[object]]]:
    """Whether they are known, and the name and the size of each, as a struct."""
    known = recorded_files([(file.name, file.size) for file in files]) if files is not None else None
    rows = [[file.name, _UNKNOWN if file.size is None else file.size] for file in known or ()]
    return known is not None, list[list[object]](rows)


def decode(known: bool, rows: Sequence[tuple[str, int]]) -> tuple[RecordedFile, ...] | None:
    """The files; None if they are not known, or are none that a camera process tells."""
    return recorded_files(rows) if known else None
