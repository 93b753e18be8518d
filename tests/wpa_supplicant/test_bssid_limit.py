"""When the supplicant may join another access point than the one that a link was made to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from wifimgrd.dbus.connection import BusConnection, BusError
from wifimgrd.dbus.library import unpack
from wifimgrd.domain.device import DeviceId, Sighting
from wifimgrd.wpa_supplicant.bss import Bss
from wifimgrd.wpa_supplicant.bss_choice import BssChoice
from wifimgrd.wpa_supplicant.bssid_limit import BssidLimit
from wifimgrd.wpa_supplicant.interface import SupplicantInterface

PINNED, OTHER = "02:ca:00:00:00:01", "02:ca:00:00:00:02"


class SupplicantOnTheBus:
    """A supplicant with one configured network, whose changes are kept."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str, dict[str, str]]] = []

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:
        del destination, path, interface
        return {"Networks": ["/network/0"]}[name]

    async def set(
        self, destination: str, path: str, interface: str, name: str, value: Any, **limits: float
    ) -> None:
        del destination, interface, limits
        self.changes.append((path, name, unpack(value)))


def limit_on(bus: SupplicantOnTheBus, bssid: str, choice: BssChoice | None = None) -> BssidLimit:
    supplicant = SupplicantInterface(cast("BusConnection", bus), "/interface")
    return BssidLimit(supplicant, bssid, lambda: choice or BssChoice())


@pytest.mark.parametrize(
    ("bssid", "found", "then"),
    [
        (PINNED, [], PINNED),
        (PINNED, [PINNED], PINNED),
        (PINNED, [OTHER, PINNED], PINNED),
        (PINNED, [OTHER], OTHER),
        ("", [OTHER], OTHER),
    ],
)
async def test_the_limit_follows_where_the_network_is_only_at_another_bssid(
    bssid: str, found: list[str], then: str
) -> None:
    bus = SupplicantOnTheBus()
    limit = limit_on(bus, bssid)
    assert await limit.follow([Bss("/bss", b"CAM", one, 2412, 0) for one in found]) is bool(found)
    assert limit.bssid == then
    assert bus.changes == ([("/network/0", "Properties", {"bssid": then})] if then != bssid else [])


@pytest.mark.parametrize(
    ("others", "in_use"),
    [({}, {OTHER: DeviceId(2)}), ({OTHER: DeviceId(2)}, {})],
    ids=["in use", "another's"],
)
async def test_it_does_not_follow_to_another_devices_camera(
    others: dict[str, DeviceId], in_use: dict[str, DeviceId]
) -> None:
    bus = SupplicantOnTheBus()
    limit = limit_on(bus, PINNED, BssChoice([Sighting(PINNED, 2412)], others, in_use))
    assert not await limit.follow([Bss("/bss", b"CAM", OTHER, 2412, 0)])
    assert (limit.bssid, bus.changes) == (PINNED, [])


async def test_a_limit_that_the_supplicant_does_not_take_is_not_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bus = SupplicantOnTheBus()
    limit = limit_on(bus, PINNED)
    meanwhile: list[str] = []

    async def refuse(*_: object, **__: object) -> None:
        meanwhile.append(limit.bssid)
        raise BusError("org.example.Error", "no")

    monkeypatch.setattr(bus, "set", refuse)
    with pytest.raises(BusError):
        await limit.follow([Bss("/bss", b"CAM", OTHER, 2412, 0)])
    assert meanwhile == [OTHER], "it is in use before that is awaited"
    assert limit.bssid == PINNED
