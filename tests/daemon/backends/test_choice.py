"""Which backend `[backend] name = "auto"` is on a host, and why; the services are scripted on a real bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, MethodCall, Variant
from wifimgrd.daemon.backends.choice import choose_backend
from wifimgrd.proxies.networkd.definitions import SYSTEMD1
from wifimgrd.proxies.networkmanager.definitions import NM, NM_PATH, DeviceState, DeviceType


@dataclass
class Host:
    """systemd and NetworkManager, as far as they are there."""

    bus: str
    client: BusConnection
    services: list[BusConnection] = field(default_factory=list)
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    """NetworkManager's, by object path."""
    reads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    """One for each time that NetworkManager's own properties were read."""

    async def systemd(self, state: str) -> None:
        """Have a systemd that answers this about NetworkManager's unit; empty: there is no such unit."""
        service = await BusConnection.open(self.bus)
        self.services.append(service)

        def called(call: MethodCall) -> None:
            assert (call.member, call.body) == ("GetUnitFileState", ["NetworkManager.service"])
            if state:
                service.reply(call, "s", [state])
            else:
                service.reply_error(call, "org.freedesktop.DBus.Error.FileNotFound", "No such file")

        service.serve(called)
        await service.request_name(SYSTEMD1)

    async def networkmanager(self, *states: int, startup: bool = False) -> BusConnection:
        """Have a NetworkManager with Wi-Fi devices in these states, and a wired one."""
        service = await BusConnection.open(self.bus)
        self.services.append(service)
        kinds = [(DeviceType.WIFI, state) for state in states] + [(1, DeviceState.ACTIVATED)]
        for number, (kind, state) in enumerate(kinds):
            self.properties[f"/device{number}"] = {
                "DeviceType": Variant("u", kind),
                "State": Variant("u", state),
            }
        devices = Variant("ao", list(self.properties))
        self.properties[NM_PATH] = {"Devices": devices, "Startup": Variant("b", startup)}

        def called(call: MethodCall) -> None:
            service.reply(call, "a{sv}", [self.properties[call.path]])
            if call.path == NM_PATH:
                self.reads.release()

        service.serve(called)
        await service.request_name(NM)
        return service


@pytest.fixture
async def host(message_bus: MessageBusDaemon) -> AsyncIterator[Host]:
    host = Host(message_bus.address, await BusConnection.open(message_bus.address))
    yield host
    for connection in (*host.services, host.client):
        await connection.close()


@pytest.mark.parametrize("state", ["enabled", "static", "enabled-runtime"])
async def test_networkmanager_that_is_enabled_is_used(host: Host, state: str) -> None:
    await host.systemd(state)
    choice = await choose_backend(host.client)
    assert (choice.name, choice.reason) == ("networkmanager", "NetworkManager is enabled")


@pytest.mark.parametrize("state", ["disabled", "masked", "masked-runtime"])
async def test_networkmanager_that_is_not_enabled_is_not_used(host: Host, state: str) -> None:
    await host.systemd(state)
    choice = await choose_backend(host.client)
    assert (choice.name, choice.reason) == ("wpa_supplicant", f"NetworkManager is {state}")


async def test_a_host_without_networkmanager_gets_wpa_supplicant(host: Host) -> None:
    await host.systemd("")
    choice = await choose_backend(host.client)
    assert (choice.name, choice.reason) == ("wpa_supplicant", "NetworkManager is not installed")


async def test_a_host_without_systemd_waits_for_networkmanager(host: Host) -> None:
    assert (await choose_backend(host.client)).name == "networkmanager"


@pytest.mark.parametrize(
    "states", [(), (DeviceState.DISCONNECTED,), (DeviceState.UNMANAGED, DeviceState.UNAVAILABLE)]
)
async def test_networkmanager_that_runs_is_used_though_it_is_disabled(
    host: Host, states: tuple[int, ...]
) -> None:
    await host.systemd("disabled")
    await host.networkmanager(*states)
    choice = await choose_backend(host.client)
    assert (choice.name, choice.reason) == ("networkmanager", "NetworkManager is running")


async def test_networkmanager_that_leaves_all_adapters_alone_is_not_used(host: Host) -> None:
    await host.networkmanager(DeviceState.UNMANAGED, DeviceState.UNMANAGED)
    choice = await choose_backend(host.client)
    assert choice.name == "wpa_supplicant"
    assert "unmanaged" in choice.reason


async def test_networkmanager_that_is_starting_is_waited_for(host: Host) -> None:
    service = await host.networkmanager(DeviceState.UNMANAGED, startup=True)
    choosing = asyncio.create_task(choose_backend(host.client))
    await host.reads.acquire()
    host.properties["/device0"]["State"] = Variant("u", DeviceState.DISCONNECTED)
    service.emit(
        NM_PATH, names.PROPERTIES, "PropertiesChanged", "sa{sv}as", [NM, {"Startup": Variant("b", False)}, []]
    )
    assert (await choosing).name == "networkmanager"
