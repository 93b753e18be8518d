"""Which other program uses an interface, with the services on a message bus of their own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.daemon.backends.wpa_supplicant.services_on_the_bus import Host
from tests.message_bus import match_rules
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.supplicant.country import Country
from wifimgrd.daemon.backends.supplicant.lease_check import LeaseCheck
from wifimgrd.daemon.backends.wpa_supplicant import _inventory as inventory
from wifimgrd.daemon.backends.wpa_supplicant._adoption import adopt
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._registration import Registrations
from wifimgrd.daemon.backends.wpa_supplicant._services import Services
from wifimgrd.domain.errors import AddressFailed, BackendUnavailable, InterfaceLost
from wifimgrd.proxies.networkd.definitions import NETWORK1
from wifimgrd.proxies.networkd.link_file import other_configuration
from wifimgrd.proxies.networkmanager.definitions import NM
from wifimgrd.proxies.wpa_supplicant.definitions import IWD, WPAS
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._world import BriefMemory
from wifimgrd.wire.errors import NAME_OF

WLAN0 = WifiInterface(3, "wlan0")
UNIT = "wpa_supplicant@wlan0.service"
BY_NETWORKMANAGER = "NetworkManager has registered it with wpa_supplicant"
BY_ANOTHER_PROGRAM = "another program has registered it with wpa_supplicant"
BY_IWD = "iwd manages the Wi-Fi adapters; `systemctl disable --now iwd`, and plug them in again"


@asynccontextmanager
async def watched(host: Host, refusal: BusError | None = None) -> AsyncIterator[Services]:
    """The services, once wpa_supplicant was found; `refusal` is what the helper replies about networkd."""
    connection = await BusConnection.open(host.bus)

    async def no_link(*arguments: str) -> None:
        raise refusal or AssertionError(arguments)

    async def no_network(*arguments: object) -> str:
        raise AssertionError(arguments)

    services = Services(
        connection,
        host,
        Registrations(BriefMemory(), host.register),
        no_network,
        no_link,
        no_link,
        no_link,
        Country(),
    )
    watching = asyncio.create_task(services.watch())
    try:
        async with asyncio.timeout(30):
            await host.found.wait()
            yield services
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        await services.close()
        await connection.close()


async def test_a_wpa_supplicant_that_goes_while_links_are_adopted_is_started_again(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, finds = asyncio.Event(), 0

    async def found() -> None:
        nonlocal finds
        finds += 1
        if finds == 1:
            await host.end(WPAS)
            await gone.wait()
            await host.start(WPAS)
            raise BackendUnavailable("wpa_supplicant is not running")
        host.found.set()

    monkeypatch.setattr(host, "supplicant_lost", gone.set)
    monkeypatch.setattr(host, "supplicant_found", found)
    async with watched(host):
        assert finds == 2


async def test_an_interface_that_no_program_uses_has_no_obstacle(host: Host) -> None:
    async with watched(host) as services:
        assert await services.obstacle("wlan0") == ""


async def test_an_interface_that_goes_while_its_link_is_adopted_leaves_no_match_rule(host: Host) -> None:
    async with watched(host) as services:
        before = await match_rules(services.connection, host.programs[WPAS])
        with pytest.raises(BusError, match="it has just gone"):
            await adopt(services, WLAN0, Tasks("test"), LeaseCheck(set, None, list))
        host.unregistered(WLAN0.name)
        await host.changes.get()
        assert await match_rules(services.connection, host.programs[WPAS]) == before


async def opened(services: Services) -> None:
    """An attempt on an interface, to its end."""
    interface = await services.open_interface(WLAN0)
    await interface.subscribe()
    interface.close()


async def test_an_interface_that_is_known_costs_no_call(host: Host) -> None:
    async with watched(host) as services:
        await opened(services)
        host.calls.clear()
        rules = await match_rules(services.connection, host.programs[WPAS])
        interface = await services.open_interface(WLAN0)
        await interface.subscribe()
        assert host.calls == []
        assert await match_rules(services.connection, host.programs[WPAS]) == rules


async def test_one_that_wpa_supplicant_has_unregistered_is_registered_again(host: Host) -> None:
    async with watched(host) as services:
        await opened(services)
        host.unregistered(WLAN0.name)
        await host.changes.get()
        host.calls.clear()
        await opened(services)
        assert host.calls == ["GetInterface", "ListUnitsByNames", "CreateInterface"]


async def test_one_that_was_refused_is_looked_for_again(host: Host) -> None:
    async with watched(host) as services:
        await opened(services)
        services.doubt(WLAN0.name)
        host.calls.clear()
        await opened(services)
        assert host.calls == ["GetInterface"]


async def test_one_that_goes_while_it_is_opened_leaves_no_match_rule(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(host) as services:
        before = await match_rules(services.connection, host.programs[WPAS])
        subscribe = SupplicantInterface.subscribe

        async def subscribe_and_go(interface: SupplicantInterface) -> None:
            services.doubt(WLAN0.name)
            await subscribe(interface)

        monkeypatch.setattr(SupplicantInterface, "subscribe", subscribe_and_go)
        await services.open_interface(WLAN0)
        assert await match_rules(services.connection, host.programs[WPAS]) == before


async def test_another_run_of_wpa_supplicant_knows_none(host: Host) -> None:
    async with watched(host) as services:
        await opened(services)
        await host.end(WPAS)
        await host.changes.get()
        host.registered.clear()
        await host.start(WPAS)
        await host.found.wait()
        host.calls.clear()
        await opened(services)
        assert "CreateInterface" in host.calls


async def test_one_that_this_daemon_has_registered_has_no_obstacle(host: Host) -> None:
    await host.start(NM)
    async with watched(host) as services:
        (await services.open_interface(WLAN0)).close()
        assert host.registered == {"wlan0"}
        assert await services.obstacle("wlan0") == ""


async def test_one_that_rfkill_has_set_down_is_registered_anew(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = tmp_path / "wlan0/flags"
    flags.parent.mkdir()
    monkeypatch.setattr(inventory, "_INTERFACES", tmp_path)
    async with watched(host) as services:
        for text, times in (("0x1003", 1), ("0x1003", 1), ("0x1002", 2)):
            flags.write_text(text)
            (await services.open_interface(WLAN0)).close()
            assert host.calls.count("CreateInterface") == times
        assert host.registered == {"wlan0"}


async def test_one_that_was_own_with_an_earlier_wpa_supplicant_is_another_programs(host: Host) -> None:
    async with watched(host) as services:
        (await services.open_interface(WLAN0)).close()
        await host.end(WPAS)
        await host.changes.get()
        await host.start(WPAS)
        await host.found.wait()
        assert await services.obstacle("wlan0") == BY_ANOTHER_PROGRAM


@pytest.mark.parametrize("runs_before", [True, False])
async def test_one_that_is_registered_is_networkmanagers_while_that_runs(
    host: Host, runs_before: bool
) -> None:
    host.registered.add("wlan0")
    if runs_before:
        await host.start(NM)
    async with watched(host) as services:
        if not runs_before:
            await host.start(NM)
            await host.changes.get()
        assert await services.obstacle("wlan0") == BY_NETWORKMANAGER
        await host.end(NM)
        await host.changes.get()
        assert await services.obstacle("wlan0") == BY_ANOTHER_PROGRAM


async def test_a_unit_with_a_wpa_supplicant_of_its_own_is_named_until_it_has_stopped(host: Host) -> None:
    host.active_units[UNIT] = "running"
    async with watched(host) as services:
        assert await services.obstacle("wlan0") == f"{UNIT} uses it"
        assert await services.obstacle("wlan1") == ""
        host.unit_changes(UNIT, "stop-sigterm")
        await host.changes.get()
        assert await services.obstacle("wlan0") == f"{UNIT} uses it"
        host.unit_changes(UNIT, None)
        await host.changes.get()
        assert await services.obstacle("wlan0") == ""
        host.unit_changes(UNIT, None)  # which nobody watches any more
        await host.start(IWD)
        await host.changes.get()
        assert host.changes.empty()


async def test_a_unit_that_stays_active_without_a_process_uses_no_interface(host: Host) -> None:
    host.active_units["ifup@wlan0.service"] = "exited"
    async with watched(host) as services:
        assert await services.obstacle("wlan0") == ""


async def test_ifupdown_is_named_while_the_process_of_its_pid_file_runs(host: Host, pid_files: Path) -> None:
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    (pid_files / "wpa_supplicant.wlan0.pid").write_text(f"{process.pid}\n")
    async with watched(host) as services:
        for _ in range(2):
            assert await services.obstacle("wlan0") == "ifupdown runs a wpa_supplicant for it"
        assert await services.obstacle("wlan1") == ""
        process.kill()
        await host.changes.get()
        assert await services.obstacle("wlan0") == ""
    await process.wait()


async def test_a_program_that_is_noticed_by_a_join_alone_is_reported_then(host: Host) -> None:
    async with watched(host) as services:
        host.active_units[UNIT] = "running"
        with pytest.raises(InterfaceLost, match=f"{UNIT} uses it"):
            await services.open_interface(WLAN0)
        await host.changes.get()
        assert await services.obstacle("wlan0") == f"{UNIT} uses it"


@pytest.mark.parametrize("runs_before", [True, False])
async def test_while_iwd_runs_it_has_every_interface(host: Host, runs_before: bool) -> None:
    if runs_before:
        await host.start(IWD)
    async with watched(host) as services:
        (await services.open_interface(WLAN0)).close()
        if not runs_before:
            await host.start(IWD)
            await host.changes.get()
        assert [await services.obstacle(name) for name in ("wlan0", "wlan1")] == [BY_IWD, BY_IWD]
        await host.end(IWD)
        await host.changes.get()
        assert [await services.obstacle(name) for name in ("wlan0", "wlan1")] == ["", ""]


async def test_an_interface_with_an_address_is_used_by_the_program_that_has_set_it(host: Host) -> None:
    async with watched(host) as services:
        assert await services.obstacle("lo") == "another program has given it the address 127.0.0.1"


async def test_after_the_end_no_program_is_watched(host: Host) -> None:
    async with watched(host) as services:
        await services.close()
        await host.start(IWD)
        assert await services.obstacle("wlan0") == ""
        assert host.changes.empty()


HOST_FILE = "/etc/systemd/network/00-wlan0.network"
REFUSED = other_configuration("wlan0", {"NetworkFile": HOST_FILE}) or ""
NOT_OURS = BusError(NAME_OF[AddressFailed.code], REFUSED)


@pytest.fixture
async def networkd(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """networkd, which applies a file of the host's to every link."""
    monkeypatch.setattr(socket, "if_nametoindex", lambda _: 1 << 20)
    await host.start(NETWORK1)
    host.network_file = HOST_FILE
    return host


async def test_one_that_networkd_configures_by_a_file_of_the_hosts_is_not_used_while_it_does(
    networkd: Host,
) -> None:
    async with watched(networkd, NOT_OURS) as services:
        assert await services.obstacle("wlan0") == ""  # a file that sorts after the hub's would not matter
        with pytest.raises(AddressFailed) as caught:
            await services.configure_address("wlan0", "")
        assert caught.value.message == REFUSED
        await networkd.changes.get()
        assert await services.obstacle("wlan0") == REFUSED
        assert await services.obstacle("wlan1") == ""
        networkd.link_changes(1 << 20, "")
        await networkd.changes.get()
        assert await services.obstacle("wlan0") == ""


async def test_one_is_used_again_once_networkd_has_gone(networkd: Host) -> None:
    async with watched(networkd, NOT_OURS) as services:
        with pytest.raises(AddressFailed):
            await services.configure_address("wlan0", "")
        await networkd.changes.get()
        await networkd.end(NETWORK1)
        await networkd.changes.get()
        assert await services.obstacle("wlan0") == ""


@pytest.mark.parametrize("reason", [f"systemd-networkd applies {HOST_FILE}.d/x.conf", "a lease of no use"])
async def test_what_cannot_be_seen_to_end_takes_no_interface_away(networkd: Host, reason: str) -> None:
    async with watched(networkd, NOT_OURS) as services:
        await services.refuse_address("wlan0", reason)
        assert await services.obstacle("wlan0") == ""


async def test_a_helper_that_cannot_use_networkd_is_no_fault_of_the_address(networkd: Host) -> None:
    refusal = BusError(NAME_OF[BackendUnavailable.code], "systemd-networkd cannot be reloaded")
    async with watched(networkd, refusal) as services:
        with pytest.raises(BackendUnavailable, match="cannot be used: systemd-networkd cannot be reloaded"):
            await services.configure_address("wlan0", "")
