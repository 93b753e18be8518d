"""A GoPro over Bluetooth LE, as messages: what it answers to commands and queries once it is paired and on.

Facts: https://gopro.github.io/OpenGoPro/ble/features (control, query), .../ble/protocol/id_tables.html.
"""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Final

from wifimgrd.simulator.emulators._camera import Refused
from wifimgrd.simulator.emulators._gopro import GoProEmulator

_OK: Final = b"\0"
_ERROR: Final = b"\1"
_INVALID: Final = b"\2"
_SUNDAY: Final = 7
_BYTES: Final = {13: 4, 34: 4, 35: 4, 38: 4, 39: 4, 54: 8, 96: 4, 117: 8}
"""How long the numbers are that may be larger than 255."""


class GoProBluetooth:
    """Answers for the camera of an emulator."""

    def __init__(self, emulator: GoProEmulator) -> None:
        self._emulator = emulator

    def answer(self, message: bytes) -> bytes:
        """The answer to a message, both without the heads of packets; empty if the camera is silent."""
        if not message:
            return _ERROR
        number, parameters = message[:1], message[1:]
        if not self._emulator.answers:
            return b""
        try:
            answer = number + self._answer(number[0], parameters)
        except Refused:
            answer = number + _ERROR
        return answer if self._emulator.answers else b""

    def _answer(self, number: int, parameters: bytes) -> bytes:
        match number:
            case 0x01 if parameters in (b"\1\0", b"\1\1"):
                self._emulator.press(on=parameters == b"\1\1")
                return _OK
            case 0x0D if len(parameters) == 8:
                return self._set_clock(parameters[1:], 0)
            case 0x0F if len(parameters) == 11 and self._emulator.has_zone:
                return self._set_clock(parameters[1:8], int.from_bytes(parameters[8:10], "big", signed=True))
            case 0x0E:
                return _OK + _written(self._emulator.local_time())
            case 0x10 if self._emulator.has_zone:
                return _OK + _written(self._emulator.local_time(), self._emulator.zone_min)
            case 0x3C:
                return _OK + self._hardware_info()
            case 0x3E if len(parameters) == 3:
                self._emulator.set_group(int.from_bytes(parameters[1:], "big"))
                return _OK
            case 0x11 if not parameters and self._emulator.reboots:
                self._emulator.reboot()
                return _OK
            case 0x13 | 0x53:
                return _OK + self._statuses(parameters)
        return _INVALID

    def _set_clock(self, value: bytes, zone_min: int) -> bytes:
        parts = [int.from_bytes(value[:2], "big"), *value[2:]]
        response = self._emulator.set_clock(parts, zone_min)
        return _OK if response.status == HTTPStatus.OK else _ERROR

    def _hardware_info(self) -> bytes:
        told = self._emulator.identity()
        fields = (
            int(told["model_number"]).to_bytes(4, "big"),
            told["model_name"].encode(),
            b"\0\0\0\5",
            told["firmware_version"].encode(),
            told["serial_number"].encode(),
            told["ap_ssid"].encode(),
            told["ap_mac_addr"].encode(),
        )
        return b"".join(bytes([len(one)]) + one for one in fields)

    def _statuses(self, wanted: bytes) -> bytes:
        values = self._emulator.statuses()
        found = b""
        for number in wanted or bytes(values):
            if number in values:
                value = values[number]
                packed = (
                    value.encode() if isinstance(value, str) else value.to_bytes(_BYTES.get(number, 1), "big")
                )
                found += bytes([number, len(packed)]) + packed
        return found


def _written(local: datetime, zone_min: int | None = None) -> bytes:
    """With the day of the week, or with the zone and no summer time."""
    value = local.year.to_bytes(2, "big")
    value += bytes([local.month, local.day, local.hour, local.minute, local.second])
    if zone_min is None:
        value += bytes([local.isoweekday() % _SUNDAY])
    else:
        value += zone_min.to_bytes(2, "big", signed=True) + b"\0"
    return bytes([len(value)]) + value
