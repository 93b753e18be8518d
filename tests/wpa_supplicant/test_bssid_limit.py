"""When the supplicant may join another access point than the one that a link was made to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from wifimgrd.dbus.connection import BusConnection
from wifimgrd.dbus.library import unpack
from wifimgrd.wpa_supplicant.bss import Bss
from wifimgrd.wpa_supplicant.bssid_limit import follow_bssid
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


@pytest.mark.parametrize(
    ("bssid", "found", "left"),
    [
        (PINNED, [], PINNED),
        (PINNED, [PINNED], PINNED),
        (PINNED, [OTHER, PINNED], PINNED),
        (PINNED, [OTHER], ""),
        ("", [OTHER], ""),
    ],
)
async def test_the_limit_ends_where_the_network_is_only_at_another_bssid(
    bssid: str, found: list[str], left: str
) -> None:
    bus = SupplicantOnTheBus()
    supplicant = SupplicantInterface(cast("BusConnection", bus), "/interface")
    points = [Bss("/bss", b"CAM", one, 2412, 0) for one in found]
    assert await follow_bssid(supplicant, bssid, points) == left
    ended = [("/network/0", "Properties", {"bssid": "any"})]
    assert bus.changes == (ended if bssid and not left else [])
