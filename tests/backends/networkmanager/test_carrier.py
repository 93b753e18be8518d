"""When the kernel's word on an association is passed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from wifimgrd.backends.networkmanager import carrier, defs
from wifimgrd.backends.networkmanager.carrier import Carrier
from wifimgrd.backends.networkmanager.defs import InterfaceFlag
from wifimgrd.dbus.bus import BusConnection, Signal, Watch
from wifimgrd.dbus.watches import Watches

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

    def tell(self, **changed: Any) -> None:
        for watch in self.watches:
            watch.handler(Signal(defs.NM, "/device", defs.PROPERTIES, "", [defs.NM_DEVICE, changed, []]))


class Witness:
    """Keeps when the loss was told."""

    def __init__(self, bus: DeviceOnTheBus) -> None:
        self.told = asyncio.Event()
        self.carrier = Carrier(cast("BusConnection", bus), "/device", self.told.set)


async def passes_by(witness: Witness) -> bool:
    """Whether nothing was told in the time in which it would be."""
    await asyncio.wait([asyncio.ensure_future(witness.told.wait())], timeout=2 * carrier._NOTICE_S)
    return not witness.told.is_set()


async def test_a_carrier_that_goes_and_stays_away_is_told() -> None:
    bus = DeviceOnTheBus()
    witness = Witness(bus)
    await witness.carrier.watch()
    bus.tell(InterfaceFlags=UP)
    assert not witness.told.is_set()  # the supplicant has a moment to say so itself
    await asyncio.wait_for(witness.told.wait(), PATIENCE_S)


async def test_a_carrier_that_was_away_before_anybody_watched_is_told() -> None:
    witness = Witness(DeviceOnTheBus(UP))
    await witness.carrier.watch()
    await asyncio.wait_for(witness.told.wait(), PATIENCE_S)


async def test_a_carrier_that_is_back_at_once_as_after_roaming_is_not_told() -> None:
    bus = DeviceOnTheBus()
    witness = Witness(bus)
    await witness.carrier.watch()
    bus.tell(InterfaceFlags=UP)
    bus.tell(InterfaceFlags=UP | LOWER_UP)
    bus.tell(Ip4Connectivity=1)
    assert await passes_by(witness)


async def test_what_is_dropped_tells_nothing_and_leaves_no_subscription() -> None:
    bus = DeviceOnTheBus()
    witness = Witness(bus)
    await witness.carrier.watch()
    bus.tell(InterfaceFlags=UP)
    witness.carrier.drop()
    assert await passes_by(witness)
    assert bus.watches == []
