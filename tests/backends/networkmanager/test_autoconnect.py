"""What is logged about an adapter whose settings NetworkManager changes."""

from __future__ import annotations

import pytest
import structlog

from tests.backends.networkmanager.manager_on_the_bus import NoChanges
from wifimgrd.backends.networkmanager._autoconnect import AutoconnectBlock
from wifimgrd.backends.networkmanager._devices import NmDevice
from wifimgrd.backends.simulated._world import BriefMemory
from wifimgrd.proxies.networkmanager.definitions import DeviceState

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


def test_an_adapter_that_is_not_held_may_have_any_address() -> None:
    assert drifts(device(RANDOM), held=False) == 0
