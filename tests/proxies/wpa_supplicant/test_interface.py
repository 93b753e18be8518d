"""What is read of the supplicant's list, and in how many rounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from wifimgrd.bus.connection import BusConnection, BusError, Signal, Watch, Watches
from wifimgrd.domain.device import DeviceId, Ssid
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.bss_choice import BssChoice
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

OURS = Ssid(b"CAM")


class ListOnTheBus:
    """Replies in rounds: calls that are made together are answered together."""

    def __init__(self, **listed: bytes) -> None:
        self.listed = listed
        self.rounds = 0
        self.age_s = 0
        self._answering: asyncio.Future[None] | None = None

    async def _round(self) -> None:
        if self._answering is None or self._answering.done():
            self.rounds += 1
            self._answering = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(0.01, self._answering.set_result, None)
        await self._answering

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:
        del destination, interface
        await self._round()
        return list(self.listed) if name == "BSSs" else self.listed[path]

    async def get_all(self, destination: str, path: str, interface: str) -> dict[str, Any]:
        del destination, interface
        await self._round()
        if path not in self.listed:
            raise BusError("org.freedesktop.DBus.Error.UnknownObject", path)
        return {"SSID": self.listed[path], "BSSID": b"\2\0\0\0\0\1", "Frequency": 2412, "Age": self.age_s}


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
    """Those that the bus has granted and that were not ended; it never answers for ScanDone."""

    granted: list[Watch] = field(default_factory=list)

    async def watch(self, handler: Callable[[Signal], None], **conditions: str) -> Watch:
        if conditions["member"] == "ScanDone":
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


class ScansOfTheNetwork:
    """What a scan of each of these channels finds; () are all."""

    def __init__(self, **found: str) -> None:
        self.found = found
        self.searched: list[tuple[int, ...]] = []

    async def find_bss(self, ssid: Ssid, channels: tuple[int, ...]) -> list[Bss]:
        assert ssid == OURS
        self.searched.append(channels)
        names = self.found["known" if channels else "all"]
        return [Bss("/bss", b"CAM", name, 2412, 0) for name in names]


@pytest.mark.parametrize(
    ("known", "searched", "found"),
    [
        ("a", [(2412,)], ["a"]),
        ("b", [(2412,), ()], ["b", "a"]),
        ("c", [(2412,), ()], ["c", "b", "a"]),
        ("", [(2412,), ()], ["b", "a"]),
    ],
)
async def test_all_channels_are_scanned_where_the_known_ones_have_other_devices_cameras_alone(
    monkeypatch: pytest.MonkeyPatch, known: str, searched: list[tuple[int, ...]], found: list[str]
) -> None:
    scans = ScansOfTheNetwork(known=known, all="ba")
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus()), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    choice = BssChoice(in_use={"b": DeviceId(2)}, others={"c": DeviceId(3)})
    points = await supplicant.scan_for(OURS, lambda: choice, [2412])
    assert [point.bssid for point in points] == found
    assert scans.searched == searched


@pytest.mark.parametrize(("in_use", "searched"), [({}, []), ({"02:00:00:00:00:01": DeviceId(2)}, [(2412,)])])
async def test_a_fresh_scan_result_is_not_enough_where_it_is_another_devices_camera(
    monkeypatch: pytest.MonkeyPatch, in_use: dict[str, DeviceId], searched: list[tuple[int, ...]]
) -> None:
    scans = ScansOfTheNetwork(known="a", all="a")
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus(a=b"CAM")), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    monkeypatch.setattr(supplicant, "subscribe", lambda: asyncio.sleep(0))
    await supplicant.locate(OURS, lambda: BssChoice(in_use=in_use), frozenset())
    assert scans.searched == searched


async def test_a_camera_that_another_device_joins_during_the_scan_is_not_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_use: dict[str, DeviceId] = {}

    class Taken(ScansOfTheNetwork):
        async def find_bss(self, ssid: Ssid, channels: tuple[int, ...]) -> list[Bss]:
            in_use["b"] = DeviceId(2)
            return await super().find_bss(ssid, channels)

    scans = Taken(known="b", all="ba")
    supplicant = SupplicantInterface(cast("BusConnection", ListOnTheBus()), "/if")
    monkeypatch.setattr(supplicant, "find_bss", scans.find_bss)
    points = await supplicant.scan_for(OURS, lambda: BssChoice(in_use=in_use), [2412])
    assert [point.bssid for point in points] == ["b", "a"]
