"""The bounds of what a camera may say of the files of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wifimgrd.domain.recordings import RecordedFile

MOST_FILES: Final = 64
"""Of one recording: more are not kept, since a part of them would be told as all."""
_LONGEST_NAME: Final = 255
_LARGEST_NAMES: Final = 4096
"""Bytes of all names together: answers have many recordings."""
_LARGEST: Final = 1 << 53
"""Bytes: what a JSON number holds exactly."""


def recorded_files(found: Sequence[tuple[str, int | None]]) -> tuple[RecordedFile, ...] | None:
    """The files with these names and sizes, in their order; None unless each is one, and all are within the
    bounds. A size that no file has is not known."""
    names = {name for name, _ in found}
    if not 1 <= len(found) <= MOST_FILES or len(names) < len(found) or not all(map(_is_name, names)):
        return None
    if sum(len(name.encode()) for name in names) > _LARGEST_NAMES:
        return None
    return tuple(RecordedFile(name, size if _is_size(size) else None) for name, size in found)


def _is_name(name: str) -> bool:
    return 1 <= len(name) <= _LONGEST_NAME and name.isprintable()


def _is_size(size: int | None) -> bool:
    return size is not None and 0 <= size <= _LARGEST
