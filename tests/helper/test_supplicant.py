"""What the helper does in wpa_supplicant: nothing that it passes is more than typed arguments."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.helper.fake_supplicant import NETWORKS, PATH, FakeSupplicant
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.domain.errors import BackendUnavailable, InvalidRequest
from wifimgrd.helper._call_arguments import bssid_of, country_of, network_of
from wifimgrd.helper._supplicant import RegisteredInterfaces, _Object, register_interface
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.proxies.wpa_supplicant.definitions import (
    WPAS,
    WPAS_INTERFACE,
    WPAS_INTERFACE_EXISTS,
    WPAS_UNKNOWN_ERROR,
)

BSSID = "02:ca:00:00:00:01"
KEY = "0123456789abcdef" * 4


@pytest.fixture
async def supplicant(helper: BusConnection, wlan0: None) -> FakeSupplicant:
    await helper.request_name(WPAS)
    return FakeSupplicant(helper)


async def test_an_interface_is_registered_by_its_name_and_set_up_as_networkmanager_does_it(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    assert await register_interface(helper, "wlan0") == PATH
    assert supplicant.given == [
        ("CreateInterface", [{"Ifname": "wlan0", "Driver": "nl80211"}]),
        ("Set", [WPAS_INTERFACE, "SaePwe", "2"]),
        ("Set", [WPAS_INTERFACE, "Dot11RSNAConfigPMKLifetime", "604800"]),
    ]


async def test_an_older_wpa_supplicant_that_lacks_a_setting_is_used_without_it(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    supplicant.unknown = {"SaePwe"}
    with capture_logs() as logs:
        assert await register_interface(helper, "wlan0") == PATH
    assert [(log["event"], log["setting"]) for log in logs] == [("setting_not_made", "SaePwe")]
    assert supplicant.given[-1] == ("Set", [WPAS_INTERFACE, "Dot11RSNAConfigPMKLifetime", "604800"])


@pytest.mark.parametrize("interface", ["eth0", "wlan9", "", "../net/wlan0"])
async def test_nothing_but_a_wireless_interface_is_registered(
    helper: BusConnection, supplicant: FakeSupplicant, interface: str
) -> None:
    with pytest.raises(InvalidRequest):
        await register_interface(helper, interface)
    assert not supplicant.given


async def test_a_refusal_is_passed_on_by_its_name(helper: BusConnection, supplicant: FakeSupplicant) -> None:
    supplicant.refusal = WPAS_INTERFACE_EXISTS
    with pytest.raises(BusError) as refused:
        await register_interface(helper, "wlan0")
    assert refused.value.name == WPAS_INTERFACE_EXISTS


@pytest.mark.parametrize(("failures", "calls"), [(1, 2), (2, 3)])
async def test_a_registration_that_fails_is_repeated(
    helper: BusConnection, supplicant: FakeSupplicant, failures: int, calls: int
) -> None:
    supplicant.refusal, supplicant.refused_times = WPAS_UNKNOWN_ERROR, failures
    assert await register_interface(helper, "wlan0") == PATH
    assert [member for member, _ in supplicant.given].count("CreateInterface") == calls


async def test_an_interface_that_wpa_supplicant_cannot_use_is_refused(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    supplicant.refusal = WPAS_UNKNOWN_ERROR
    with pytest.raises(BusError) as refused:
        await register_interface(helper, "wlan0")
    assert refused.value.name == WPAS_UNKNOWN_ERROR
    assert len(supplicant.given) == 3


async def test_a_wpa_supplicant_that_does_not_answer_is_unavailable(
    helper: BusConnection, supplicant: FakeSupplicant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Object, "TIMEOUT_S", 0.05)
    supplicant.hangs = True
    with pytest.raises(BackendUnavailable):
        await register_interface(helper, "wlan0")


async def test_a_network_is_added_where_the_interface_is_registered(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    network = network_of(7, b"CAM", "wpa-psk", "secret-secret", BSSID, False)
    assert await RegisteredInterfaces(helper).add_network("wlan0", network) == NETWORKS[0]
    (asked, name), (added, [settings]) = supplicant.given
    assert (asked, name, added) == ("GetInterface", ["wlan0"], "AddNetwork")
    assert settings == {
        "ssid": b"CAM",
        "id_str": "wifimgrd:7",
        "mac_addr": 0,
        "key_mgmt": "WPA-PSK WPA-PSK-SHA256 SAE",
        "ieee80211w": 1,
        "psk": "secret-secret",
        "bssid": BSSID,
    }


async def test_an_interface_is_looked_up_once(helper: BusConnection, supplicant: FakeSupplicant) -> None:
    interfaces = RegisteredInterfaces(helper)
    for country in ("DE", "FR"):
        await interfaces.set_country("wlan0", country)
    assert [member for member, _ in supplicant.given] == ["GetInterface", "Set", "Set"]


@pytest.mark.parametrize("error", ["UnknownMethod", "UnknownObject", "NameHasNoOwner", "ServiceUnknown"])
async def test_one_that_has_gone_is_looked_up_again(
    helper: BusConnection, supplicant: FakeSupplicant, error: str
) -> None:
    interfaces = RegisteredInterfaces(helper)
    await interfaces.set_country("wlan0", "DE")
    supplicant.given.clear()
    supplicant.refusal, supplicant.refused_times = f"org.freedesktop.DBus.Error.{error}", 1
    await interfaces.set_country("wlan0", "FR")
    assert [member for member, _ in supplicant.given] == ["Set", "GetInterface", "Set"]


async def test_one_that_is_refused_is_not_asked_twice(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    interfaces = RegisteredInterfaces(helper)
    await interfaces.set_country("wlan0", "DE")
    supplicant.given.clear()
    supplicant.refusal = WPAS_UNKNOWN_ERROR
    with pytest.raises(BusError):
        await interfaces.set_country("wlan0", "FR")
    assert [member for member, _ in supplicant.given] == ["Set"]


async def test_another_run_of_wpa_supplicant_is_not_given_the_object_path_of_the_one_before(
    message_bus: MessageBusDaemon, wlan0: None
) -> None:
    """There, it may be the interface of another adapter."""
    helper, first, second = [await BusConnection.open(message_bus.address) for _ in range(3)]
    try:
        interfaces = RegisteredInterfaces(helper)
        await first.request_name(WPAS)
        FakeSupplicant(first)
        await interfaces.set_country("wlan0", "DE")
        await first.close()
        await second.request_name(WPAS)
        after = FakeSupplicant(second)
        await interfaces.set_country("wlan0", "FR")
    finally:
        for connection in (helper, first, second):
            await connection.close()
    assert [member for member, _ in after.given] == ["GetInterface", "Set"]


async def test_networks_are_limited_and_the_country_is_set(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    interfaces = RegisteredInterfaces(helper)
    await interfaces.limit_networks("wlan0", BSSID)
    await interfaces.set_country("wlan0", "DE")
    set_to = [body[1:] for member, body in supplicant.given if member == "Set"]
    assert set_to == [["Properties", {"bssid": BSSID}]] * 2 + [["Country", "DE"]]


async def test_nothing_is_changed_on_an_interface_that_is_not_wireless(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    network = network_of(7, b"CAM", "none", "", "", False)
    interfaces = RegisteredInterfaces(helper)
    for change in (
        interfaces.add_network("eth0", network),
        interfaces.limit_networks("eth0", BSSID),
        interfaces.set_country("eth0", "DE"),
    ):
        with pytest.raises(InvalidRequest):
            await change
    assert not supplicant.given


@pytest.mark.parametrize(
    "arguments",
    [
        (0, b"CAM", "none", "", "", False),
        (7, b"", "none", "", "", False),
        (7, bytes(33), "none", "", "", False),
        (7, b"CAM", "WPA-EAP", "", "", False),
        (7, b"CAM", "", "", "", False),
        (7, b"CAM", "none", "secret-secret", "", False),
        (7, b"CAM", "owe", "secret-secret", "", False),
        (7, b"CAM", "wpa-psk", "", "", False),
        (7, b"CAM", "wpa-psk", "secret-secret\n", "", False),
        (7, b"CAM", "wpa-psk", "secret", "", False),
        (7, b"CAM", "sae", "s" * 65, "", False),
        (7, b"CAM", "sae", "sécret-secret", "", False),
        (7, b"CAM", "none", "", "any", False),
        (7, b"CAM", "none", "", BSSID + "\n", False),
    ],
)
def test_arguments_that_are_no_network_are_refused_without_the_password(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        network_of(*arguments)
    assert "cret" not in refused.value.message


@pytest.mark.parametrize("country", ["", "de", "DEU", "D\n", "00"])
def test_a_country_has_two_letters(country: str) -> None:
    with pytest.raises(InvalidRequest):
        country_of(country)


@pytest.mark.parametrize("bssid", ["", "any", "02:CA:00:00:00:01"])
def test_a_limit_is_one_bssid(bssid: str) -> None:
    with pytest.raises(InvalidRequest):
        bssid_of(bssid)


def test_the_password_of_a_network_is_not_printed() -> None:
    assert "secret" not in repr(network_of(7, b"CAM", "sae", "secret-secret", "", False))


# -- the settings of a network


def settings(
    key_management: KeyManagement, passphrase: str, *, hidden: bool = False, bssid: str = ""
) -> dict[str, Any]:
    ssid = b'a "b" \xff'
    made = network_of(7, ssid, key_management.value, passphrase, bssid, hidden).settings
    return {name: value.value for name, value in made.items()}


def test_a_network_bears_the_device_and_the_permanent_address() -> None:
    made = settings(KeyManagement.NONE, "")
    assert made == {
        "ssid": b'a "b" \xff',
        "id_str": "wifimgrd:7",
        "mac_addr": 0,
        "key_mgmt": "NONE",
    }


def test_a_passphrase_is_for_wpa2_and_for_sae_where_both_are_offered() -> None:
    made = settings(KeyManagement.PSK, 'quo"te pass')
    assert (made["key_mgmt"], made["psk"]) == ("WPA-PSK WPA-PSK-SHA256 SAE", 'quo"te pass')
    assert made["ieee80211w"] == 1


def test_sae_alone_protects_management_frames() -> None:
    made = settings(KeyManagement.SAE, "secret-secret")
    assert (made["key_mgmt"], made["sae_password"], made["ieee80211w"]) == ("SAE", "secret-secret", 2)
    assert "psk" not in made


def test_owe_encrypts_without_a_password_and_protects_management_frames() -> None:
    made = settings(KeyManagement.OWE, "")
    assert (made["key_mgmt"], made["ieee80211w"]) == ("OWE", 2)
    assert not {"psk", "sae_password"} & made.keys()


def test_a_key_of_64_digits_is_the_key_itself() -> None:
    assert settings(KeyManagement.PSK, KEY)["psk"] == bytes.fromhex(KEY)


def test_a_hidden_network_is_probed_for_and_a_bssid_is_the_only_one() -> None:
    made = settings(KeyManagement.NONE, "", hidden=True, bssid="02:ca:00:00:00:01")
    assert (made["scan_ssid"], made["bssid"]) == (1, "02:ca:00:00:00:01")


def test_there_is_no_background_scan() -> None:
    assert "bgscan" not in settings(KeyManagement.PSK, "secret-secret", bssid="02:ca:00:00:00:01")
