"""Signatures, with pymavlink at the other end, and what time does to them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.mavlink.station import mavlink
from wifimgrd.config.configuration import FileUnusable, Mavlink
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._bridge import key_of
from wifimgrd.mavlink._frames import LARGEST, MINUTE, MOST_STREAMS, Signing

KEY = hashlib.sha256(b"a passphrase of the boat").digest()
NOW_US = 1_800_000_000_000_000
NOW = (NOW_US - 1_420_070_400_000_000) // 10
"""The same as a timestamp."""
MINUTE_US = 60_000_000


def station(
    timestamp: int = NOW, *, key: bytes = KEY, system: int = 255, component: int = 190, link: int = 0
) -> Any:
    mav = mavlink.MAVLink(None, srcSystem=system, srcComponent=component)
    signing = mav.signing
    signing.secret_key, signing.sign_outgoing = key, True
    signing.timestamp, signing.link_id = timestamp, link
    return mav


def sent(mav: Any) -> wire.Frame:
    """A heartbeat of pymavlink, as a frame that was received."""
    [frame] = wire.frames(bytes(mav.heartbeat_encode(6, 8, 0, 0, 4).pack(mav)))
    return frame


def unsigned() -> wire.Frame:
    mav = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)
    return sent(mav)


def signed(signing: Signing, now_us: int = NOW_US) -> bytes:
    return signing.sign(wire.frame(wire.HEARTBEAT, {"type": 30}, 1, 100, 0, wire.SIGNED), now_us)


def timestamp_of(packed: bytes) -> int:
    return int.from_bytes(packed[-12:-6], "little")


def test_pymavlink_accepts_what_is_signed() -> None:
    signing, decoder = Signing(KEY), station()
    for _ in range(3):
        [message] = decoder.parse_buffer(signed(signing))
        assert message.get_signed()


def test_pymavlink_refuses_what_another_key_has_signed() -> None:
    with pytest.raises(mavlink.MAVError, match="signature"):
        station().parse_buffer(signed(Signing(bytes(32))))


def test_what_pymavlink_signs_is_accepted() -> None:
    signing, mav = Signing(KEY), station()
    assert [signing.accepts(sent(mav), NOW_US) for _ in range(3)] == [True] * 3


def test_what_is_not_signed_by_the_key_is_refused() -> None:
    signing = Signing(KEY)
    assert not signing.accepts(unsigned(), NOW_US)
    assert not signing.accepts(sent(station(key=bytes(32))), NOW_US)
    [frame] = wire.frames(bytes(unsigned_with_flag()))
    assert not signing.accepts(frame, NOW_US)


def unsigned_with_flag() -> bytes:
    """A frame whose signature is zeros."""
    return wire.frame(wire.HEARTBEAT, {"type": 6}, 255, 190, 0, wire.SIGNED) + bytes(13)


@pytest.mark.parametrize("place", [4, 7, 10, -13, -12, -7, -1])
def test_a_frame_that_was_changed_is_refused(place: int) -> None:
    mav = station()
    packed = bytearray(mav.heartbeat_encode(6, 8, 0, 0, 4).pack(mav))
    packed[place] ^= 1
    signing = Signing(KEY)
    assert not any(signing.accepts(one, NOW_US) for one in wire.frames(bytes(packed)))


def test_a_frame_is_accepted_once() -> None:
    signing = Signing(KEY)
    first, second = sent(mav := station()), sent(mav)
    assert signing.accepts(second, NOW_US)
    assert not signing.accepts(second, NOW_US)
    assert not signing.accepts(first, NOW_US)


@pytest.mark.parametrize(("behind", "accepted"), [(0, True), (MINUTE - 100, True), (MINUTE + 100, False)])
def test_a_new_sender_is_at_most_a_minute_behind(behind: int, accepted: bool) -> None:
    assert Signing(KEY).accepts(sent(station(NOW - behind)), NOW_US) is accepted


def test_a_known_sender_whose_clock_was_set_back_goes_on() -> None:
    """Its timestamps rise, whatever its clock says, and it may be further behind than a new one."""
    signing, mav = Signing(KEY), station()
    assert signing.accepts(sent(mav), NOW_US)
    assert signing.accepts(sent(mav), NOW_US + 10 * MINUTE_US)


def test_a_forgery_does_not_lock_out_the_sender() -> None:
    signing = Signing(KEY)
    assert not signing.accepts(sent(station(LARGEST - 10, key=bytes(32))), NOW_US)
    assert signing.accepts(sent(station()), NOW_US)


def test_links_of_a_sender_count_apart() -> None:
    signing = Signing(KEY)
    assert signing.accepts(sent(station(NOW + 1000)), NOW_US)
    assert signing.accepts(sent(station(NOW, link=1)), NOW_US)


def test_the_end_of_time_is_refused() -> None:
    signing = Signing(KEY)
    assert not signing.accepts(sent(station(2**48 - 2)), NOW_US)
    assert timestamp_of(signed(signing)) == NOW


def test_timestamps_rise_though_the_clock_stands_or_is_set_back() -> None:
    signing = Signing(KEY)
    stamps = [timestamp_of(signed(signing, NOW_US - back)) for back in (0, 0, MINUTE_US, 5)]
    assert stamps == [NOW, NOW + 1, NOW + 2, NOW + 3]


def test_timestamps_follow_those_that_were_received() -> None:
    """A hub without a clock of its own: a station would not accept what is a minute behind."""
    signing = Signing(KEY)
    assert signing.accepts(sent(station(NOW + 500)), NOW_US - 600 * MINUTE_US)
    assert timestamp_of(signed(signing, NOW_US - 600 * MINUTE_US)) > NOW + 500


def test_after_a_restart_with_the_clock_set_back_timestamps_go_on() -> None:
    """Up to a minute of them may not have been kept."""
    assert timestamp_of(signed(Signing(KEY, NOW, 0), 0)) == NOW + MINUTE + 1


def test_after_a_restart_timestamps_are_those_of_the_clock_if_that_is_later() -> None:
    signing = Signing(KEY, NOW, NOW_US + 10)
    assert timestamp_of(signed(signing, NOW_US + 10)) == NOW + 1
    assert signing.accepts(sent(station(NOW - MINUTE // 2)), NOW_US)


def test_after_a_restart_what_is_older_than_a_minute_is_not_repeated() -> None:
    frame = sent(station(NOW - MINUTE))
    assert not Signing(KEY, NOW).accepts(frame, 0)


def test_the_senders_that_are_remembered_are_bounded() -> None:
    signing = Signing(KEY)
    for component in range(MOST_STREAMS + 10):
        assert signing.accepts(sent(station(component=component)), NOW_US)
    assert len(signing._streams) == MOST_STREAMS
    assert not signing.accepts(sent(station(component=MOST_STREAMS)), NOW_US)


def test_the_sender_that_speaks_is_not_forgotten() -> None:
    signing, mav = Signing(KEY), station()
    for component in range(2 * MOST_STREAMS):
        assert signing.accepts(sent(station(component=component, system=7)), NOW_US)
        frame = sent(mav)
        assert signing.accepts(frame, NOW_US)
    assert not signing.accepts(frame, NOW_US)


def settings(file: Path) -> Mavlink:
    return Mavlink(connection="udpout:127.0.0.1:14560", signing_key_file=file)


def test_the_key_is_the_hash_of_the_passphrase(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a passphrase of the boat\n")
    assert key_of(settings(tmp_path / "key")) == KEY


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "must have one line, a passphrase of at least 16 characters"),
        (b"too short\n", "must have one line"),
        (b"a passphrase of the boat\nand another line\n", "must have one line"),
        (b"\xff" * 20, "cannot be read: it is not UTF-8"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_has_no_passphrase_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(FileUnusable, match=said) as raised:
        key_of(settings(tmp_path / "key"))
    assert "[mavlink] signing_key_file" in str(raised.value)
    assert not content or content.decode("latin-1").strip() not in str(raised.value)


def test_a_key_is_in_no_representation() -> None:
    signing = Signing(KEY)
    assert KEY.hex() not in repr(signing)
    assert repr(KEY) not in repr(signing)
