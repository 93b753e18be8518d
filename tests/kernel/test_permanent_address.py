"""The kernel's reply about an adapter's permanent address, valid or not."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.kernel.links import permanent_address, permanent_address_in

ADDRESS = bytes.fromhex("00c0ca123456")
NAME = struct.pack("=HH6s2x", 10, 3, b"wlan0\0")


def answer(*attributes: bytes) -> bytes:
    return bytes(16) + b"".join(attributes)


def permanent(data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), 54) + data + bytes(-len(data) % 4)


def test_it_is_found_among_other_attributes() -> None:
    assert permanent_address_in(answer(NAME, permanent(ADDRESS), NAME)) == ADDRESS


@pytest.mark.parametrize(
    "data",
    [
        answer(NAME),
        answer(NAME, permanent(b"")),
        answer(NAME, permanent(bytes(20))),  # InfiniBand
        answer(struct.pack("=HH", 0, 54)),
        answer(permanent(ADDRESS))[:-5],
        b"",
    ],
    ids=["none", "empty", "of another kind", "no length", "cut", "nothing"],
)
def test_what_is_no_permanent_address_is_none(data: bytes) -> None:
    assert permanent_address_in(data) == b""


@given(st.binary(), st.binary())
def test_any_bytes_are_taken_for_what_they_are(header: bytes, attributes: bytes) -> None:
    for data in (header + attributes, answer(attributes)):
        assert len(permanent_address_in(data)) in (0, 6)


@pytest.mark.parametrize("name", ["no-such-if", "a name that is too long for an interface", "", "a/b"])
def test_what_is_not_there_has_none(name: str) -> None:
    assert permanent_address(name) == b""


def test_the_kernel_is_understood() -> None:
    """Of each interface of this host that has its own address."""
    for folder in Path("/sys/class/net").iterdir():
        if folder.is_dir() and (folder / "addr_assign_type").read_text().strip() == "0":
            own = bytes.fromhex((folder / "address").read_text().strip().replace(":", ""))
            assert permanent_address(folder.name) in (own, b"")
    assert permanent_address("lo") == b""
