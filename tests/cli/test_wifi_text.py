"""The text of a QR code: the command line reads what the page reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wifi_texts import CASES
from wifimgrd.cli._wifi_text import wifi_text
from wifimgrd.domain.device_values import is_wifi_text


@pytest.mark.parametrize("text", CASES)
def test_what_other_programs_write_is_read(text: str) -> None:
    read = wifi_text(text)
    assert (read and (read.unsupported or read.fault or (read.ssid, read.password))) == CASES[text]


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=32),
    st.text(max_size=63),
)
def test_whatever_is_escaped_is_read_back(ssid: str, password: str) -> None:
    def escaped(text: str) -> str:
        return "".join(f"\\{one}" if one in '\\;,":' else one for one in text)

    text = f"WIFI:T:WPA;S:{escaped(ssid)};P:{escaped(password)};;"
    read = wifi_text(text)
    assert is_wifi_text(text)
    if len(text) <= 512:
        assert read is not None
        assert (read.ssid, read.password) == (ssid, password)


def test_a_password_is_not_in_its_repr() -> None:
    assert "camera-pass" not in repr(wifi_text("WIFI:S:CAM;P:camera-pass-1;;"))
