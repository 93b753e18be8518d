"""Files of cameras that are to be registered: which format each is in, and its cameras."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from wifimgrd.cli._camera_csv import csv_entries
from wifimgrd.cli._entries import Entry
from wifimgrd.cli._profiles import SUFFIX, is_profile, profile_entry
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import safe
from wifimgrd.cli._wifi_text import wifi_text
from wifimgrd.domain.device import Passphrase
from wifimgrd.domain.device_values import is_wifi_text
from wifimgrd.domain.errors import InvalidRequest, NotAuthorized

_LARGEST: Final = 1024 * 1024
"""A file with more bytes is not a list of cameras."""
_MOST_FILES: Final = 1000
_STDIN: Final = Path("-")
_OTHERS: Final = (
    (r"^[ \t]*(network[ \t]*=[ \t]*\{|ctrl_interface[ \t]*=)", "wpa_supplicant's configuration"),
    (r"^network:[ \t\r]*$", "netplan's configuration"),
    (r"^\[(Security|Settings)\][ \t\r]*$", "a network of iwd"),
    (r"\A\s*[\[{]\s*[\[\]{}\"]", "JSON"),
)
"""How formats are recognized that are not read."""
_NOT_TEXT: Final = (
    (b"PK\x03\x04", "is a spreadsheet's own file: save it as CSV in UTF-8"),
    (b"\xff\xfe", "is text in UTF-16: save it as CSV in UTF-8"),
    (b"", "is not text in UTF-8"),
)
"""How a file begins, and what it is then."""


def write_new(path: Path, text: str) -> None:
    """Write a text into a file that is not there yet; raises InvalidRequest."""
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror}") from None


def entries_at(path: Path, screen: Screen) -> list[Entry]:
    """The cameras of a file, of all profiles in a directory, or of stdin; a file in a directory that cannot
    be used is an entry with a problem. Raises InvalidRequest, NotAuthorized."""
    if path == _STDIN:
        return entries_of(_text(sys.stdin.buffer.read(_LARGEST + 1), "stdin"), "stdin")
    try:
        files = _profiles_in(path) if path.is_dir() else None
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror}") from None
    if files is None:
        return _entries_in(path, screen)
    return [one for file in files for one in _entries_or_problem(file, screen)]


def _entries_or_problem(path: Path, screen: Screen) -> list[Entry]:
    """Those of a file in a directory, which does not keep the others from being read."""
    try:
        return _entries_in(path, screen, os.O_NOFOLLOW)
    except (InvalidRequest, NotAuthorized) as error:
        return [Entry(path.name, problem=error.message)]


def _entries_in(path: Path, screen: Screen, flags: int = 0) -> list[Entry]:
    """Those of a file; a note if others can read passwords in it."""
    try:
        data, mode = _read(path, flags)
    except PermissionError:
        raise NotAuthorized(
            f"{path} cannot be read by this user; NetworkManager's profiles are root's"
        ) from None
    except OSError as error:
        if error.errno == errno.ELOOP and flags & os.O_NOFOLLOW:
            raise InvalidRequest(f"{path} is a link, which is not followed in a directory") from None
        raise InvalidRequest(f"{path}: {error.strerror}") from None
    text = _text(data, str(path))
    entries = entries_of(text, path.name)
    if mode & 0o077 and any(one.password and one.password.reveal() for one in entries):
        screen.hint(f"{safe(path)} has passwords, and other users can read it: chmod 600 {safe(path)}")
    return entries


def _profiles_in(directory: Path) -> list[Path]:
    """Those that NetworkManager reads, which are not hidden."""
    files = sorted(
        one for one in directory.iterdir() if one.suffix == SUFFIX and not one.name.startswith(".")
    )
    if not files:
        raise InvalidRequest(f"{directory} has no profile of NetworkManager (*{SUFFIX})")
    if len(files) > _MOST_FILES:
        raise InvalidRequest(f"{directory} has {len(files)} files, more than {_MOST_FILES}")
    return files


def _read(path: Path, flags: int) -> tuple[bytes, int]:
    """A regular file, and who may read it; what else may block is not opened for long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise InvalidRequest(f"{path} is {'a directory' if stat.S_ISDIR(mode) else 'not a regular file'}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(_LARGEST + 1), mode
    finally:
        os.close(descriptor)


def _text(data: bytes, source: str) -> str:
    if len(data) > _LARGEST:
        raise InvalidRequest(f"{source} has more than {_LARGEST} bytes, and is not a list of cameras")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        what = next(what for start, what in _NOT_TEXT if data.startswith(start))
        raise InvalidRequest(f"{source} {what}") from None


def entries_of(text: str, source: str) -> list[Entry]:
    """The cameras of a text. Its name makes a file a profile, whatever is in it; else its beginning says
    whether it has texts of QR codes, is a profile or a CSV file. Raises InvalidRequest if it is neither."""
    if source.endswith(SUFFIX):
        return _of_profile(text, source)
    if not text.strip():
        raise InvalidRequest(f"{source} is empty")
    if is_wifi_text(text):
        return list(_scanned(text, source))
    if is_profile(text):
        return _of_profile(text, source)
    try:
        return [one.checked() for one in csv_entries(text, source)]
    except InvalidRequest:
        for mark, what in _OTHERS:
            if re.search(mark, text, re.MULTILINE):
                raise InvalidRequest(
                    f"{source} is {what}, which is not read: make a CSV file of it"
                ) from None
        raise


def _of_profile(text: str, source: str) -> list[Entry]:
    """The camera of a profile; none if it is of another kind of network."""
    entry = profile_entry(text, source)
    return [] if entry is None else [entry.checked()]


def _scanned(text: str, source: str) -> Iterator[Entry]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where, found = f"{source}, line {number}", wifi_text(line)
        if found is None:
            yield Entry(where, problem="this is not the text of a Wi-Fi QR code")
        elif found.problem:
            yield Entry(where, found.ssid.encode(), problem=found.problem)
        else:
            yield Entry(where, found.ssid.encode(), Passphrase(found.password)).checked()
