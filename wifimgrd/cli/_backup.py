"""`wifimgrctl backup` and `restore`, for root alone: passwords are write-only everywhere else."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from wifimgrd.cli._password import read_passphrase
from wifimgrd.cli._screen import Screen
from wifimgrd.daemon.store.errors import StoreError
from wifimgrd.daemon.store.transfer import StoreInUse, StoreNotEmpty, back_up, restore

_STATE: Final = Path("/var/lib/wifimgrd")
_LARGEST: Final = 256 * 1024 * 1024
_ENCRYPTED: Final = b"age-encryption.org/v1\n"
_HINTS: Final = {
    StoreInUse: "systemctl stop wifimgrd; wifimgrctl restore FILE; systemctl start wifimgrd",
    StoreNotEmpty: "With --replace, the devices in the backup replace them.",
}


def back_up_state(arguments: argparse.Namespace, screen: Screen) -> bool:
    """Write the state into a new file that root alone can read; False if that fails."""
    if not _is_root(screen):
        return False
    try:
        with _as_owner(_state()):
            octets = back_up(_state())
        if arguments.encrypt or arguments.passphrase_file is not None:
            octets = _encrypted(octets, read_passphrase(arguments.passphrase_file, new=True))
        _write_new(arguments.file, octets)
    except StoreError as error:
        return _failed(screen, error.message)
    except OSError as error:
        return _failed(screen, f"{error.filename}: {error.strerror}")
    state = "encrypted" if octets.startswith(_ENCRYPTED) else "including passwords"
    screen.show({"file": str(arguments.file)}, [f"The state is in {arguments.file}, {state}."])
    return True


def restore_state(arguments: argparse.Namespace, screen: Screen) -> bool:
    """Replace the state by a backup; False if that fails."""
    if not _is_root(screen):
        return False
    try:
        with arguments.file.open("rb") as file:
            octets = file.read(_LARGEST + 1)
        if len(octets) > _LARGEST:
            return _failed(screen, f"{arguments.file} is not a backup: it is too large")
        if octets.startswith(_ENCRYPTED):
            octets = _decrypted(octets, read_passphrase(arguments.passphrase_file))
        with _as_owner(_state()):
            count = restore(octets, _state(), replace=arguments.replace)
    except _Undecipherable:
        return _failed(screen, f"wrong passphrase for {arguments.file}, or the file is damaged")
    except StoreError as error:
        return _failed(screen, error.message, _HINTS.get(type(error), ""))
    except OSError as error:
        return _failed(screen, f"{error.filename}: {error.strerror}")
    devices = "1 device is" if count == 1 else f"{count} devices are"
    screen.show(
        {"devices": count}, [f"{devices} restored; run `systemctl start wifimgrd` to connect them again."]
    )
    return True


class _Undecipherable(Exception):
    """The passphrase is wrong, or the file is damaged."""


# The library is imported only if it is needed.


def _encrypted(octets: bytes, passphrase: str) -> bytes:
    from wifimgrd.cli._encryption import encrypted  # noqa: PLC0415

    return encrypted(octets, passphrase)


def _decrypted(octets: bytes, passphrase: str) -> bytes:
    from wifimgrd.cli._encryption import WrongPassphrase, decrypted  # noqa: PLC0415

    try:
        return decrypted(octets, passphrase)
    except WrongPassphrase as error:
        raise _Undecipherable from error


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


def _write_new(path: Path, octets: bytes) -> None:
    """Write a new file that root alone can read; an incomplete file is removed."""
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as writer:
            os.fchmod(file, 0o600)
            writer.write(octets)
            writer.flush()
            os.fsync(file)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _failed(screen: Screen, message: str, hint: str = "") -> bool:
    screen.fail("invalid-request", message)
    if hint:
        screen.hint(hint)
    return False
