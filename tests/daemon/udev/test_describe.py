"""The strings of adapters, made safe to show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.daemon.udev._describe import clean


@given(st.binary() | st.text(st.characters()))
def test_whatever_it_is_it_comes_out_printable_bounded_and_stays_so(said: bytes | str) -> None:
    text = clean(said)
    assert text.isprintable()
    assert len(text) <= 128
    assert text == text.strip()
    assert clean(text) == text
    text.encode()


def test_plain_text_is_left_as_it_is() -> None:
    assert clean("802.11ac NIC") == "802.11ac NIC"
    assert clean("Ünïcode 無線".encode()) == "Ünïcode 無線"


def test_an_endless_string_is_cut() -> None:
    assert clean("x" * 1_000_000) == "x" * 128


def test_a_cut_leaves_no_blank_at_the_end() -> None:
    assert clean("x" * 127 + " y") == "x" * 127


def test_lone_surrogates_are_not_passed_on() -> None:
    assert clean("a\udc80b") == "a b"
