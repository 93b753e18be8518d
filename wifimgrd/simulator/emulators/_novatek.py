"""A camera with Novatek's firmware over HTTP: numbered commands, answered in XML.

Facts: Novatek's "NT9666x Wi-Fi Command User Guide"
(https://cdn.shopify.com/s/files/1/0878/4732/files/Survey3-WIFI-Manual.pdf).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from wifimgrd.domain.camera import CameraDriver, StorageState
from wifimgrd.simulator.emulators._camera import Refusal, Refused
from wifimgrd.simulator.emulators._emulators import EmulatedKind
from wifimgrd.simulator.emulators._http import HttpEmulator, Request, Response

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DONE: Final = 0
_FAILED, _WRONG_PARAMETER, _NO_SUCH_COMMAND = -13, -21, -256
_REFUSALS: Final[Mapping[Refusal, int]] = {
    Refusal.CARD_FULL: -11,
    Refusal.CARD_MISSING: -5,
    Refusal.BATTERY: -10,
}
_CARDS: Final[Mapping[StorageState, int]] = {StorageState.MISSING: 0}
_INSERTED: Final = 1
_CHARGES: Final = 5
_STEPS: Final = ((80, 0), (40, 1), (15, 2), (1, 3))
"""From how many percent on, full, middle, low and empty; below, it is exhausted."""
_EXHAUSTED: Final = 4

_Answer = Callable[["NovatekEmulator", str], tuple[int, str]]


class NovatekEmulator(HttpEmulator):
    """Serves a camera as Novatek's firmware does."""

    ports: Final = frozenset({80})

    def _answer(self, request: Request) -> Response:
        command = request.query.get("cmd", "")
        if request.path != "/" or request.query.get("custom") != "1" or not re.fullmatch("[0-9]{4}", command):
            return Response({"error": "not found"}, HTTPStatus.NOT_FOUND)
        answers = _COMMANDS.get(int(command))
        given = request.query.get("par", request.query.get("str", ""))
        result, told = (_NO_SUCH_COMMAND, "") if answers is None else answers(self, given)
        lines = (f"<Cmd>{command}</Cmd>", f"<Status>{result}</Status>", told)
        body = "\n".join(line for line in ("<Function>", *lines, "</Function>") if line)
        return Response(f'<?xml version="1.0" encoding="UTF-8" ?>\n{body}')

    def _record(self, given: str) -> tuple[int, str]:
        try:
            match given:
                case "1":
                    self._camera.start()
                case "0":
                    self._camera.stop()
                case _:
                    return _WRONG_PARAMETER, ""
        except Refused as refused:
            return _REFUSALS.get(refused.refusal, _FAILED), ""
        return _DONE, ""

    def _seconds_left(self, _: str) -> tuple[int, str]:
        return _value(self._camera.seconds_left)

    def _recorded(self, _: str) -> tuple[int, str]:
        return _value(self._camera.counted_s)

    def _set_date(self, given: str) -> tuple[int, str]:
        return self._set(given, "%Y-%m-%d", lambda now, to: datetime.combine(to.date(), now.time(), UTC))

    def _set_time(self, given: str) -> tuple[int, str]:
        return self._set(given, "%H:%M:%S", lambda now, to: datetime.combine(now.date(), to.time(), UTC))

    def _set(
        self, given: str, form: str, change: Callable[[datetime, datetime], datetime]
    ) -> tuple[int, str]:
        """Its clock shows local time, and knows no zone."""
        try:
            to = datetime.strptime(given, form).replace(tzinfo=UTC)
        except ValueError:
            return _WRONG_PARAMETER, ""
        now = _EPOCH + timedelta(seconds=self._camera.clock_s)
        self._camera.set_clock((change(now, to) - _EPOCH).total_seconds(), 0)
        return _DONE, ""

    def _version(self, _: str) -> tuple[int, str]:
        return _DONE, f"<String>{self._camera.settings.firmware_version}</String>"

    def _heartbeat(self, _: str) -> tuple[int, str]:
        return _DONE, ""

    def _free_space(self, _: str) -> tuple[int, str]:
        return _value(self._camera.card_free)

    def _battery(self, _: str) -> tuple[int, str]:
        if self._camera.charging:
            return _value(_CHARGES)
        level = self._camera.battery
        return _value(next((step for least, step in _STEPS if level >= least), _EXHAUSTED))

    def _card(self, _: str) -> tuple[int, str]:
        return _value(_CARDS.get(self._camera.storage, _INSERTED))


def _value(number: int) -> tuple[int, str]:
    return _DONE, f"<Value>{number}</Value>"


_COMMANDS: Final[Mapping[int, _Answer]] = {
    2001: NovatekEmulator._record,
    2009: NovatekEmulator._seconds_left,
    2016: NovatekEmulator._recorded,
    3005: NovatekEmulator._set_date,
    3006: NovatekEmulator._set_time,
    3012: NovatekEmulator._version,
    3016: NovatekEmulator._heartbeat,
    3017: NovatekEmulator._free_space,
    3019: NovatekEmulator._battery,
    3024: NovatekEmulator._card,
}

EMULATED: Final = {CameraDriver.NOVATEK: EmulatedKind(NovatekEmulator, "SJ4000", "", "SJ4000.20151020.V1.0")}
