"""Files that survive a power failure as a whole."""

from __future__ import annotations

import os
from pathlib import Path


def replace(path: Path, data: bytes, mode: int = 0o600, group: int | None = None) -> None:
    """Make or replace a file, so that it has its old content or the new one; raises OSError."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    write_new(scratch, data, mode, group)
    try:
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
    sync(path.parent)


def write_new(path: Path, data: bytes, mode: int = 0o600, group: int | None = None) -> None:
    """Write a file that must not exist, and remove it if it is incomplete; raises OSError."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if group is not None:
                os.fchown(descriptor, -1, group)
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Make a file, or what was made or renamed in a directory, survive a power failure; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
