"""What is read of a station's association, from attributes as the kernel writes them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.dead_links import Counters
from wifimgrd.kernel import nl80211
from wifimgrd.kernel._messages import attribute, attributes
from wifimgrd.kernel.nl80211 import (
    Association,
    HandshakeReply,
    association_in,
    association_of,
    counters_in,
    counters_of,
    handshake_reply_in,
    watch_handshake,
)

BSSID = bytes.fromhex("025c30a7eb0d")
MAC, STATION_INFO, WIPHY_BANDS, FREQUENCY = 6, 21, 22, 38
FRAME, ACKNOWLEDGED = 51, 92
SIGNAL, TX_RATE, RX_RATE = 7, 8, 14
RX_PACKETS, CONNECTED, RX_BEACONS = 9, 16, 29


def rate(hundreds: int) -> bytes:
    """struct rate_info: the 16 bits are missing where they do not suffice."""
    short = attribute(1, struct.pack("=H", hundreds)) if hundreds < 1 << 16 else b""
    return short + attribute(5, hundreds)


def peer(info: bytes) -> dict[int, bytes]:
    return attributes(attribute(MAC, BSSID) + attribute(STATION_INFO, info))


def test_an_association_is_read() -> None:
    info = attribute(SIGNAL, b"\xc9") + attribute(TX_RATE, rate(8667)) + attribute(RX_RATE, rate(104_400))
    found = association_in([peer(info)], attributes(attribute(FREQUENCY, 5180)))
    assert found == Association("02:5c:30:a7:eb:0d", 5180, -55, 866_700, 10_440_000)


def test_an_old_kernel_has_sixteen_bits_alone() -> None:
    info = attribute(TX_RATE, attribute(1, struct.pack("=H", 540)))
    assert association_in([peer(info)], {}) == Association("02:5c:30:a7:eb:0d", tx_kbps=54_000)


@pytest.mark.parametrize("peers", [[], [{}], [{MAC: b"\x02"}]])
def test_a_station_without_a_peer_is_not_associated(peers: list[dict[int, bytes]]) -> None:
    assert association_in(peers, {}) is None


@given(st.binary(max_size=40))
def test_nothing_that_a_driver_says_is_out_of_bounds(info: bytes) -> None:
    found = association_in([peer(info)], {})
    assert found is not None
    assert found.signal_dbm is None or -128 <= found.signal_dbm <= 127
    assert 0 <= found.tx_kbps <= 100_000_000


def test_a_rate_that_no_radio_has_is_not_known() -> None:
    found = association_in([peer(attribute(TX_RATE, rate(0xFFFFFFFF)))], {})
    assert found is not None
    assert found.tx_kbps == 0


def test_the_counters_of_an_association_are_read() -> None:
    info = (
        attribute(RX_PACKETS, 1200) + attribute(CONNECTED, 95) + attribute(RX_BEACONS, struct.pack("=Q", 950))
    )
    assert counters_in([peer(info)], 7.0) == Counters(7.0, connected_s=95, beacons=950, packets=1200)


def test_a_driver_that_does_not_count_has_no_counters() -> None:
    assert counters_in([peer(b"")], 7.0) == Counters(7.0)
    assert counters_in([peer(attribute(RX_BEACONS, 950))], 7.0) == Counters(7.0), "it has 64 bits"


@pytest.mark.parametrize("peers", [[], [{}], [{MAC: b"\x02"}]])
def test_a_station_that_is_not_associated_has_no_counters(peers: list[dict[int, bytes]]) -> None:
    assert counters_in(peers, 7.0) is None


@given(st.binary(max_size=40))
def test_nothing_that_a_driver_counts_is_negative(info: bytes) -> None:
    found = counters_in([peer(info)], 7.0)
    assert found is not None
    assert all(one is None or one >= 0 for one in (found.connected_s, found.beacons, found.packets))


def test_an_interface_that_is_gone_has_no_association() -> None:
    assert association_of("none0") is None
    assert counters_of("none0", 7.0) is None
    assert watch_handshake("none0", lambda _: None) is None


def test_no_band_is_missed_where_another_radio_is_removed_while_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = [attributes(attribute(WIPHY_BANDS, attribute(band, b""))) for band in (0, 1)]
    read = iter([both[:1], both])
    monkeypatch.setattr(nl80211, "_query", lambda *_: next(read))
    assert nl80211.bands_of(3) == {Band.GHZ_2_4, Band.GHZ_5}


def key_frame(information: int, counter: int = 7, data: bytes = b"\x30\x14" + bytes(20)) -> bytes:
    """An EAPOL-Key frame of RSN, with a header of Ethernet."""
    body = struct.pack(">BHHQ80xH", 2, information, 0, counter, len(data)) + data
    return bytes(12) + struct.pack(">HBBH", 0x888E, 1, 3, len(body)) + body


MESSAGE_1, MESSAGE_2, MESSAGE_4 = 0x008A, 0x010A, 0x030A
"""Their key information with CCMP."""


@pytest.mark.parametrize("is_acknowledged", [True, False])
def test_what_became_of_message_2_is_read(is_acknowledged: bool) -> None:
    status = attribute(FRAME, key_frame(MESSAGE_2)) + (attribute(ACKNOWLEDGED, b"") * is_acknowledged)
    assert handshake_reply_in(attributes(status)) == HandshakeReply(7, is_acknowledged)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(key_frame(MESSAGE_1), id="message 1"),
        pytest.param(key_frame(MESSAGE_4), id="message 4"),
        pytest.param(key_frame(MESSAGE_2, data=b""), id="message 4 of WPA"),
        pytest.param(key_frame(MESSAGE_2)[14:], id="without Ethernet"),
        pytest.param(key_frame(MESSAGE_2)[:100], id="cut off"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_no_other_message_is_a_reply_to_message_1(frame: bytes) -> None:
    assert handshake_reply_in({FRAME: frame}) is None


@given(st.binary(max_size=200))
def test_any_frame_is_read(frame: bytes) -> None:
    handshake_reply_in({FRAME: frame})
