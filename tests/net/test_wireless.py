"""The helper registers wireless interfaces with wpa_supplicant, and passes nothing but their names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.dbus.connection import BusConnection, BusError, MethodCall
from wifimgrd.domain.errors import BackendUnavailable, InvalidRequest
from wifimgrd.net import interfaces, wireless
from wifimgrd.net.wireless import register_interface
from wifimgrd.wpa_supplicant.definitions import WPAS, WPAS_INTERFACE_EXISTS

PATH = "/fi/w1/wpa_supplicant1/Interfaces/3"


class FakeSupplicant:
    """wpa_supplicant on a bus, which may refuse or hang."""

    def __init__(self, connection: BusConnection) -> None:
        self.connection = connection
        self.given: list[tuple[str, Any]] = []
        self.refusal = ""
        self.hangs = False
        connection.serve(self._called)

    def _called(self, call: MethodCall) -> None:
        self.given.append((call.member, call.body))
        if self.refusal:
            self.connection.reply_error(call, self.refusal, "it is refused")
        elif not self.hangs:
            self.connection.reply(call, "o", [PATH])


@pytest.fixture
async def helper() -> AsyncIterator[BusConnection]:
    with MessageBusDaemon.start() as bus:
        connection = await BusConnection.open(bus.address)
        yield connection
        await connection.close()


@pytest.fixture
async def supplicant(
    helper: BusConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> FakeSupplicant:
    (tmp_path / "wlan0" / "phy80211").mkdir(parents=True)
    (tmp_path / "eth0").mkdir()
    monkeypatch.setattr(interfaces, "_INTERFACES", tmp_path)
    await helper.request_name(WPAS)
    return FakeSupplicant(helper)


async def test_an_interface_is_registered_by_its_name_alone(
    helper: BusConnection, supplicant: FakeSupplicant
) -> None:
    assert await register_interface(helper, "wlan0") == PATH
    assert supplicant.given == [("CreateInterface", [{"Ifname": "wlan0", "Driver": "nl80211"}])]


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


async def test_a_wpa_supplicant_that_does_not_answer_is_unavailable(
    helper: BusConnection, supplicant: FakeSupplicant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wireless, "_ANSWER_S", 0.05)
    supplicant.hangs = True
    with pytest.raises(BackendUnavailable):
        await register_interface(helper, "wlan0")
