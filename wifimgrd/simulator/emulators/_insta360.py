"""An Insta360 (ONE RS, X3, X4, X5): its own messages at TCP port 6666, and Open Spherical Camera at 80.

A frame is its length in four bytes (little endian, with these), three bytes of kind, and what that kind has.
The codes and numbers here are those that published clients use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from wifimgrd.domain.camera import CameraDriver, StopReason, StorageState
from wifimgrd.simulator.emulators._camera import Change, EmulatedCamera, Ended, Refusal, Refused
from wifimgrd.simulator.emulators._emulators import EmulatedKind
from wifimgrd.simulator.emulators._garbage import garbage_in_frames
from wifimgrd.simulator.emulators._osc import Maker, OscEmulator
from wifimgrd.simulator.emulators._protobuf import (
    MalformedMessage,
    Value,
    decode,
    encode,
    numbers_of,
    packed,
    signed,
)

_MESSAGE_PORT: Final = 6666
_FRAME_LIMIT: Final = 65_536
_SILENCE_S: Final = 10.0
"""A client that sends nothing for so long is gone; it sends a keep-alive every 2 s."""
_MESSAGE: Final = b"\x04\x00\x00"
_KEEP_ALIVE: Final = b"\x05\x00\x00"
_HELLO: Final = b"\x06\x00\x00syNceNdinS"
_HEADER: Final = 12
_NO_SEQUENCE: Final = 0xFFFFFF
"""Of what is told without having been asked."""
_OK: Final = 200
_ERROR: Final = 500
_UNKNOWN_CODE, _UNKNOWN_PAYLOAD, _EXECUTE_ERROR, _SYSTEM_BUSY = 1, 2, 3, 5
_LOW_BATTERY: Final = 10
_LEAST_WAIT_S: Final = 0.05
_LONGEST_WAIT_S: Final = 3600.0

_BATTERY_UPDATE, _BATTERY_LOW, _CARD_UPDATE, _CARD_FULL = 8195, 8196, 8198, 8199
_CAPTURE_STOPPED, _CAPTURE_STATUS = 8201, 8208
_CARD_STATES: Final[Mapping[StorageState, int]] = {
    StorageState.OK: 0,
    StorageState.SLOW: 0,
    StorageState.MISSING: 1,
    StorageState.FULL: 2,
}
_STOP_REASONS: Final[Mapping[StopReason, int]] = {
    StopReason.FULL: 1,
    StopReason.UNKNOWN: 2,
    StopReason.SLOW_CARD: 4,
    StopReason.BATTERY: 7,
    StopReason.TOO_HOT: 9,
}
_CLOCK, _ZONE = 12, 13
_VIDEO, _PHOTOS = 1, 3
"""States of the capture: a video, photos at intervals."""
_PAUSED: Final = 1

Fields = list[tuple[int, Value]]


class _Failed(Exception):
    """A message is answered with an error."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        super().__init__(text)


class Insta360Emulator:
    """Serves a camera as an Insta360 does, to any number of clients."""

    ports: Final = frozenset({80, _MESSAGE_PORT})

    def __init__(self, camera: EmulatedCamera) -> None:
        self._camera = camera
        self._osc = OscEmulator(camera, Maker.INSTA360)
        self._garbage = garbage_in_frames()
        self._sessions: set[asyncio.StreamWriter] = set()
        self._unsubscribe: Callable[[], None] | None = None
        self._timer: asyncio.Handle | None = None
        self._told_battery = camera.battery

    async def serve(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        if port != _MESSAGE_PORT:
            await self._osc.serve(port, reader, writer)
            return
        try:
            if await self._next_frame(reader) != _HELLO:
                return
            self._send(writer, _HELLO)
            self._join(writer)
            while (frame := await self._next_frame(reader)) is not None:
                self._receive(writer, frame)
                async with asyncio.timeout(_SILENCE_S):
                    await writer.drain()
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            self._leave(writer)

    async def _next_frame(self, reader: asyncio.StreamReader) -> bytes | None:
        """Without its length; None for bytes that are not a frame."""
        async with asyncio.timeout(_SILENCE_S):
            length = int.from_bytes(await reader.readexactly(4), "little") - 4
            if not len(_MESSAGE) <= length <= _FRAME_LIMIT:
                return None
            return await reader.readexactly(length)

    def _send(self, writer: asyncio.StreamWriter, frame: bytes) -> None:
        if not self._camera.answers or writer.transport.get_write_buffer_size() > _FRAME_LIMIT:
            return  # to who does not read, nothing more is told
        if self._camera.garbage:
            writer.write(next(self._garbage))
            return
        writer.write((len(frame) + 4).to_bytes(4, "little") + frame)

    def _receive(self, writer: asyncio.StreamWriter, frame: bytes) -> None:
        if frame == _KEEP_ALIVE:
            self._send(writer, _KEEP_ALIVE)
        elif frame.startswith(_MESSAGE) and len(frame) >= _HEADER:
            code, sequence = int.from_bytes(frame[3:5], "little"), int.from_bytes(frame[6:9], "little")
            try:
                answered = _OK, self._carry_out(code, decode(frame[_HEADER:]))
            except MalformedMessage:
                answered = _ERROR, encode([(1, _UNKNOWN_PAYLOAD), (2, "msg payload err.")])
            except _Failed as failed:
                answered = _ERROR, encode([(1, failed.code), (2, str(failed))])
            self._send(writer, _message(answered[0], sequence, answered[1]))

    def _carry_out(self, code: int, fields: Fields) -> bytes:
        handler = _HANDLERS.get(code)
        if handler is None:
            raise _Failed(_UNKNOWN_CODE, "unknown msg code.")
        try:
            return handler(self, fields)
        except Refused as refused:
            if refused.refusal is Refusal.BUSY:
                raise _Failed(_SYSTEM_BUSY, "camera is busy.") from None
            raise _Failed(_EXECUTE_ERROR, "msg execute err.") from None

    def _start(self, fields: Fields) -> bytes:  # noqa: ARG002
        if self._camera.is_recording:  # as one does that is sent it twice
            raise _Failed(_EXECUTE_ERROR, "msg execute err.")
        self._camera.start()
        return b""

    def _stop(self, fields: Fields) -> bytes:  # noqa: ARG002
        return encode([(1, self._video(self._camera.stop()))])

    def _video(self, file: Ended) -> bytes:
        return encode([(1, self._osc.path_of(file)), (2, file.size), (3, int(file.seconds))])

    def _set_options(self, fields: Fields) -> bytes:
        wanted = list(numbers_of(fields, 1))
        value = dict(decode(b"".join(part for key, part in fields if key == 2 and isinstance(part, bytes))))
        if _CLOCK in wanted or _ZONE in wanted:
            clock, zone = value.get(_CLOCK, 0), value.get(_ZONE, 0)
            if not isinstance(clock, int) or not isinstance(zone, int):
                raise MalformedMessage
            if abs(signed(zone)) > 18 * 3600 or clock > 1 << 33:
                raise _Failed(_UNKNOWN_PAYLOAD, "msg payload err.")
            self._camera.set_clock(
                clock if _CLOCK in wanted else self._camera.clock_s,
                signed(zone) // 60 if _ZONE in wanted else self._camera.zone_min,
            )
        return encode([(1, packed(wanted))])

    def _get_options(self, fields: Fields) -> bytes:
        have = self._options()
        known = [number for number in dict.fromkeys(numbers_of(fields, 1)) if number in have]
        return encode(
            [(1, packed(known)), (2, encode((number, have[number]) for number in sorted(known)))],
        )

    def _options(self) -> dict[int, Value | str]:
        camera = self._camera
        return {
            9: camera.seconds_left,
            11: self._battery(),
            _CLOCK: int(camera.clock_s),
            _ZONE: camera.zone_min * 60,
            15: camera.settings.serial_number,
            16: camera.settings.serial_number,
            20: encode([(1, _CARD_STATES[camera.storage]), (2, camera.card_free), (3, camera.card_total)]),
            30: camera.settings.firmware_version,
            48: camera.settings.model,
            77: camera.temperature_c,
            97: 1,
        }

    def _battery(self) -> bytes:
        return encode([(1, int(self._camera.charging)), (2, self._camera.battery), (3, 100)])

    def _status(self, fields: Fields) -> bytes:  # noqa: ARG002
        return encode([(1, self._capture())])

    def _capture(self) -> bytes:
        camera = self._camera
        state = _PHOTOS if camera.takes_photos else _VIDEO if camera.is_recording else 0
        return encode([(1, state), (2, camera.counted_s), *([(7, _PAUSED)] if camera.is_paused else [])])

    def _files(self, fields: Fields) -> bytes:
        wanted = {key: value for key, value in fields if isinstance(value, int)}
        files = tuple(self._camera.files)
        shown = files[wanted.get(2, 0) :][: wanted.get(3, 100)]
        return encode([*((1, self._osc.path_of(file)) for file in shown), (2, len(files))])

    def _stand_by(self, fields: Fields) -> bytes:
        if (1, 1) in fields and self._camera.is_recording:
            raise Refused(Refusal.BUSY)
        return b""

    def _switch_off(self, fields: Fields) -> bytes:  # noqa: ARG002
        self._camera.sleep()
        return b""

    def _accept(self, fields: Fields) -> bytes:  # noqa: ARG002
        return b""

    def _join(self, writer: asyncio.StreamWriter) -> None:
        self._sessions.add(writer)
        if self._unsubscribe is None:
            self._unsubscribe = self._camera.subscribe(self._changed)
            self._look_again()

    def _leave(self, writer: asyncio.StreamWriter) -> None:
        self._sessions.discard(writer)
        if not self._sessions and self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
            if self._timer is not None:
                self._timer.cancel()

    def _look_again(self) -> None:
        """While somebody listens, changes are told when they happen."""
        wait_s = max(_LEAST_WAIT_S, min(self._camera.seconds_to_change(), _LONGEST_WAIT_S))
        self._arm(asyncio.get_running_loop().call_later(wait_s, self._look_again))

    def _arm(self, timer: asyncio.Handle) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _changed(self, change: Change) -> None:
        self._arm(asyncio.get_running_loop().call_soon(self._look_again))
        if change is Change.BATTERY:
            self._push(_BATTERY_UPDATE, encode([(1, self._battery())]))
            if self._camera.battery <= _LOW_BATTERY < self._told_battery:
                self._push(_BATTERY_LOW, encode([(1, self._battery())]))
            self._told_battery = self._camera.battery
        elif change is Change.CARD:
            self._push(_CARD_UPDATE, encode([(1, _CARD_STATES[self._camera.storage])]))
            if self._camera.storage is StorageState.FULL:
                self._push(_CARD_FULL, b"")
        else:
            ended = self._camera.last_ended
            if change is Change.STOPPED and ended is not None and ended.reason in _STOP_REASONS:
                reason = _STOP_REASONS[ended.reason]
                self._push(_CAPTURE_STOPPED, encode([(1, reason), (2, self._video(ended))]))
            self._push(_CAPTURE_STATUS, self._capture())

    def _push(self, code: int, body: bytes) -> None:
        for writer in self._sessions:
            self._send(writer, _message(code, _NO_SEQUENCE, body))


def _message(code: int, sequence: int, body: bytes) -> bytes:
    header = (
        _MESSAGE + code.to_bytes(2, "little") + b"\x02" + sequence.to_bytes(3, "little") + b"\x80\x00\x00"
    )
    return header + body


_HANDLERS: Final[Mapping[int, Callable[[Insta360Emulator, Fields], bytes]]] = {
    4: Insta360Emulator._start,
    5: Insta360Emulator._stop,
    7: Insta360Emulator._set_options,
    8: Insta360Emulator._get_options,
    13: Insta360Emulator._files,
    15: Insta360Emulator._status,
    32: Insta360Emulator._switch_off,
    33: Insta360Emulator._accept,
    34: Insta360Emulator._switch_off,
    53: Insta360Emulator._accept,
    56: Insta360Emulator._stand_by,
}

EMULATED: Final = {
    CameraDriver.INSTA360: EmulatedKind(Insta360Emulator, "Insta360 X4", "IAHEA2400000001", "v1.6.21_build1"),
}
