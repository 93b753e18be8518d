"""Whatever a file of cameras has in it: it is read as other programs read it, or refused in a sentence that
has no more of it than a word. `make soak` goes on for longer. The page's readers of JPEGs and of streams of
them, and the two readers of QR texts are in tests/browser."""

from __future__ import annotations

import ctypes
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest

from tests.faults.random_life import duration_s, seed
from wifimgrd.cli._camera_csv import COLUMNS
from wifimgrd.cli._camera_files import entries_of
from wifimgrd.cli._entries import Entry
from wifimgrd.cli._profiles import SUFFIX, NotKeyFile, is_well_escaped, read_keyfile, unescaped
from wifimgrd.domain.errors import InvalidRequest

SEED: Final = seed()
DURATION_S: Final = duration_s("10s", "WIFIMGRD_FUZZ") / 4
"""For each reader; the page's takes the last quarter."""
LEAST: Final = 1_000
"""Cases for each reader, however few fit into that time."""
LINES: Final = (
    "[a]", "[a]\t ", "[b]", " [a]", "[]", "[a", "[a]x", "[a[b]", "[\x7f]", "#", "#k=v", "", " ", "k=v",
    "k=v ", "k =\tv", "k= \x0c\x0bv", "k k=v", "k", "=v", "k==v", "l=\\s", "l=\\q", "l=a\\", "l=\\\\",
    "l=\\;", ";k=v", "\x1ck=v", "\u2028=v", "k=\x85\u2028\u00e9", "k[=v", "k]=v", "\ufeff[a]", "k=\rv",
    "k=\r",
)  # fmt: skip
ENDS: Final = ("\n", "\n", "\n", "\r\n", "\r\r\n", "\r", "")
SECRET: Final = "$6$salt$of-root-and-longer-than-a-word"
"""Of a file that is none of cameras, in any place of it."""
WORDS: Final = (
    *COLUMNS, "CAM-1", "12345678", "'1-2", "yes", "no", "5", SECRET,
    f"root:{SECRET}:20228:0:99999:7:::", '"', "'", "\\", " ", ",", ";", "\t", "\n", "\r", "\0",
    "\x1b[2J", "\u202e", "\u00e9", "x" * 200, "[connection]", "type=wifi", "[wifi]", "ssid=",
    "[wifi-security]", "key-mgmt=", "psk=", "wpa-psk", "sep=", "WIFI:", "S:", "T:", "P:", "network={",
    "network:", "{",
)  # fmt: skip
HEADS: Final = (
    "",
    "name,ssid,password\n",
    ",".join(COLUMNS) + "\n",
    "sep=;\nssid;;open;priority\n",
    "[connection]\ntype=wifi\n[wifi]\nssid=CAM\n[wifi-security]\nkey-mgmt=wpa-psk\n",
    "WIFI:T:WPA;",
)

Read = dict[tuple[str, str], tuple[str, bool]]
"""Group and key -> the string, and whether its escapes are right."""


class GLib:
    """The library itself, which Debian's umockdev brings along."""

    class Error(ctypes.Structure):
        _fields_ = (("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p))

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libglib-2.0.so.0")

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        function = self.library[f"g_{name}"]
        function.restype = result
        return function(*arguments)

    def read(self, data: bytes) -> Read | None:
        """All strings of a key file; None if it is none."""
        file = ctypes.c_void_p(self.call("key_file_new", ctypes.c_void_p))
        try:
            size = ctypes.c_size_t(len(data))
            if not self.call("key_file_load_from_data", ctypes.c_int, file, data, size, 0, None):
                return None
            return {
                (group.decode(), key.decode()): self.string(file, group, key)
                for group in self.list_of("key_file_get_groups", file)
                for key in self.list_of("key_file_get_keys", file, group, None)
            }
        finally:
            self.call("key_file_free", None, file)

    def list_of(self, name: str, *arguments: Any) -> Iterator[bytes]:
        found = self.call(name, ctypes.POINTER(ctypes.c_char_p), *arguments, None)
        at = 0
        while found[at] is not None:
            yield found[at]
            at += 1
        self.call("strfreev", None, found)

    def string(self, file: ctypes.c_void_p, group: bytes, key: bytes) -> tuple[str, bool]:
        error = ctypes.POINTER(self.Error)()
        name = "key_file_get_string"
        found = ctypes.c_void_p(self.call(name, ctypes.c_void_p, file, group, key, ctypes.byref(error)))
        is_right = not error
        self.call("clear_error", None, ctypes.byref(error))
        try:
            return ctypes.string_at(found).decode(), is_right
        finally:
            self.call("free", None, found)


def of_keyfile(text: str) -> Read | None:
    try:
        groups = read_keyfile(text)
    except NotKeyFile:
        return None
    return {
        (group, key): (unescaped(value), is_well_escaped(value))
        for group, keys in groups.items()
        for key, value in keys.items()
    }


def as_glib_reads(glib: GLib, chance: random.Random) -> bool:
    text = chance.choice(("[a]\n", "[a]\n", "[a]\n", ""))
    for _ in range(chance.randrange(8)):
        text += chance.choice(LINES) + chance.choice(ENDS)
    found = of_keyfile(text)
    assert found == glib.read(text.encode()), repr(text)
    return bool(found)


def any_file(chance: random.Random) -> bool:
    name = "x" + chance.choice((SUFFIX, ".csv"))
    text = chance.choice(HEADS) + "".join(chance.choices(WORDS, k=chance.randrange(30)))
    try:
        entries = entries_of(text, name)
    except InvalidRequest as refused:
        check(refused.message)
        return False
    for entry in entries:
        check(entry.problem)
        is_registered(entry)
    return bool(entries)


def check(said: str) -> None:
    assert SECRET not in said
    assert len(said) < 400


def is_registered(entry: Entry) -> None:
    assert entry.checked() == entry
    assert entry.problem or entry.password is not None


CASES: Final[dict[str, Callable[[], Callable[[random.Random], bool]]]] = {
    "key files": lambda: partial(as_glib_reads, GLib()),
    "files of cameras": lambda: any_file,
}


@pytest.mark.parametrize("name", CASES)
def test_any_file_is_read_or_refused(name: str) -> None:
    play, case, read = CASES[name](), 0, 0
    ends = time.monotonic() + DURATION_S
    while time.monotonic() < ends or case < LEAST:
        try:
            read += play(random.Random(f"{SEED} {name} {case}"))
        except BaseException as error:
            error.add_note(f"in case {case} of {name}, with WIFIMGRD_SEED={SEED}")
            raise
        case += 1
    assert 0.1 < read / case < 0.95, f"{read} of {case} were read"
