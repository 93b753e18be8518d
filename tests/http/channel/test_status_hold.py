"""When a device's messages are sent, by a clock that the test moves."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.client.channel_messages import STATUS, Message
from wifimgrd.http.channel._status_hold import ANSWER_AHEAD_S, FAILED_STANDS_S, PendingAnswer, StatusHold

CREATED = Message("device.created", {"id": 1, "connection_status": "disconnected"})
UPDATED = Message("device.updated", {"id": 1, "connection_status": "disconnected"})
REMOVED = Message("device.removed", {"id": 1})
SIGNAL = Message("device.signal", {"id": 1, "signal_strength": 50}, numbered=False)
INTERFACE = Message("interface.updated", {"name": "wlan0"})


def status(name: str, device_id: int = 1, **more: Any) -> Message:
    return Message(STATUS, {"id": device_id, "connection_status": name, **more})


FAILED, DISCONNECTED, CONNECTING = status("failed"), status("disconnected"), status("connecting")


def offer(hold: StatusHold, *messages: Message, at: float = 0.0) -> list[Message]:
    return [sent for message in messages for sent in hold.offer(message, at)]


class TestFailedStands:
    """`disconnected` waits behind `failed`."""

    def test_disconnected_waits_behind_failed(self) -> None:
        hold = StatusHold()
        assert offer(hold, FAILED, DISCONNECTED) == [FAILED]
        assert hold.next_due() == FAILED_STANDS_S >= 1
        assert hold.due(FAILED_STANDS_S - 0.01) == []
        assert hold.due(FAILED_STANDS_S) == [DISCONNECTED]
        assert hold.next_due() is None

    def test_disconnected_alone_does_not_wait(self) -> None:
        assert offer(StatusHold(), status("disconnecting"), DISCONNECTED)[-1] == DISCONNECTED

    def test_nothing_else_waits(self) -> None:
        hold = StatusHold()
        other = status("failed", 2)
        offer(hold, FAILED, DISCONNECTED)
        assert offer(hold, UPDATED, SIGNAL, INTERFACE, other) == [UPDATED, SIGNAL, INTERFACE, other]

    def test_what_changes_meanwhile_is_not_taken_back(self) -> None:
        hold = StatusHold()
        renamed = Message("device.updated", {**UPDATED.data, "name": "Rear", "ssid": "CAM"})
        offer(hold, FAILED, Message(STATUS, {**DISCONNECTED.data} | {"name": "Front"}), renamed)
        assert hold.due(FAILED_STANDS_S) == [Message(STATUS, {**DISCONNECTED.data} | {"name": "Rear"})]

    def test_a_step_of_the_device_ends_the_wait(self) -> None:
        hold = StatusHold()
        offer(hold, FAILED, DISCONNECTED)
        assert offer(hold, CONNECTING, at=0.5) == [DISCONNECTED, CONNECTING]
        assert hold.due(FAILED_STANDS_S) == []

    def test_a_command_for_the_device_ends_the_wait(self) -> None:
        hold = StatusHold()
        offer(hold, FAILED, DISCONNECTED)
        assert hold.command(2) == []
        assert hold.command(1) == [DISCONNECTED]
        assert hold.next_due() is None

    def test_a_second_failure_stands_as_long(self) -> None:
        hold = StatusHold()
        again = status("failed", again=True)
        offer(hold, FAILED, DISCONNECTED)
        assert offer(hold, again, DISCONNECTED, at=0.5) == [DISCONNECTED, again]
        assert hold.due(FAILED_STANDS_S) == []
        assert hold.due(0.5 + FAILED_STANDS_S) == [DISCONNECTED]

    def test_a_removal_ends_the_wait(self) -> None:
        hold = StatusHold()
        assert offer(hold, FAILED, DISCONNECTED, REMOVED) == [FAILED, DISCONNECTED, REMOVED]
        assert hold.next_due() is None

    def test_when_the_daemon_goes_everything_is_sent(self) -> None:
        hold = StatusHold()
        offer(hold, FAILED, DISCONNECTED, status("failed", 2), status("disconnected", 2))
        assert hold.give_up() == [DISCONNECTED, status("disconnected", 2)]
        assert hold.next_due() is None


class TestAnswerAhead:
    """A failure waits for the HTTP answer that reports it."""

    def test_a_failure_follows_the_answer(self) -> None:
        hold = StatusHold()
        answer = hold.expect_answer(1)
        assert offer(hold, FAILED, DISCONNECTED, UPDATED) == []
        assert hold.written(answer, 0.3) == []
        assert hold.next_due() == 0.3 + ANSWER_AHEAD_S
        assert ANSWER_AHEAD_S >= 0.05
        assert hold.due(0.3 + ANSWER_AHEAD_S) == [FAILED, UPDATED]
        assert hold.due(0.3 + ANSWER_AHEAD_S + FAILED_STANDS_S) == [DISCONNECTED]

    def test_what_is_no_failure_does_not_wait(self) -> None:
        hold = StatusHold()
        hold.expect_answer(1)
        connected = status("connected")
        assert offer(hold, CONNECTING, connected, UPDATED) == [CONNECTING, connected, UPDATED]

    def test_another_device_does_not_wait(self) -> None:
        hold = StatusHold()
        hold.expect_answer(1)
        assert offer(hold, FAILED, status("failed", 2), INTERFACE) == [status("failed", 2), INTERFACE]

    def test_a_failure_right_after_the_answer_waits(self) -> None:
        hold = StatusHold()
        assert hold.written(hold.expect_answer(1), 1.0) == []
        assert offer(hold, FAILED, at=1.01) == []
        assert hold.due(1.0 + ANSWER_AHEAD_S) == [FAILED]

    def test_a_failure_well_after_the_answer_does_not_wait(self) -> None:
        hold = StatusHold()
        hold.written(hold.expect_answer(1), 1.0)
        assert offer(hold, FAILED, at=1.0 + ANSWER_AHEAD_S) == [FAILED]

    def test_a_later_command_does_not_hold_an_earlier_failure_back(self) -> None:
        hold = StatusHold()
        first = hold.expect_answer(1)
        offer(hold, FAILED, DISCONNECTED)
        hold.written(first, 0.1)
        hold.expect_answer(1)
        assert hold.due(0.1 + ANSWER_AHEAD_S) == [FAILED]

    def test_two_refusals_each_follow_their_answer(self) -> None:
        hold = StatusHold()
        again = status("failed", again=True)
        first = hold.expect_answer(1)
        offer(hold, FAILED, DISCONNECTED)
        hold.written(first, 0.0)
        second = hold.expect_answer(1)
        assert offer(hold, again, DISCONNECTED, at=0.05) == []
        hold.written(second, 0.08)
        assert hold.due(ANSWER_AHEAD_S) == [FAILED]
        assert hold.due(0.08 + ANSWER_AHEAD_S) == [DISCONNECTED, again]

    def test_a_failure_of_a_device_follows_the_answer_that_creates_it(self) -> None:
        hold = StatusHold()
        answer = hold.expect_answer(None)
        assert offer(hold, CREATED, FAILED, DISCONNECTED) == [CREATED]
        hold.written(answer, 0.2)
        assert hold.due(0.2 + ANSWER_AHEAD_S) == [FAILED]

    def test_an_answer_that_nobody_reads_holds_a_failure_back_for_two_seconds(self) -> None:
        hold = StatusHold()
        hold.expect_answer(1)
        offer(hold, FAILED)
        assert hold.due(1.99) == []
        assert hold.due(2.0) == [FAILED]

    def test_a_refusal_while_a_command_waits_for_an_adapter_is_not_its_own(self) -> None:
        hold = StatusHold()
        waiting, refused = status("disconnected", waiting_since="t"), status("failed", waiting_since="t")
        first = hold.expect_answer(1, when_free=True)
        assert offer(hold, waiting) == [waiting]
        second = hold.expect_answer(1)
        assert offer(hold, refused, waiting) == []
        hold.written(second, 0.1)
        assert hold.due(0.1 + ANSWER_AHEAD_S) == [refused]
        assert offer(hold, CONNECTING, at=0.4) == [waiting, CONNECTING]
        assert offer(hold, FAILED, at=0.5) == []  # the attempt's
        hold.written(first, 0.6)
        assert hold.due(0.6 + ANSWER_AHEAD_S) == [FAILED]

    def test_a_command_that_would_wait_and_is_refused_at_once_is_answered_first(self) -> None:
        hold = StatusHold()
        hold.expect_answer(1, when_free=True)
        assert offer(hold, status("failed", waiting_since="t")) == []

    def test_a_removal_does_not_wait(self) -> None:
        hold = StatusHold()
        hold.expect_answer(1)
        assert offer(hold, FAILED, DISCONNECTED, REMOVED) == [FAILED, DISCONNECTED, REMOVED]


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["failed", "disconnected", "connecting", "update", "command", "begin", "written", "due"]
        ),
        st.integers(1, 2),
        st.floats(0, 1.5),
    ),
    max_size=40,
)


@given(_STEPS)
def test_everything_is_sent_once_and_a_devices_statuses_in_order(
    steps: list[tuple[str, int, float]],
) -> None:
    hold, now = StatusHold(), 0.0
    offered: list[Message] = []
    sent: list[Message] = []
    open_answers: list[PendingAnswer] = []
    for count, (what, device_id, pause) in enumerate(steps):
        now += pause
        match what:
            case "command":
                sent += hold.command(device_id)
            case "begin":
                open_answers.append(hold.expect_answer(device_id))
            case "written" if open_answers:
                sent += hold.written(open_answers.pop(), now)
            case "failed" | "disconnected" | "connecting":
                offered.append(status(what, device_id, number=count))
                sent += hold.offer(offered[-1], now)
            case "update":
                offered.append(Message("device.updated", {"id": device_id, "number": count}))
                sent += hold.offer(offered[-1], now)
            case "due":
                sent += hold.due(now)
    for _ in range(2 * len(steps) + 2):
        if (due := hold.next_due()) is not None:
            now = max(now, due)
            sent += hold.due(now)
    assert hold.next_due() is None
    assert len(sent) == len(offered)
    for device_id in (1, 2):
        mine = [one for one in offered if one.data["id"] == device_id]
        reported = [one for one in sent if one.data["id"] == device_id]
        names = [one.data["connection_status"] for one in mine if one.type == STATUS]
        assert [one.data["connection_status"] for one in reported if one.type == STATUS] == names
        assert [one for one in reported if one.type != STATUS] == [one for one in mine if one.type != STATUS]
        if mine:
            assert reported[-1].data["number"] == mine[-1].data["number"]  # the last says how it is
