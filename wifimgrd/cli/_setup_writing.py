"""Writes the files of `wifimgrctl setup`: each as a whole, so that it is there after a power loss."""

from __future__ import annotations

import errno
import grp
import os
from pathlib import Path
from typing import Final

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
        _replace(path, text, mode, group)
        _sync(path.parent)
    except OSError as error:
        raise NotWritten(path, error) from None


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _replace(path: Path, text: str, mode: int, group: str | None) -> None:
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    descriptor = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if group is not None:
                _give(descriptor, group)
            os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _give(descriptor: int, group: str) -> None:
    """Let a service's group read a file, if that group exists."""
    try:
        os.fchown(descriptor, -1, grp.getgrnam(group).gr_gid)
    except KeyError:
        return


def _sync(folder: Path) -> None:
    """Make a new or renamed file in a folder survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
