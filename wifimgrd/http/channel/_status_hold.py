"""Decides when the messages of a device are sent, for two properties of the platform's frontend.

It sets a device's status when its request is answered, so that a `failed` before the answer would be lost.
And it shows `failed` until the next status, so that a `disconnected` immediately after it would hide it. So
the messages of a device may be held back, before they are numbered. The records, and the messages of other
devices, are not affected.

Pure: time is passed in, in seconds of one clock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.client.channel_messages import STATUS, Message
from wifimgrd.client.json_types import FAILED

ANSWER_AHEAD_S: Final = 0.1
"""The time from an HTTP answer to the message of the failure that it reports. The contract has 50 ms; the
rest is a margin for clients that read one of their sockets late."""
FAILED_STANDS_S: Final = 1.1
"""The time from `failed` to `disconnected`. The contract has 1 s; the rest is a margin, too."""
_LONGEST_S: Final = 2.0
"""The longest time that a failure is held back for its answer. An answer takes longer if its client does not
read, or if the command continues with another attempt."""
_DISCONNECTED: Final = "disconnected"
_CREATED: Final = "device.created"
_REMOVED: Final = "device.removed"


@dataclass(eq=False, slots=True)
class PendingAnswer:
    """The HTTP answer to a command."""

    when_free: bool = False
    """After the command the device may wait for an adapter."""
    is_waiting: bool = False
    """The device waits: a refusal meanwhile belongs to another command."""
    written_at: float | None = None
    """When it was written; None before."""

    def is_recent(self, now: float) -> bool:
        """Whether a failure at `now` is held back for it."""
        return self.written_at is None or now < self.written_at + ANSWER_AHEAD_S


@dataclass(slots=True)
class _Held:
    """A message that is held back."""

    message: Message
    answers: tuple[PendingAnswer, ...]
    latest: float
    """The time at which it is sent in every case."""

    def due(self) -> float:
        """The time at which it may be sent; `latest` while an answer is not written."""
        due = 0.0
        for answer in self.answers:
            if answer.written_at is None:
                return self.latest
            due = max(due, answer.written_at + ANSWER_AHEAD_S)
        return min(due, self.latest)


@dataclass(slots=True)
class _Device:
    """The messages of one device that are held back."""

    answers: list[PendingAnswer] = field(default_factory=list)
    """The answers to commands for it."""
    queue: deque[_Held] = field(default_factory=deque)
    """A failure that is held back for its answer, and the messages after it."""
    has_failed: bool = False
    """`failed` was the last status sent."""
    disconnected: Message | None = None
    """The status after `failed`, while it is held back."""
    disconnected_at: float = 0.0
    """The time at which that one is sent."""

    @property
    def is_needed(self) -> bool:
        return bool(self.answers or self.queue or self.has_failed)


class StatusHold:
    """Decides when each message is sent. The caller sends what its methods return at once, in that order."""

    def __init__(self) -> None:
        self._devices: dict[int, _Device] = {}
        self._creations: list[PendingAnswer] = []
        """Answers to commands that create a device; its id is not known yet."""

    # -- commands

    def command(self, device_id: int) -> list[Message]:
        """A command for a device begins: a status that is held back behind `failed` is sent."""
        return self._end_failed(device_id)

    def expect_answer(self, device_id: int | None, *, when_free: bool = False) -> PendingAnswer:
        """A command over HTTP begins; `written` follows when it is answered. None = it creates a device."""
        answer = PendingAnswer(when_free)
        if device_id is None:
            self._creations.append(answer)
        else:
            self._devices.setdefault(device_id, _Device()).answers.append(answer)
        return answer

    def written(self, answer: PendingAnswer, now: float) -> list[Message]:
        """The answer to a command is written."""
        answer.written_at = now
        if answer in self._creations:
            self._creations.remove(answer)
        return self.due(now)

    # -- messages

    def offer(self, message: Message, now: float) -> list[Message]:
        """Add a message; returns those to send now."""
        if not message.numbered or not message.type.startswith("device."):
            return [message]
        device_id = message.data["id"]
        if message.type == _REMOVED:
            return [*self._give_up(device_id), message]
        if message.type == _CREATED and self._creations:
            self._devices.setdefault(device_id, _Device()).answers.extend(self._creations)
        is_failure = message.data.get("connection_status") == FAILED
        device = self._devices.get(device_id)
        if device is None:
            if not is_failure:
                return [message]
            device = self._devices[device_id] = _Device()
        device.answers = [one for one in device.answers if one.is_recent(now)]
        is_waiting = message.data.get("waiting_since") is not None
        if is_waiting and message.data.get("connection_status") == _DISCONNECTED:
            for answer in device.answers:
                answer.is_waiting = answer.when_free
        concerned = (one for one in device.answers if not (is_waiting and one.is_waiting))
        answers = tuple(concerned) if is_failure else ()
        device.queue.append(_Held(message, answers, now + _LONGEST_S))
        return self._advance(device_id, now)

    def due(self, now: float) -> list[Message]:
        """The messages whose time has come."""
        return [message for device_id in list(self._devices) for message in self._advance(device_id, now)]

    def next_due(self) -> float | None:
        """The time of the next message that is held back; None if there is none."""
        times = [device.disconnected_at for device in self._devices.values() if device.has_failed]
        times += [device.queue[0].due() for device in self._devices.values() if device.queue]
        return min(times, default=None)

    def give_up(self) -> list[Message]:
        """All messages that are held back, to be sent now."""
        return [message for device_id in list(self._devices) for message in self._give_up(device_id)]

    def _advance(self, device_id: int, now: float) -> list[Message]:
        device = self._devices[device_id]
        sent: list[Message] = []
        while device.queue and device.queue[0].due() <= now:
            sent += self._send(device_id, device.queue.popleft().message, now)
        if device.has_failed and device.disconnected_at <= now:
            sent += self._end_failed(device_id)
        device.answers = [one for one in device.answers if one.is_recent(now)]
        if not device.is_needed:
            del self._devices[device_id]
        return sent

    def _send(self, device_id: int, message: Message, now: float) -> list[Message]:
        """Send a message, but hold back a `disconnected` behind a `failed`."""
        device = self._devices[device_id]
        if message.type != STATUS:
            if device.disconnected is not None:
                # It is sent after this message, so it must not contain older values.
                now_so = {key: message.data.get(key, was) for key, was in device.disconnected.data.items()}
                device.disconnected = Message(STATUS, now_so)
            return [message]
        status = message.data["connection_status"]
        if device.has_failed and device.disconnected is None and status == _DISCONNECTED:
            device.disconnected = message
            return []
        sent = [*self._end_failed(device_id), message]
        if status == FAILED:
            device.has_failed, device.disconnected_at = True, now + FAILED_STANDS_S
        return sent

    def _end_failed(self, device_id: int) -> list[Message]:
        device = self._devices.get(device_id)
        if device is None or not device.has_failed:
            return []
        message, device.disconnected, device.has_failed = device.disconnected, None, False
        return [] if message is None else [message]

    def _give_up(self, device_id: int) -> list[Message]:
        device = self._devices.pop(device_id, None)
        if device is None:
            return []
        held = [] if device.disconnected is None else [device.disconnected]
        return [*held, *(one.message for one in device.queue)]
