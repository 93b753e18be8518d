"""What the helper does in NetworkManager: the hub's profiles, wireless interfaces, nothing of the host's."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.helper.fake_networkmanager import (
    DEVICE,
    HOSTS,
    HOSTS_ACTIVE,
    HUBS,
    HUBS_ACTIVE,
    FakeNetworkManager,
)
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.domain.errors import BackendUnavailable, InvalidRequest
from wifimgrd.helper._call_arguments import profile_of
from wifimgrd.helper._networkmanager import (
    _Object,
    activate_profile,
    deactivate_profile,
    delete_profile,
    set_autoconnect,
    set_managed,
)
from wifimgrd.helper._profile import Profile
from wifimgrd.proxies.networkmanager.definitions import NM, NM_DEVICE, NM_PATH, NM_SETTINGS_PATH

LATER = 2**63
UUID = "12345678-9abc-4def-8123-456789abcdef"


OPEN = ("none", "", "02:ca:00:0f:00:77", False)
PROTECTED = ("wpa-psk", "secret-secret", "", False)


def profile(interface: str = "wlan0", network: tuple[str, str, str, bool] = PROTECTED) -> Profile:
    made, *_ = profile_of(interface, 7, b"CAM", *network, DEVICE, UUID, 20, "", LATER)
    return made


@pytest.fixture
async def manager(helper: BusConnection, wlan0: None) -> FakeNetworkManager:
    await helper.request_name(NM)
    return FakeNetworkManager(helper)


async def test_a_profile_is_activated_by_one_call(helper: BusConnection, manager: FakeNetworkManager) -> None:
    assert await activate_profile(helper, profile(), DEVICE, LATER) == (HUBS, HUBS_ACTIVE)
    [(path, member, [settings, device, specific_object, options])] = manager.changed
    assert (path, member) == (NM_PATH, "AddAndActivateConnection2")
    assert (device, specific_object) == (DEVICE, "/")
    assert options == {"persist": "volatile", "bind-activation": "none"}
    assert settings["connection"]["interface-name"] == "wlan0"
    assert settings["user"] == {"data": {"org.wifimgrd.device": "7"}}


async def test_that_of_an_open_network_is_activated_as_it_is(
    helper: BusConnection, manager: FakeNetworkManager
) -> None:
    """NetworkManager would make it one for OWE where the open network has an encrypted twin."""
    assert await activate_profile(helper, profile(network=OPEN), DEVICE, LATER) == (HUBS, HUBS_ACTIVE)
    [(added_at, add, [settings, flags, _]), activated] = manager.changed
    assert (added_at, add, flags) == (NM_SETTINGS_PATH, "AddConnection2", 0x2)
    assert settings["802-11-wireless"]["bssid"] == bytes.fromhex("02ca000f0077")
    assert activated == (NM_PATH, "ActivateConnection", [HUBS, DEVICE, "/"])


async def test_one_that_is_not_activated_is_deleted(
    helper: BusConnection, manager: FakeNetworkManager
) -> None:
    manager.refused = "ActivateConnection"
    with pytest.raises(BusError, match="it is refused"):
        await activate_profile(helper, profile(network=OPEN), DEVICE, LATER)
    assert manager.changed[-1] == (HUBS, "Delete", [])


async def test_a_call_that_nobody_waits_for_any_more_does_nothing(
    helper: BusConnection, manager: FakeNetworkManager
) -> None:
    """As one that the message bus has kept for a helper that did not start."""
    with pytest.raises(BackendUnavailable):
        await activate_profile(helper, profile(), DEVICE, time.monotonic_ns() // 1000 - 1)
    assert not manager.changed


@pytest.mark.parametrize("interface", ["eth0", "wlan9", "", "../net/wlan0"])
async def test_nothing_but_a_wireless_interface_is_changed(
    helper: BusConnection, manager: FakeNetworkManager, interface: str
) -> None:
    for change in (
        activate_profile(helper, profile(interface), DEVICE, LATER),
        set_managed(helper, interface, False),
        set_autoconnect(helper, interface, False),
    ):
        with pytest.raises(InvalidRequest):
            await change
    assert not manager.changed


async def test_the_hubs_profiles_are_taken_down(helper: BusConnection, manager: FakeNetworkManager) -> None:
    await deactivate_profile(helper, HUBS_ACTIVE)
    await delete_profile(helper, HUBS)
    assert manager.changed == [(NM_PATH, "DeactivateConnection", [HUBS_ACTIVE]), (HUBS, "Delete", [])]


async def test_profiles_of_others_are_left_alone(helper: BusConnection, manager: FakeNetworkManager) -> None:
    for change in (deactivate_profile(helper, HOSTS_ACTIVE), delete_profile(helper, HOSTS)):
        with pytest.raises(InvalidRequest, match="not the hub's"):
            await change
    assert not manager.changed


async def test_two_properties_of_an_adapter_are_set(
    helper: BusConnection, manager: FakeNetworkManager
) -> None:
    await set_managed(helper, "wlan0", False)
    await set_autoconnect(helper, "wlan0", True)
    assert manager.changed == [
        (DEVICE, "Set", [NM_DEVICE, "Managed", False]),
        (DEVICE, "Set", [NM_DEVICE, "Autoconnect", True]),
    ]


async def test_a_refusal_is_passed_on_by_its_name(helper: BusConnection, manager: FakeNetworkManager) -> None:
    manager.refusal = NM + ".UnknownDevice"
    with pytest.raises(BusError) as refused:
        await activate_profile(helper, profile(), DEVICE, LATER)
    assert refused.value.name == manager.refusal


async def test_a_networkmanager_that_does_not_answer_is_unavailable(
    helper: BusConnection, manager: FakeNetworkManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Object, "TIMEOUT_S", 0.05)
    manager.hangs = True
    for change in (
        activate_profile(helper, profile(), DEVICE, LATER),
        deactivate_profile(helper, HUBS_ACTIVE),
        delete_profile(helper, HUBS),
        set_managed(helper, "wlan0", True),
    ):
        async with asyncio.timeout(5):
            with pytest.raises(BackendUnavailable):
                await change
