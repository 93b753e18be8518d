"""What the command line says of an adapter that may not work."""

from __future__ import annotations

import io
import re

import pytest

from tests.cli.running import wifimgrctl
from tests.processes import Hub
from wifimgrd.bus.connection import Variant
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._views import interfaces_view
from wifimgrd.domain.records import InterfaceRecord


@pytest.mark.parametrize(
    ("health", "reason", "details"),
    [
        ("suspect", "joins fail since 16:36", "Being checked: joins fail since 16:36"),
        ("good", None, ""),
        (None, None, ""),
        ("of a later version", "it hums", ""),
    ],
)
def test_a_suspicion_is_told_in_words(health: str | None, reason: str | None, details: str) -> None:
    screen = Screen(json=False, out=io.StringIO(), err=io.StringIO())
    interface = InterfaceRecord("wlan0", health=health, health_reason=reason)
    _, row = interfaces_view([interface], {}, screen)
    assert row.startswith("wlan0    available")
    assert ("Being checked" in row) == bool(details)
    assert row.rstrip().endswith(details)


async def test_a_stuck_adapter_does_not_look_free(hub: Hub) -> None:
    stuck = {"interface": Variant("s", "wlan0"), "heals": Variant("s", "restart")}
    await hub.client.simulate("SetFault", "sa{sv}", "adapter-stuck", stuck)
    device_id = await hub.create(1)
    await hub.client.wait_until(lambda client: client.interfaces["wlan0"].health == "suspect", 20)
    shown = (await wifimgrctl(hub.address, "interfaces")).out
    assert re.search("wlan0    available .*  Being checked: joins fail since [0-9]{2}:[0-9]{2}", shown)
    told = hub.client.devices[device_id].connection_error_message
    assert told == (
        'wlan0 did not find the network "SIM-CAM-1", wlan1 does: the adapter wlan0 is being checked'
    )
    [wlan0, *others] = (await wifimgrctl(hub.address, "interfaces", "--json")).value["interfaces"]
    assert wlan0["health"] == "suspect"
    assert wlan0["health_reason"].startswith("joins fail since ")
    assert {one["health_reason"] for one in others} == {None}
