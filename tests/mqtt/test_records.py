"""What is published, compared with what the broker retains; topics; events; claims."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.client.channel_messages import CAMERA, Message
from wifimgrd.client.commands import RecordingOrder, recording_order
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.commands import DEVICE_COMMANDS
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.domain.rig import Everyone
from wifimgrd.mqtt._command_messages import (
    REMEMBERED,
    REMEMBERED_S,
    Command,
    CommandMessage,
    CommandRefused,
    RecentCommands,
    parse_command,
)
from wifimgrd.mqtt._events import EventQueue
from wifimgrd.mqtt._hub_id import Claim, parse_claim
from wifimgrd.mqtt._hub_record import encoded
from wifimgrd.mqtt._pace import BURST, MessageRate, Pace, is_small
from wifimgrd.mqtt._records import LARGEST_LIST, LONGEST_LIST, RetainedRecords
from wifimgrd.mqtt._rediscovery import LARGEST_REMOVED, MOST_REMOVED, Rediscovery
from wifimgrd.mqtt._topics import Target, Topics

TOPICS = Topics("fleet/wifimgrd", "boat", ("homeassistant",))
records = st.dictionaries(st.sampled_from("abcdef"), st.binary(min_size=1, max_size=2))


def taken(records: RetainedRecords) -> dict[str, bytes]:
    """All that is to be published."""
    found: dict[str, bytes] = {}
    while (one := records.take()) is not None:
        found[one[0]] = one[1]
    return found


@given(held=records, before=records, wanted=records)
def test_the_broker_gets_the_difference_and_nothing_else(
    held: dict[str, bytes], before: dict[str, bytes], wanted: dict[str, bytes]
) -> None:
    retained = RetainedRecords()
    retained.replace(before)
    retained.begin()
    for topic, payload in held.items():
        retained.found(topic, payload)
    retained.replace(wanted)
    assert retained.take() is None, "nothing before what the broker retains is known"
    retained.complete()
    expected = {topic: payload for topic, payload in wanted.items() if held.get(topic) != payload}
    expected |= dict.fromkeys(held.keys() - wanted.keys(), b"")
    assert taken(retained) == expected


def test_nothing_of_others_is_removed_before_the_records_are_known() -> None:
    retained = RetainedRecords()
    retained.set("availability", b"offline")
    retained.begin()
    retained.found("devices/3", b"{}")
    retained.complete()
    assert taken(retained) == {"availability": b"offline"}
    retained.replace({"availability": b"online"})
    assert taken(retained) == {"availability": b"online", "devices/3": b""}


def test_what_was_refused_is_published_or_removed_again() -> None:
    retained = RetainedRecords()
    retained.found("b", b"1")
    retained.replace({"a": b"1"})
    retained.complete()
    assert taken(retained) == {"a": b"1", "b": b""}
    retained.refused("a")
    retained.refused("b")
    assert taken(retained) == {"a": b"1", "b": b""}
    assert retained.take() is None


@pytest.mark.parametrize("length", [10, 65_000])
def test_of_what_others_retain_a_bounded_part_is_kept(length: int) -> None:
    limit = min(LONGEST_LIST, LARGEST_LIST // length)
    topics = [f"{number:0{length}}" for number in range(limit + 1)]
    retained = RetainedRecords()
    retained.replace({"a" * length: b"1"})
    for _ in range(2):
        retained.begin()
        for topic in (*topics, "a" * length):
            retained.found(topic, b"1")
        assert retained.left_over == 1
        retained.complete()
        assert taken(retained) == dict.fromkeys(topics[:limit], b"")
        retained.found(topics[0], b"1")  # there is place again
        assert taken(retained) == {topics[0]: b""}


def test_a_record_that_changes_all_the_time_is_published_ten_times_and_then_once_a_second() -> None:
    retained, rate, published = RetainedRecords(), MessageRate(), list[tuple[float, bytes]]()
    retained.complete()
    changes = {number / 4: str(number).encode() for number in range(240)}  # four a second
    for tick in range(6200):
        now = tick / 100
        if payload := changes.get(now):
            retained.set("devices/1", payload)
        while (one := retained.take(lambda topic: rate.admits(topic, now))) is not None:  # noqa: B023
            published.append((now, one[1]))
        assert all(rate.due(topic) > now for topic in retained.changed), "it waits, for a time that is known"
    assert len(published) <= BURST + 60
    assert max(after - before for (before, _), (after, _) in pairwise(published)) <= 1.01
    assert published[-1][1] == b"239", "the newest one is published in the end"
    assert not retained.changed


def test_records_that_wait_hold_up_no_other_and_are_removed_at_once() -> None:
    retained, rate = RetainedRecords(), MessageRate()
    retained.complete()

    def published() -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        while (one := retained.take(lambda topic: rate.admits(topic, 5.0))) is not None:
            found[one[0]] = one[1]
        return found

    for number in range(BURST):
        retained.set("a", str(number).encode())
        assert published() == {"a": str(number).encode()}
    retained.set("a", b"last")
    retained.set("b", b"1")
    assert published() == {"b": b"1"}
    retained.replace({})
    assert published() == {"a": b"", "b": b""}


def test_a_record_that_comes_and_goes_has_no_burst_each_time() -> None:
    retained, rate, published = RetainedRecords(), MessageRate(), list[bytes]()
    retained.complete()
    retained.replace({})
    for tick in range(600):  # in a minute
        now = tick / 10
        if tick % 2:
            retained.remove("interfaces/wlan0")
        else:
            retained.set("interfaces/wlan0", str(tick).encode())
        while (one := retained.take(lambda topic: rate.admits(topic, now))) is not None:  # noqa: B023
            published.append(one[1])
    assert len(published) <= 2 * (BURST + 60)
    assert published.count(b"") == len(published) // 2, "each that was published is removed"


def test_the_counts_of_topics_that_are_not_used_are_forgotten() -> None:
    rate = MessageRate()
    for number in range(10_000):
        assert rate.admits(f"interfaces/{number}", number / 100)
    assert len(rate._paid_until) <= 101


def test_without_a_broker_the_newest_record_replaces_the_one_before() -> None:
    retained = RetainedRecords()
    retained.replace({})
    for number in range(1000):
        retained.set("a", str(number).encode())
    retained.set("b", b"1")
    retained.remove("b")
    retained.begin()
    retained.complete()
    assert taken(retained) == {"a": b"999"}


def test_the_number_of_events_that_are_kept_is_bounded() -> None:
    queue = EventQueue("0" * 16, limit=3)
    for number in range(5):
        queue.add(Message("device.removed", {"id": number}), "now")
    queue.add(Message("device.signal", {}, numbered=False), "now")
    queue.add(Message(CAMERA, {"id": 1}), "now")
    first = queue.take()
    assert first is not None
    queue.add(Message("device.removed", {"id": 5}), "now")
    queue.put_back([first])
    numbers = []
    while (event := queue.take()) is not None:
        numbers.append(json.loads(event)["seq"])
    assert numbers == [4, 5, 6]


def test_an_event_that_was_not_delivered_is_the_next() -> None:
    queue = EventQueue("0" * 16)
    for number in range(3):
        queue.add(Message("device.removed", {"id": number}), "now")
    events = [event for event in (queue.take(), queue.take()) if event is not None]
    queue.put_back(events)
    assert queue.take() == events[0]


def test_the_signal_strength_is_published_in_steps_once_a_second() -> None:
    pace = Pace()
    device = replace(DeviceRecord(1), signal_strength=52)

    def offered(percent: int, now: float) -> int | None:
        shown = pace.offer(replace(device, signal_strength=percent), now)
        return None if shown is None else shown.signal_strength

    first = pace.offer(device, 10.0)
    assert first is not None
    assert first.signal_strength == 50
    assert offered(54, 20.0) is None, "less than a step"
    assert offered(61, 21.0) == 60
    assert offered(72, 21.5) is None, "too early"
    assert pace.due(21.9) == []
    assert pace.due(22.0) == [1]
    assert offered(72, 22.0) == 70
    assert pace.next_due() is None
    changed = pace.offer(replace(device, name="new", signal_strength=71), 22.1)
    assert changed is not None
    assert changed.signal_strength == 70


RECORDING = CameraRecord(
    battery_level=80,
    recording_state="recording",
    recording_since=1,
    storage_state="ok",
    storage_free=100,
    recording_time_left=600,
    clock_offset=5,
    clock_read_at=1,
    read_at=1,
)
CONNECTED = DeviceRecord(1, state="connected", camera=RECORDING)


@pytest.mark.parametrize(
    "counted",
    [
        {"battery_level": 79},
        {"storage_free": 50},
        {"recording_time_left": 540},
        {"clock_offset": -5, "clock_read_at": 2},
        {"read_at": 2},
    ],
)
def test_what_a_camera_counts_is_published_once_a_minute(counted: dict[str, Any]) -> None:
    pace = Pace()
    after = replace(CONNECTED, camera=replace(RECORDING, **counted))
    assert is_small(CONNECTED, after)
    assert pace.offer(CONNECTED, 10.0) == CONNECTED
    assert pace.offer(after, 69.0) is None
    assert pace.next_due() == 70.0
    assert pace.offer(after, 70.0) == after


def test_bit_rates_are_published_once_a_minute_and_at_once_when_they_are_known() -> None:
    pace = Pace()
    first = replace(CONNECTED, tx_bitrate=86_700, rx_bitrate=57_800)
    other = replace(first, tx_bitrate=144_400)
    assert pace.offer(CONNECTED, 10.0) == CONNECTED
    assert pace.offer(first, 20.0) == first
    assert is_small(first, other)
    assert pace.offer(other, 79.0) is None
    assert pace.offer(other, 80.0) == other
    assert pace.offer(replace(other, frequency=5180), 80.1) is not None


@pytest.mark.parametrize(
    "told",
    [
        {"recording_state": "idle"},
        {"recording_since": 2},
        {"recording_requested": True},
        {"storage_state": "full"},
        {"battery_state": "charging"},
        {"temperature_state": "too-hot"},
        {"problems": ("not-recording",)},
        {"model": "HERO12 Black"},
        {"battery_level": None},
        {"recording_time_left": None},
        {"clock_read_at": None},
    ],
)
def test_all_else_of_a_camera_is_published_at_once(told: dict[str, Any]) -> None:
    pace = Pace()
    after = replace(CONNECTED, camera=replace(RECORDING, read_at=2, **told))
    assert not is_small(CONNECTED, after)
    pace.offer(CONNECTED, 10.0)
    pace.offer(replace(CONNECTED, camera=replace(RECORDING, read_at=2)), 20.0)
    assert pace.offer(after, 20.1) == after
    assert pace.next_due() is None, "it has what was held back"
    assert pace.offer(replace(after, camera=None), 20.2) is not None


def test_a_day_of_64_cameras_that_record_is_bounded() -> None:
    """Each is read every 2 s, and changes in the daemon's steps every 10 s."""
    pace, published, data = Pace(), 0, 0
    for now in range(0, 3600, 10):
        for number in range(1, 65):
            counted = replace(RECORDING, read_at=now + 1, recording_time_left=86_400 - now)
            record = replace(CONNECTED, id=number, camera=counted)
            if pace.offer(record, float(now)) is not None:
                published += 1
                data += len(encoded(device_json(record)))
    assert published * 24 == 64 * 1440
    assert data * 24 < 200e6


@pytest.mark.parametrize(
    ("topic", "target"),
    [
        ("fleet/wifimgrd/boat/command", Target(None)),
        ("fleet/wifimgrd/boat/devices/12/command", Target(12)),
        ("fleet/wifimgrd/boat/devices/all/command", Target(None, everyone=True)),
        ("fleet/wifimgrd/boat/devices/ALL/command", None),
        ("fleet/wifimgrd/boat/devices/012/command", None),
        ("fleet/wifimgrd/boat/devices/0/command", None),
        ("fleet/wifimgrd/boat/devices/-1/command", None),
        ("fleet/wifimgrd/boat/devices/\u0663/command", None),
        ("fleet/wifimgrd/boat/devices/" + "9" * 5000 + "/command", None),
        ("fleet/wifimgrd/boat/devices/1/command/", None),
        ("fleet/wifimgrd/boat/devices/1/command\n", None),
        ("fleet/wifimgrd/boats/command", None),
        ("x/fleet/wifimgrd/boat/command", None),
        ("", None),
    ],
)
def test_a_command_topic_has_a_target(topic: str, target: Target | None) -> None:
    assert TOPICS.target(topic) == target
    if target is not None:
        assert TOPICS.is_command(topic)
        assert TOPICS.command(target) == topic
        assert TOPICS.result(target) == topic.removesuffix("command") + "result"


@pytest.mark.parametrize(
    ("topic", "is_command"),
    [
        ("fleet/wifimgrd/boat/command", True),
        ("fleet/wifimgrd/boat/devices/\n/command", True),
        ("fleet/wifimgrd/boat/devices//command", True),
        ("fleet/wifimgrd/boat/devices/1/result", False),
        ("fleet/wifimgrd/boat/devices/1/2/command", False),
        ("fleet/wifimgrd/boat", False),
        ("fleet/wifimgrd/boats/command", False),
    ],
)
def test_a_command_topic_is_recognised_whatever_id_is_in_it(topic: str, is_command: bool) -> None:
    assert TOPICS.is_command(topic) is is_command


@pytest.mark.parametrize(
    ("topic", "allowed"),
    [
        ("fleet/wifimgrd/boat/response/7", True),
        ("answers/7", True),
        ("fleet/wifimgrd/boat/response", False),
        ("fleet/wifimgrd/boat/responses/7", False),
        ("fleet/wifimgrd/other/response/7", False),
        ("fleet/wifimgrd", False),
        ("homeassistant/x", False),
        ("$SYS/broker", False),
        ("answers/+", False),
        ("answers/#", False),
        ("a\0b", False),
        ("", False),
        ("a" * 1000, False),
        ("a/" * 31 + "a", True),
        ("a/" * 32, False),
        ("fleet/wifimgrd/boat/response" + "/" * 30, False),
    ],
)
def test_answers_go_where_no_hub_reads(topic: str, allowed: bool) -> None:
    assert TOPICS.may_answer_at(topic) is allowed


@given(st.text(max_size=15))
def test_the_name_of_any_interface_is_one_level_of_a_topic(name: str) -> None:
    topic = TOPICS.interface(name.encode("utf-8", "replace").decode())
    level = topic.removeprefix("fleet/wifimgrd/boat/interfaces/")
    assert not set(level) & set("/+#\0")


@given(st.binary(max_size=300))
def test_a_command_of_any_bytes_is_read_or_refused(payload: bytes) -> None:
    with suppress(CommandRefused):
        assert parse_command(CommandMessage(Target(1), payload)).name in DEVICE_COMMANDS


def test_a_command_has_its_options_and_no_others() -> None:
    payload = b'{"command":"connect","options":{"wait":true,"when_free":false}}'
    options = {"wait": True, "when_free": False}
    assert parse_command(CommandMessage(Target(1), payload)) == Command("connect", 1, options)
    for wrong in (b'{"wait":1}', b'{"what":true}', b"[]", b"null"):
        with pytest.raises(CommandRefused):
            parse_command(CommandMessage(Target(1), b'{"command":"connect","options":' + wrong + b"}"))


def test_a_recovery_step_is_a_text_that_may_be_left_out() -> None:
    for options in ({}, {"wait": True}, {"step": "rejoin", "wait": False}):
        payload = json.dumps({"command": "recover", "options": options}).encode()
        assert parse_command(CommandMessage(Target(1), payload)) == Command("recover", 1, options)
    with pytest.raises(CommandRefused):
        parse_command(CommandMessage(Target(1), b'{"command":"recover","options":{"step":1}}'))


@pytest.mark.parametrize(
    ("options", "order"),
    [
        ({"recording": True, "device_ids": [2, 1]}, RecordingOrder(on=True, device_ids=(2, 1))),
        ({"recording": False, "all": True}, RecordingOrder(on=False, everyone=Everyone.RIG)),
        ({"recording": False, "device_ids": []}, RecordingOrder(on=False)),
        ({"recording": True, "device_ids": [2], "all": False, "else": 1}, RecordingOrder(True, (2,))),
        ({}, None),
        ({"recording": True}, None),
        ({"recording": 1, "all": True}, None),
        ({"all": True}, None),
        ({"recording": True, "all": 1}, None),
        ({"recording": True, "all": True, "device_ids": [1]}, None),
        ({"recording": True, "device_ids": [0]}, None),
        ({"recording": True, "device_ids": [True]}, None),
        ({"recording": True, "device_ids": [1.0]}, None),
        ({"recording": True, "device_ids": [2**63]}, None),
        ({"recording": True, "device_ids": {"1": 1}}, None),
        ({"recording": True, "device_ids": [1] * 256}, RecordingOrder(True, (1,) * 256)),
        ({"recording": True, "device_ids": [1] * 257}, None),
    ],
)
def test_a_hub_records_on_some_or_on_all(options: dict[str, Any], order: RecordingOrder | None) -> None:
    message = CommandMessage(Target(None), json.dumps({"command": "record", "options": options}).encode())
    if order is None:
        with pytest.raises(CommandRefused, match="options must be an object with"):
            parse_command(message)
        return
    assert recording_order(parse_command(message).options, "") == order
    everyone = replace(message, target=Target(None, everyone=True))
    assert recording_order(parse_command(everyone).options, "") == order
    with pytest.raises(CommandRefused, match=r"command must be one of: record$"):
        parse_command(replace(everyone, payload=b'{"command":"scan"}'))
    with pytest.raises(CommandRefused, match="command must be one of"):
        parse_command(replace(message, target=Target(1)))


@pytest.mark.parametrize("changes", [{"retained": True}, {"has_expired": True}, {"correlation": b"x" * 257}])
def test_a_command_of_another_time_is_refused(changes: dict[str, object]) -> None:
    message = CommandMessage(Target(1), b'{"command":"connect"}')
    parse_command(message)
    with pytest.raises(CommandRefused):
        parse_command(replace(message, **changes))  # type: ignore[arg-type]


def test_a_repeat_is_recognised_by_correlation_data_or_by_the_flag() -> None:
    recent = RecentCommands()
    plain = CommandMessage(Target(1), b"x")
    assert recent.begin(plain, 0.0)
    assert recent.begin(plain, 1.0), "sent again, not delivered again"
    assert not recent.begin(replace(plain, is_repeat=True), 2.0)
    marked = replace(plain, correlation=b"1", response_topic="a")
    assert recent.begin(marked, 2.0)
    assert recent.begin(replace(marked, response_topic="b"), 2.0), "another client's"
    assert recent.begin(replace(marked, payload=b"y"), 2.0), "another command"
    assert not recent.begin(marked, 3.0)
    recent.answered(marked, b"done")
    assert recent.answer_to(marked) == b"done"
    assert recent.begin(marked, 3.0 + REMEMBERED_S)


def test_the_number_of_commands_that_are_remembered_is_bounded() -> None:
    recent = RecentCommands()
    first = CommandMessage(Target(1), b"x", correlation=b"first")
    recent.begin(first, 0.0)
    for number in range(REMEMBERED):
        recent.begin(CommandMessage(Target(1), b"x", correlation=str(number).encode()), 0.0)
    assert recent.begin(first, 0.0)


def test_of_two_claims_one_gives_way() -> None:
    one, other = Claim("0" * 16), Claim("f" * 16)
    assert other.gives_way_to(one)
    assert not one.gives_way_to(other)
    assert parse_claim(other.payload()) == other


@given(st.binary(max_size=400))
def test_a_claim_of_any_bytes_is_read_or_ignored(payload: bytes) -> None:
    parse_claim(payload)


def test_the_last_removals_are_repeated_once_and_no_more_than_fit() -> None:
    wanted = RetainedRecords()
    repeated = Rediscovery(wanted)
    for number in range(MOST_REMOVED + 5):
        repeated.removed(f"topic/{number}", b"message")
    wanted.set("topic/50", b"it is back")
    repeated.is_back()
    sent = list(iter(repeated.take, None))
    topics = [f"topic/{number}" for number in range(5, MOST_REMOVED + 5) if number != 50]
    assert sent == [(topic, payload) for topic in topics for payload in (b"message", b"")]
    repeated.is_back()
    assert repeated.take() is None
    repeated.removed("small", b"")
    repeated.removed("large", bytes(LARGEST_REMOVED))
    repeated.is_back()
    assert [topic for topic, _ in iter(repeated.take, None)] == ["small", "large", "large"]
