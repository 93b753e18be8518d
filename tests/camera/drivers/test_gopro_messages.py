"""Open GoPro's bytes, without I/O."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.camera.drivers import gopro_messages as protocol
from wifimgrd.camera.drivers.gopro_messages import Assembler, HardwareInfo
from wifimgrd.camera.drivers.gopro_state import Status


def assembled(packets: list[bytes]) -> list[bytes]:
    assembler = Assembler()
    return [message for packet in packets if (message := assembler.feed(packet)) is not None]


def test_a_short_message_is_one_packet_with_a_13_bit_length() -> None:
    assert list(protocol.packets(protocol.ACCESS_POINT_ON)) == [bytes.fromhex("2003170101")]


def test_a_long_message_is_continued_with_a_counter() -> None:
    packets = list(protocol.packets(bytes(range(60))))
    assert packets[0] == b"\x20\x3c" + bytes(range(18))
    assert [packet[0] for packet in packets[1:]] == [0x80, 0x81, 0x82]
    assert all(len(packet) <= 20 for packet in packets)


@given(st.binary(min_size=1, max_size=protocol.LARGEST_RECEIVED))
def test_what_is_split_is_joined_again(message: bytes) -> None:
    assert assembled(list(protocol.packets(message))) == [message]


def test_a_length_of_more_than_can_be_sent_is_refused() -> None:
    with pytest.raises(ValueError, match="8192 bytes"):
        list(protocol.packets(bytes(8192)))


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        ("0217 00", "1700"),
        ("2002 1700", "1700"),
        ("40 0002 1700", "1700"),
        ("60 02 1700", None),
        ("00", None),
        ("20", None),
        ("40 10", None),
        ("40 1001 00", None),
        ("01 17 00", None),
        ("80 17", None),
    ],
)
def test_each_kind_of_length_is_read_and_others_are_dropped(packet: str, message: str | None) -> None:
    expected = [] if message is None else [bytes.fromhex(message)]
    assert assembled([bytes.fromhex(packet)]) == expected


def test_a_message_with_a_missing_part_is_dropped_and_the_next_one_is_read() -> None:
    first, second, third, *_ = protocol.packets(bytes(60))
    assert assembled([first, third, second, b"\x02\x17\x00"]) == [b"\x17\x00"]


def test_a_new_message_takes_the_place_of_one_that_was_not_finished() -> None:
    first, *_ = protocol.packets(bytes(60))
    assert assembled([first, b"\x02\x17\x00"]) == [b"\x17\x00"]


@given(st.lists(st.binary(max_size=600), max_size=40))
def test_no_packets_make_it_fail_or_grow(packets: list[bytes]) -> None:
    assembler = Assembler()
    for packet in packets:
        message = assembler.feed(packet)
        assert len(assembler._message) <= protocol.LARGEST_RECEIVED + 600
        answer = protocol.answer_of(message or b"")
        if answer is not None:
            protocol.statuses_of(answer)
            protocol.hardware_info_of(answer.data)


def test_statuses_are_read_by_id_and_what_is_cut_off_is_left_out() -> None:
    answer = protocol.answer_of(bytes.fromhex("1300 450101 0a0100 0802"))
    assert answer is not None
    assert protocol.statuses_of(answer) == {Status.ACCESS_POINT: b"\x01", Status.ENCODING: b"\x00"}
    assert [protocol.is_set(value) for value in (b"\x01", b"\x00", b"", None)] == [True, False, None, None]


@pytest.mark.parametrize("message", ["1301450101", "1700450101"])
def test_an_error_and_the_answer_to_a_command_have_no_statuses(message: str) -> None:
    answer = protocol.answer_of(bytes.fromhex(message))
    assert answer is not None
    assert not protocol.statuses_of(answer)


def test_the_hardware_info_has_model_serial_and_firmware() -> None:
    fields = (b"\0\0\0\x39", b"HERO12 Black", b"\0\0\0\5", b"H23.01.02", b"C3501324501001\0", b"GP1001", b"")
    data = b"".join(bytes([len(one)]) + one for one in fields)
    assert protocol.hardware_info_of(data) == HardwareInfo("HERO12 Black", "C3501324501001", "H23.01.02")


@pytest.mark.parametrize("data", [b"", b"\x04ab", b"\x01a\x03a\x1bb\x01a\x00\x02\xff\xfe"])
def test_a_hardware_info_of_another_form_tells_nothing(data: bytes) -> None:
    assert protocol.hardware_info_of(data) == HardwareInfo("", "", "")


def test_the_end_of_the_pairing_names_the_host() -> None:
    assert protocol.pairing_finished("hub") == b"\x03\x01\x08\x00\x12\x03hub"
    assert protocol.is_pairing_accepted(b"\x03\x81\x08\x01")
    assert not protocol.is_pairing_accepted(b"\x03\x81\x08\x02")
    assert protocol.is_pairing_answer(b"\x03\x81\x08\x02")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (bytes.fromhex("08 07eb 01 0f 08 05 3b 05"), "2027_1_15 8_5_59"),
        (bytes.fromhex("07 07eb 01 0f 08 05 3b"), "2027_1_15 8_5_59"),
        (bytes.fromhex("08 07eb 01 0f 08 05"), ""),
        (bytes.fromhex("04 07eb 01 0f 08 05 3b"), ""),
        (b"", ""),
    ],
)
def test_a_date_and_a_time_are_read(data: bytes, text: str) -> None:
    assert protocol.date_time_of(data) == text


def test_queries_and_commands_have_channels_of_their_own() -> None:
    assert protocol.channel_of(protocol.get_statuses(Status.ENCODING)) is protocol.QUERY
    assert protocol.channel_of(protocol.register_statuses(Status.ENCODING)) is protocol.QUERY
    assert protocol.channel_of(protocol.SHUTTER) is protocol.COMMAND
