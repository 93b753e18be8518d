"""Searches: what is advertised, reported in batches while it is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from wifimgrd.bus.connection import Variant
from wifimgrd.camera._advertisements import Target, is_address, matching_service, parse
from wifimgrd.camera._central import Central
from wifimgrd.domain.errors import BluetoothUnavailable
from wifimgrd.proxies.bluez.definitions import DeviceProperties

Row = Mapping[str, Variant]
_MOST_ADVERTISERS: Final = 256
"""Beside those that are paired: no crowd hides them."""
_MOST_ROWS: Final = 64
"""In one report."""
_OPTIONAL: Final = {"access_point": "b", "pairing_mode": "b", "model_id": "y"}
"""The members of a row that an advertiser may not tell, with their types."""


class Searches:
    """Searches of the daemon's, which share one discovery and one report."""

    def __init__(self, central: Central, report: Callable[[Sequence[Row]], None]) -> None:
        self._central = central
        self._report = report
        self._targets: list[Sequence[Target]] = []
        """Of each search that runs."""
        self._rows: dict[str, Row] = {}
        """By address, of all advertisers that were heard while a search runs."""
        self._unreported: dict[str, Row] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._stop_watching: Callable[[], None] = lambda: None

    async def search(self, duration_s: float, targets: Sequence[Target]) -> None:
        """Report devices that match a target for so long; raises BluetoothUnavailable.

        It ends early for an advertisement, and begins once one that runs has ended.
        """
        loop = asyncio.get_running_loop()
        end_s = loop.time() + duration_s
        services = [target.service for target in targets]
        self._targets.append(targets)
        if len(self._targets) == 1:
            self._stop_watching = self._central.objects.watch_devices(self._heard)
        try:
            limited = services if all(services) and not any(t.matches_name for t in targets) else ()
            async with self._central.radio.discovery(limited, duration_s) as ended:
                await self._wait(ended, end_s - loop.time())
        finally:
            self._targets.remove(targets)
            if not self._targets:
                self._stop_watching()
                self._flush()
                self._rows.clear()

    async def _wait(self, ended: asyncio.Event, duration_s: float) -> None:
        """Wait for the end of a search; raises BluetoothUnavailable if the adapter is switched off."""
        objects = self._central.objects
        await objects.until(lambda: ended.is_set() or objects.powered_adapter() is None, duration_s)
        if objects.powered_adapter() is None:
            raise BluetoothUnavailable(self._central.radio.status.reason)

    def _heard(self, _: str, device: DeviceProperties) -> None:
        address = device.get("Address", "")
        targets = [target for one in self._targets for target in one]
        service = matching_service(targets, device) if is_address(address) else None
        if service is None:
            return
        is_one_too_many = address not in self._rows and len(self._rows) >= _MOST_ADVERTISERS
        if is_one_too_many and not self._central.is_paired(address):
            return
        row = self._row(address, service, device)
        if row == self._rows.get(address):
            return
        self._rows[address] = self._unreported[address] = row
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                self._central.limits.report_s, self._report_due
            )

    def _row(self, address: str, service: str, device: DeviceProperties) -> Row:
        said = parse(device, service)
        row = {
            "address": Variant("s", address),
            "name": Variant("s", said.name),
            "service": Variant("s", service),
            "rssi": Variant("n", max(-127, min(device.get("RSSI", 0), 20))),
            "power_state": Variant("s", said.power_state),
            "serial": Variant("s", said.serial),
            "paired": Variant("b", self._central.is_paired(address)),
        }
        for name, signature in _OPTIONAL.items():
            value: bool | int | None = getattr(said, name)
            if value is not None:
                row[name] = Variant(signature, value)
        return row

    def _report_due(self) -> None:
        self._timer = None
        rows = [self._unreported.pop(address) for address in list(self._unreported)[:_MOST_ROWS]]
        if rows:
            self._report(rows)
        if self._unreported:
            self._timer = asyncio.get_running_loop().call_later(
                self._central.limits.report_s, self._report_due
            )

    def _flush(self) -> None:
        """Report the rest: the end of the last search must not lose what it has heard."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        rows = list(self._unreported.values())
        self._unreported.clear()
        for begin in range(0, len(rows), _MOST_ROWS):
            self._report(rows[begin : begin + _MOST_ROWS])
