"""`wifimgrctl backup` and `restore`, only for root: passwords are write-only everywhere else."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from wifimgrd.cli._screen import Screen
from wifimgrd.daemon.store.errors import StoreError
from wifimgrd.daemon.store.transfer import StoreInUse, StoreNotEmpty, back_up, restore
from wifimgrd.runtime.durable_files import write_new

_STATE: Final = Path("/var/lib/wifimgrd")
_LARGEST: Final = 256 * 1024 * 1024
_STREAM: Final = Path("-")
"""Stdout for a backup, stdin for a restore."""
_ENCRYPTED: Final = b"age-encryption.org/v1\n"
"""How a file of age begins; `backup --encrypt` of version 0.2.0 wrote such ones."""
_HINTS: Final = {
    StoreInUse: "systemctl stop wifimgrd; wifimgrctl restore FILE; systemctl start wifimgrd",
    StoreNotEmpty: "With --replace, the cameras in the backup replace them.",
}


def back_up_state(arguments: argparse.Namespace, screen: Screen) -> bool:
    """Write the state into a new file that only root can read, or to stdout; False if that fails."""
    if not _is_root(screen):
        return False
    is_stdout = arguments.file == _STREAM
    if is_stdout and sys.stdout.isatty():
        return _failed(screen, "a backup has passwords and is not text: pipe it into a program")
    try:
        with _as_owner(_state()):
            data = back_up(_state())
        if not is_stdout:
            write_new(arguments.file, data)
    except StoreError as error:
        return _failed(screen, error.message)
    except OSError as error:
        return _failed(screen, f"{error.filename or arguments.file}: {error.strerror}")
    if is_stdout:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return True
    screen.show({"file": str(arguments.file)}, [f"The state is in {arguments.file}, including passwords."])
    return True


def restore_state(arguments: argparse.Namespace, screen: Screen) -> bool:
    """Replace the state by a backup in a file or from stdin; False if that fails."""
    if not _is_root(screen):
        return False
    name = "stdin" if arguments.file == _STREAM else str(arguments.file)
    try:
        data = _read(arguments.file)
        if len(data) > _LARGEST:
            return _failed(screen, f"{name} is not a backup: it is too large")
        if data.startswith(_ENCRYPTED):
            return _failed(screen, f"{name} is encrypted", "age -d FILE | wifimgrctl restore -")
        with _as_owner(_state()):
            count = restore(data, _state(), replace=arguments.replace)
    except StoreError as error:
        return _failed(screen, error.message, _HINTS.get(type(error), ""))
    except OSError as error:
        return _failed(screen, f"{error.filename or name}: {error.strerror}")
    devices = "1 camera is" if count == 1 else f"{count} cameras are"
    screen.show(
        {"devices": count}, [f"{devices} restored; run `systemctl start wifimgrd` to connect them again."]
    )
    return True


def _read(path: Path) -> bytes:
    """The bytes of a file or of stdin, one more than the limit if it is too large."""
    if path == _STREAM:
        return sys.stdin.buffer.read(_LARGEST + 1)
    with path.open("rb") as file:
        return file.read(_LARGEST + 1)


def _state() -> Path:
    return Path(os.environ.get("STATE_DIRECTORY", _STATE))


def _is_root(screen: Screen) -> bool:
    if os.geteuid() == 0:
        return True
    screen.fail("not-authorized", "only root can create or restore a backup, because it contains passwords")
    return False


@contextmanager
def _as_owner(directory: Path) -> Iterator[None]:
    """Run as the state directory's user meanwhile: files that SQLite makes there must be the daemon's."""
    owner = directory.stat()
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def _failed(screen: Screen, message: str, hint: str = "") -> bool:
    screen.fail("invalid-request", message)
    if hint:
        screen.hint(hint)
    return False
