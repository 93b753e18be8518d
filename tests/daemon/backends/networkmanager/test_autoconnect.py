"""What is logged about an adapter whose settings NetworkManager changes."""

from __future__ import annotations

import pytest
import structlog

from tests.daemon.backends.networkmanager.manager_on_the_bus import NoChanges
from wifimgrd.daemon.backends.networkmanager._autoconnect import AutoconnectBlock
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice
from wifimgrd.proxies.networkmanager.definitions import DeviceState
from wifimgrd.simulator._world import BriefMemory

OWN, RANDOM = "00:E0:4C:01:02:03", "5A:11:22:33:44:55"


def drifts(device: NmDevice, *, held: bool = True, looks: int = 1) -> int:
    """How often a drift was logged."""
    holder = AutoconnectBlock(BriefMemory(), NoChanges())
    if held:
        holder.claim(device.name)
    with structlog.testing.capture_logs() as logs:
        for _ in range(looks):
            holder.check_drift(device)
    return len([log for log in logs if log["event"] == "adapter_drifted"])


def device(address: str, state: DeviceState = DeviceState.DISCONNECTED) -> NmDevice:
    return NmDevice(
        "/1", {"Interface": "wlan0", "State": state}, {"HwAddress": address, "PermHwAddress": OWN}
    )


def test_a_random_address_of_an_idle_adapter_is_reported_once() -> None:
    assert drifts(device(RANDOM), looks=3) == 1


@pytest.mark.parametrize(
    "reported", [device(OWN), device(OWN.lower()), device(""), device(RANDOM, DeviceState.PREPARE)]
)
def test_its_own_address_and_one_that_is_being_changed_are_no_news(reported: NmDevice) -> None:
    assert drifts(reported) == 0


class Switched(NoChanges):
    """Switches autoconnect."""

    def __init__(self) -> None:
        self.to: list[tuple[str, bool]] = []

    async def set_autoconnect(self, interface: str, value: bool) -> None:
        self.to.append((interface, value))


@pytest.mark.parametrize(
    ("mac", "ports"), [(OWN, ("usb-0:1.1", "usb-0:1.2")), ("", ("usb-0:1.1", "usb-0:1.2")), ("", ("", ""))]
)
async def test_adapters_with_one_address_or_none_each_get_their_autoconnect_back(
    mac: str, ports: tuple[str, str]
) -> None:
    memory, switched = BriefMemory(), Switched()
    pair = [
        NmDevice(f"/{name}", {"Interface": name, "Autoconnect": True, "Path": port}, {"PermHwAddress": mac})
        for name, port in zip(("wlan0", "wlan1"), ports, strict=True)
    ]
    block = AutoconnectBlock(memory, switched)
    for one in pair:
        block.claim(one.name)
        await block.apply(one)
    assert switched.to == [("wlan0", False), ("wlan1", False)]
    after_a_crash = AutoconnectBlock(memory, switched)
    for one in pair:
        await after_a_crash.restore(one)
        await after_a_crash.restore(one)
    assert switched.to[2:] == [("wlan0", True), ("wlan1", True)]


async def test_of_an_adapter_that_was_unplugged_nothing_is_kept() -> None:
    memory, switched = BriefMemory(), Switched()
    unplugged = NmDevice("/1", {"Interface": "wlan0", "Autoconnect": True}, {"PermHwAddress": OWN})
    block = AutoconnectBlock(memory, switched)
    block.claim("wlan0")
    await block.apply(unplugged)
    block.forget(unplugged)
    await block.restore(unplugged)
    assert switched.to == [("wlan0", False)]


def test_an_adapter_that_is_not_held_may_have_any_address() -> None:
    assert drifts(device(RANDOM), held=False) == 0


@pytest.mark.parametrize("is_unplugged", [False, True])
async def test_what_0_1_0_has_noted_under_the_address_alone_is_found(is_unplugged: bool) -> None:
    memory, switched = BriefMemory(), Switched()
    memory.note("networkmanager.autoconnect." + OWN.lower(), "yes")
    off = NmDevice(
        "/1", {"Interface": "wlan0", "Autoconnect": False, "Path": "usb-0:1.1"}, {"PermHwAddress": OWN}
    )
    block = AutoconnectBlock(memory, switched)
    if is_unplugged:
        block.forget(off)
    await block.restore(off)
    await block.restore(off)
    assert switched.to == ([] if is_unplugged else [("wlan0", True)])


def test_a_drift_is_reported_again_in_the_next_run_of_networkmanager() -> None:
    block = AutoconnectBlock(BriefMemory(), NoChanges())
    block.claim("wlan0")
    with structlog.testing.capture_logs() as logs:
        block.check_drift(device(RANDOM))
        block.forget_drifts()
        block.check_drift(device(RANDOM))
    assert [log["event"] for log in logs] == ["adapter_drifted"] * 2


@pytest.mark.parametrize("address", [OWN, ""])
async def test_an_adapter_whose_port_is_learned_later_gets_its_autoconnect_back(address: str) -> None:
    memory, switched = BriefMemory(), Switched()
    adapter = NmDevice("/1", {"Interface": "wlan0", "Autoconnect": True}, {"PermHwAddress": address})
    block = AutoconnectBlock(memory, switched)
    block.claim("wlan0")
    await block.apply(adapter)
    adapter.properties["Path"] = "usb-0:1.1"
    adapter.wireless["PermHwAddress"] = OWN
    await block.restore(adapter)
    assert switched.to == [("wlan0", False), ("wlan0", True)]
