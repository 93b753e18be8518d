"""Network names are bytes, secrets do not show themselves."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.device import Passphrase, Ssid


def test_an_ssid_that_is_text() -> None:
    ssid = Ssid("Küche 📷".encode())
    assert ssid.text == "Küche 📷"
    assert ssid.printable == "Küche 📷"


def test_an_ssid_that_is_no_text() -> None:
    ssid = Ssid(b"\xff cam\x00\x1b")
    assert ssid.text is None
    assert ssid.printable == "\\xff cam\\x00\\x1b"


@given(st.binary(max_size=32))
def test_every_ssid_can_be_shown(data: bytes) -> None:
    shown = Ssid(data).printable
    assert shown.isprintable()
    shown.encode()


@given(st.text())
def test_a_passphrase_does_not_show_itself(secret: str) -> None:
    passphrase = Passphrase(secret)
    assert passphrase.reveal() == secret
    assert [
        repr(passphrase),
        str(passphrase),
        f"{passphrase}",
        f"{passphrase!r:>20}",
        "%s %r" % (passphrase, passphrase),  # noqa: UP031 - some loggers do
        repr({"password": passphrase}),
        repr(ValueError(passphrase)),
    ] == [
        "<passphrase>",
        "<passphrase>",
        "<passphrase>",
        "        <passphrase>",
        "<passphrase> <passphrase>",
        "{'password': <passphrase>}",
        "ValueError(<passphrase>)",
    ]


def test_a_passphrase_leaves_the_process_by_no_back_door() -> None:
    passphrase = Passphrase("correct horse")
    assert not hasattr(passphrase, "__dict__")
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError) as refused:
            leave(passphrase)
        assert "horse" not in str(refused.value)
    with pytest.raises(TypeError):
        len(passphrase)  # type: ignore[arg-type]


def test_passphrases_are_compared_by_what_they_are() -> None:
    assert Passphrase("correct horse") == Passphrase("correct horse")
    assert Passphrase("correct horse") != Passphrase("wrong horse")
    assert Passphrase("correct horse") != "correct horse"
    assert len({Passphrase("one"), Passphrase("one"), Passphrase("two")}) == 2


def test_an_open_network_has_the_empty_passphrase() -> None:
    assert Passphrase("").is_open
    assert not Passphrase("12345678").is_open
