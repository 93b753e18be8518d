"""When the loss of the kernel's carrier is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from wifimgrd.backends.networkmanager import carrier
from wifimgrd.backends.networkmanager.carrier import Carrier
from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, Signal, Watch, Watches
from wifimgrd.proxies.networkmanager import definitions as defs
from wifimgrd.proxies.networkmanager.definitions import InterfaceFlag

UP = 0x1
LOWER_UP = InterfaceFlag.LOWER_UP
PATIENCE_S = 5


@dataclass(eq=False)
class DeviceOnTheBus:
    """A device of NetworkManager's, with its flags."""

    flags: int = UP | LOWER_UP
    watches: list[Watch] = field(default_factory=list)

    async def watch(self, handler: Callable[[Signal], None], **conditions: str) -> Watch:
        self.watches.append(Watch(cast("Watches", self), handler, conditions))
        return self.watches[-1]

    def drop(self, watch: Watch) -> None:
        self.watches.remove(watch)

    async def get(self, *what: str) -> int:
        assert self.watches, "subscribe, then read"
        assert what == (defs.NM, "/device", defs.NM_DEVICE, "InterfaceFlags")
        return self.flags

    def notify(self, **changed: Any) -> None:
        for watch in self.watches:
            watch.handler(Signal(defs.NM, "/device", names.PROPERTIES, "", [defs.NM_DEVICE, changed, []]))


class Recorder:
    """Records whether the loss was reported."""

    def __init__(self, bus: DeviceOnTheBus) -> None:
        self.reported = asyncio.Event()
        self.carrier = Carrier(cast("BusConnection", bus), "/device", self.reported.set)


async def passes_by(recorder: Recorder) -> bool:
    """Whether nothing was reported in the time in which it would be."""
    await asyncio.wait([asyncio.ensure_future(recorder.reported.wait())], timeout=2 * carrier._NOTICE_S)
    return not recorder.reported.is_set()


async def test_a_carrier_that_goes_and_stays_away_is_reported() -> None:
    bus = DeviceOnTheBus()
    recorder = Recorder(bus)
    await recorder.carrier.watch()
    bus.notify(InterfaceFlags=UP)
    assert not recorder.reported.is_set()  # the supplicant may still report it itself
    await asyncio.wait_for(recorder.reported.wait(), PATIENCE_S)


async def test_a_carrier_that_was_away_before_anybody_watched_is_reported() -> None:
    recorder = Recorder(DeviceOnTheBus(UP))
    await recorder.carrier.watch()
    await asyncio.wait_for(recorder.reported.wait(), PATIENCE_S)


async def test_a_carrier_that_is_back_at_once_as_after_roaming_is_not_reported() -> None:
    bus = DeviceOnTheBus()
    recorder = Recorder(bus)
    await recorder.carrier.watch()
    bus.notify(InterfaceFlags=UP)
    bus.notify(InterfaceFlags=UP | LOWER_UP)
    bus.notify(Ip4Connectivity=1)
    assert await passes_by(recorder)


async def test_what_is_dropped_reports_nothing_and_leaves_no_subscription() -> None:
    bus = DeviceOnTheBus()
    recorder = Recorder(bus)
    await recorder.carrier.watch()
    bus.notify(InterfaceFlags=UP)
    recorder.carrier.drop()
    assert await passes_by(recorder)
    assert bus.watches == []
