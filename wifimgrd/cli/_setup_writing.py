"""Writes the files of `wifimgrctl setup`: each as a whole, so that it is there after a power loss."""

from __future__ import annotations

import errno
import grp
from pathlib import Path
from typing import Final

from wifimgrd.runtime.durable_files import replace, sync

_NO_RIGHT: Final = (errno.EACCES, errno.EPERM)


class NotWritten(Exception):
    """A file cannot be written; the text names it, and says why."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.lacks_rights = error.errno in _NO_RIGHT
        needs = "; setup needs root" if self.lacks_rights else ""
        super().__init__(f"{path} cannot be written: {error.strerror}{needs}")


def write(path: Path, text: str, mode: int, group: str | None = None) -> None:
    """Replace a file, whose folder may be missing; `group`: that of the service that may read it. Raises
    NotWritten."""
    try:
        _make_folder(path.parent)
        replace(path, text.encode(), mode, _id_of(group))
    except OSError as error:
        raise NotWritten(path, error) from None


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def _id_of(group: str | None) -> int | None:
    """A group's id, if that group exists."""
    try:
        return None if group is None else grp.getgrnam(group).gr_gid
    except KeyError:
        return None
