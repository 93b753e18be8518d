"""Open GoPro over Bluetooth LE, HERO9 and newer, for a camera whose Wi-Fi is off:
https://gopro.github.io/OpenGoPro/ble

A request is a message of `gopro_messages`, and its answer has the status as its code. Nothing is read without
a command: a connection wakes a camera, and keeps it from its own sleep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wifimgrd.camera.drivers import gopro_messages as messages
from wifimgrd.camera.drivers._values import local, written_time, zone_s
from wifimgrd.camera.drivers.gopro_state import GoPro, Status
from wifimgrd.camera.drivers.protocol import (
    Answer,
    Conversation,
    HostTime,
    Nonsense,
    Request,
    busy_recording,
)
from wifimgrd.domain.camera import CameraCommand
from wifimgrd.domain.errors import CameraRefused

_LONGEST: Final = 8
"""Bytes of a number."""
_HERO9: Final = "HERO9"
_WANTED: Final[tuple[Status, ...]] = tuple(status for status in Status if status is not Status.ACCESS_POINT)
_OF_ALL_MODELS: Final = tuple(status for status in _WANTED if status <= Status.PRESET_GROUP)
"""The statuses of HERO9: a camera may refuse a query for a status that it does not know."""


class GoProBluetoothDriver(GoPro):
    """Speaks with one GoPro over Bluetooth."""

    accepted = 0
    code_name = "error"

    def __init__(self) -> None:
        super().__init__()
        self.may_have_obeyed = False
        """The shutter was pressed or released, and it is not known that the camera has not done it."""

    def carry_out(self, command: CameraCommand, host: Callable[[], HostTime]) -> Conversation[int]:
        """A whole command to a camera that has just been connected; returns the microseconds from the sending
        of the request to its answer, 0 if there was nothing to do."""
        yield from self.begin()
        if command is CameraCommand.SET_CLOCK:
            yield from self.read()
            if self.reading.is_recording:
                raise busy_recording()
            yield from self.set_clock(host())
            yield from self.check_clock(host().offset_s)
            return 0
        on = command is CameraCommand.START
        if (yield from self.prepare(on=on)):
            return 0
        self.may_have_obeyed = True
        answer = yield self.command(on=on)
        return (yield from self.conclude(answer, on=on)).took_us

    def begin(self) -> Conversation[None]:
        """Read model, serial number and firmware."""
        answer = yield Request(messages.HARDWARE_INFO)
        info = messages.hardware_info_of(answer.body if answer.code == self.accepted else b"")
        self.facts.identify(info.model, info.serial, info.firmware)

    def read(self) -> Conversation[None]:
        """Read the whole state."""
        answer = yield Request(messages.get_statuses(*_WANTED))
        if answer.code != self.accepted:
            answer = yield Request(messages.get_statuses(*_OF_ALL_MODELS))
        if answer.code != self.accepted:
            raise Nonsense(f"the camera does not say its state (error {answer.code})")
        found = messages.values_of(answer.body)
        told: dict[Status, object] = {
            status: int.from_bytes(value, "big")
            for status in _WANTED
            if 0 < len(value := found.get(status, b"")) <= _LONGEST
        }
        self._take(told, answer.moment_us)

    # -- commands

    def _set_group(self, group: int) -> Request:
        return Request(messages.SET_GROUP + group.to_bytes(2, "big"))

    def _claim(self) -> Request | None:
        return None if self.reading.model.startswith(_HERO9) else Request(messages.CLAIM_CONTROL)

    def command(self, *, on: bool) -> Request:
        """Press the shutter, or release it."""
        return Request(messages.SHUTTER + bytes([on]))

    # -- clock

    def ask_clock(self, offset_s: int) -> Conversation[tuple[int, Answer] | None]:
        """It says its own time zone if it has one."""
        answer = yield Request(messages.GET_LOCAL_DATE_TIME)
        if answer.code == self.accepted:
            offset_s = zone_s(messages.zone_of(answer.body), offset_s)
        else:
            answer = yield Request(messages.GET_DATE_TIME)
        if answer.code != self.accepted:
            return None
        said_us = written_time(messages.date_time_of(answer.body), offset_s)
        return None if said_us is None else (said_us, answer)

    def set_clock(self, host: HostTime) -> Conversation[None]:
        """Set the local time at the beginning of a second, with its zone if the camera has one."""
        yield host.until_second
        now = local(host.next_second_us, host.offset_s)
        value = now.year.to_bytes(2, "big") + bytes([now.month, now.day, now.hour, now.minute, now.second])
        zone = (host.offset_s // 60).to_bytes(2, "big", signed=True) + bytes([host.is_dst])
        answer = yield Request(messages.SET_LOCAL_DATE_TIME + value + zone)
        if answer.code != self.accepted:
            answer = yield Request(messages.SET_DATE_TIME + value)
        if answer.code != self.accepted:
            raise CameraRefused(f"the camera does not take the time (error {answer.code})")
