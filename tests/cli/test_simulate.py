"""simulate: the simulated world by words, and only there."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.cli.running import wifimgrctl
from tests.processes import Hub
from wifimgrd.cli._arguments import parser
from wifimgrd.cli._commands import simulate
from wifimgrd.cli._screen import Screen
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import NotSupported
from wifimgrd.domain.records import ServiceRecord


async def simulated(hub: Hub, *line: str) -> None:
    """Something that succeeds."""
    ran = await wifimgrctl(hub.address, "simulate", *line)
    assert (ran.status, ran.out, ran.err) == (0, "", "")


async def test_a_camera_is_switched_off_and_on_by_its_network_and_by_its_device(hub: Hub) -> None:
    await hub.until(await hub.create(1, name="Front"), "connected")
    await simulated(hub, "power-off", "SIM-CAM-1")
    await hub.until(1, "connecting")
    await simulated(hub, "power-on", "Front")
    await hub.until(1, "connected")
    await simulated(hub, "power-off", "--cut", "1")
    await hub.until(1, "connecting")


async def test_an_adapter_is_unplugged_and_plugged_in(hub: Hub) -> None:
    await simulated(hub, "unplug", "wlan1")
    await hub.client.wait_until(lambda client: "wlan1" not in client.interfaces, 10)
    await simulated(hub, "plug", "wlan1")
    await hub.client.wait_until(lambda client: "wlan1" in client.interfaces, 10)


async def test_a_camera_goes_to_sleep(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "simulate", "sleep", "SIM-CAM-1")
    assert (ran.status, "SIM-CAM-1" in ran.err) == (1, True)  # it has no Bluetooth
    await simulated(hub, "sleep", "GP25140001")


async def test_faults_have_options_of_each_type_and_end(hub: Hub) -> None:
    await hub.until(await hub.create(1), "connected")
    await simulated(hub, "fault", "signal", "--camera", "SIM-CAM-1", "--percent", "30")
    await hub.client.wait_until(lambda client: client.devices[1].signal_strength == 30, 10)
    await simulated(hub, "fault", "signal", "--camera", "1", "--off")
    await hub.client.wait_until(lambda client: client.devices[1].signal_strength == 70, 10)
    await simulated(hub, "fault", "slow-join", "--seconds", "0.5")
    await simulated(hub, "fault", "radio-trouble", "--camera", "GP25140001", "--connections", "5")
    await simulated(hub, "fault", "dead-firmware", "--interface", "wlan2", "--heals", "power-port")
    await simulated(hub, "fault", "dead-link", "--camera", "1", "--heals", "reset-port")
    await simulated(hub, "fault", "rfkill", "--interface", "wlan2", "--hard")
    await hub.client.wait_until(lambda client: client.interfaces["wlan2"].state == "unavailable", 10)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("fault", "nonsense"), "there are: adapter-stuck, "),
        (("fault", "rfkill"), "interface"),
        (("power-off", "Nobody"), "there is no camera Nobody"),
        (("power-off", "N" * 33), "an SSID has 1 to 32 bytes"),
        (("unplug", "wlan9"), "wlan9"),
    ],
)
async def test_what_is_not_in_the_world_is_refused(hub: Hub, line: tuple[str, ...], said: str) -> None:
    ran = await wifimgrctl(hub.address, "simulate", *line)
    assert (ran.status, ran.out) == (1, "")
    assert said in ran.err
    assert "(invalid-request)" in ran.err


async def test_real_adapters_are_not_simulated() -> None:
    class Real:
        service = ServiceRecord(backend="networkmanager")

    arguments = parser().parse_args(["simulate", "unplug", "wlan1"])
    with pytest.raises(NotSupported, match=r"real adapters \(backend networkmanager\)"):
        await simulate(cast(HubClient, Real()), arguments, cast(Screen, Any))
