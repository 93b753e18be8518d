"""What is read of the supplicant's list, and in how many rounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import pytest

from tests.proxies.wpa_supplicant.list_on_the_bus import ListOnTheBus
from wifimgrd.bus.connection import BusConnection, Signal, Watch, Watches
from wifimgrd.domain.device import Ssid
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

OURS = Ssid(b"CAM")


async def met(bus: ListOnTheBus, names: dict[str, bytes]) -> list[str]:
    supplicant = SupplicantInterface(cast("BusConnection", bus), "/if", names)
    return [point.path for point in await supplicant.networks(OURS)]


async def test_an_access_point_that_was_met_before_is_read_together_with_the_list() -> None:
    bus, names = ListOnTheBus(a=b"CAM"), dict[str, bytes]()
    assert await met(bus, names) == ["a"]
    assert (bus.rounds, names) == (2, {"a": b"CAM"})
    assert await met(bus, names) == ["a"]
    assert bus.rounds == 3


async def test_a_name_that_is_another_networks_by_now_is_read_anew() -> None:
    names = {"a": b"CAM", "b": b"other"}
    assert await met(ListOnTheBus(a=b"other", b=b"CAM"), names) == ["b"]
    assert names == {"b": b"CAM"}


async def test_an_access_point_that_is_gone_is_forgotten() -> None:
    names = {"gone": b"CAM"}
    assert await met(ListOnTheBus(), names) == []
    assert names == {}


async def test_of_many_the_names_alone_are_read() -> None:
    bus = ListOnTheBus(**{f"n{number}": b"other" for number in range(9)}, ours=b"CAM")
    assert await met(bus, {}) == ["ours"]
    assert bus.rounds == 3
    assert await met(bus, {"ours": b"CAM"}) == ["ours"]
    assert bus.rounds == 5


async def test_the_last_state_is_known_to_who_comes_later() -> None:
    bus = Subscriptions(grants_all=True)
    supplicant = SupplicantInterface(cast("BusConnection", bus), "/if")
    await supplicant.subscribe()
    [changes] = [one for one in bus.granted if one.conditions["member"] == "PropertiesChanged"]
    for changed in ({"State": "disconnected"}, {"Scanning": False}):
        changes.handler(Signal("", "", "", "", ["", changed, []]))
    assert supplicant.last_state == "disconnected"


@pytest.mark.parametrize(("age_s", "received"), [(1, ["a"]), (3, [])])
async def test_a_scan_result_that_is_reported_late_is_one_of_the_scan(
    age_s: int, received: list[str]
) -> None:
    bus = ListOnTheBus(a=b"CAM")
    bus.age_s = age_s
    supplicant = SupplicantInterface(cast("BusConnection", bus), "/if")
    supplicant.scan_started = asyncio.get_running_loop().time() - 0.5
    assert [point.path for point in await supplicant.seen_in_scan(OURS)] == received


@dataclass(eq=False)
class Subscriptions:
    """Those that the bus has granted and that were not ended; unless it grants all, it never answers for
    ScanDone."""

    grants_all: bool = False
    granted: list[Watch] = field(default_factory=list)

    async def watch(self, handler: Callable[[Signal], None], **conditions: str) -> Watch:
        if conditions["member"] == "ScanDone" and not self.grants_all:
            await asyncio.Event().wait()
        self.granted.append(Watch(cast("Watches", self), handler, conditions))
        return self.granted[-1]

    def drop(self, watch: Watch) -> None:
        self.granted.remove(watch)


async def test_a_subscription_that_was_granted_is_ended_also_where_the_wait_for_another_was_given_up() -> (
    None
):
    bus = Subscriptions()
    supplicant = SupplicantInterface(cast("BusConnection", bus), "/if")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(supplicant.subscribe(), 0.01)
    supplicant.close()
    assert bus.granted == []
