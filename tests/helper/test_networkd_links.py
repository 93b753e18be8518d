"""The helper and systemd-networkd: what is started, restarted and reloaded, and when."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Final

import pytest

from tests.helper.fake_networkd import FakeHost, fake_host
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.helper_client.helper import HelperLinks
from wifimgrd.domain.errors import AddressFailed, BackendUnavailable
from wifimgrd.helper import _interfaces as interfaces
from wifimgrd.helper import _networkd_links as networkd_links
from wifimgrd.helper._kernel_state import KernelState
from wifimgrd.helper._link_files import LinkConfiguration, LinkFiles
from wifimgrd.helper._networkd_links import NetworkdLinks
from wifimgrd.helper._policy import Policy
from wifimgrd.helper._service import NetService
from wifimgrd.runtime.tasks import Tasks

PATIENCE_S: Final = 10.0
WLAN0 = LinkConfiguration("wlan0", 3, "")
WLAN1 = LinkConfiguration("wlan1", 4, "")
LEASE = IPv4Interface("192.168.42.36/24")
FILE0, FILE1 = "05-wifimgrd-wlan0.network", "05-wifimgrd-wlan1.network"
LINKS = {FILE0: WLAN0, FILE1: WLAN1}
DENIED = BusError("org.freedesktop.DBus.Error.AccessDenied", "Interactive authentication required.")
MASKED = BusError("org.freedesktop.systemd1.UnitMasked", "Unit systemd-networkd.service is masked.")


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[FakeHost]:
    async with fake_host(tmp_path) as host:
        yield host


@pytest.fixture(autouse=True)
def addresses(monkeypatch: pytest.MonkeyPatch) -> dict[int, IPv4Address]:
    """The addresses of interfaces, by index."""
    addresses: dict[int, IPv4Address] = {}
    monkeypatch.setattr(networkd_links, "first_address", addresses.get)
    return addresses


@pytest.fixture
async def connection(host: FakeHost) -> AsyncIterator[BusConnection]:
    connection = await BusConnection.open(host.bus)
    yield connection
    await connection.close()


@pytest.fixture
def files(host: FakeHost, tmp_path: Path) -> LinkFiles:
    for number in range(50):
        (tmp_path / f"class/wlan{number}").mkdir(parents=True)
    return LinkFiles(host.networks, host.settings, tmp_path / "class")


@pytest.fixture
def without_address() -> list[str]:
    """The interfaces whose addresses were deleted."""
    return []


@pytest.fixture
def touched() -> list[tuple[int, IPv4Interface]]:
    """The addresses whose end the kernel was made to report."""
    return []


@pytest.fixture
def links(
    connection: BusConnection,
    files: LinkFiles,
    without_address: list[str],
    touched: list[tuple[int, IPv4Interface]],
) -> NetworkdLinks:
    def touch(index: int, addresses: Iterable[IPv4Interface]) -> None:
        touched.extend((index, one) for one in addresses)

    return NetworkdLinks(connection, files, without_address.append, touch)


def lease(state: str, source: str = "DHCPv4") -> dict[str, list[dict[str, object]]]:
    """Networkd's description of a link that has a lease."""
    address = {"Family": 2, "Address": [*LEASE.ip.packed], "PrefixLength": LEASE.network.prefixlen}
    return {"Addresses": [address | {"ConfigSource": source, "ConfigState": state}]}


async def test_networkd_is_started_once_the_files_are_there(host: FakeHost, links: NetworkdLinks) -> None:
    await links.configure(WLAN0)
    assert host.calls == ["StartUnit"]
    assert host.read == host.files == {FILE0: WLAN0.text}
    assert [file.name for file in host.settings.iterdir()] == ["50-wifimgrd.conf"]


async def test_what_is_so_already_is_not_read_again(host: FakeHost, links: NetworkdLinks) -> None:
    await links.configure(WLAN0)
    host.calls.clear()
    await links.configure(WLAN0)
    await links.release("wlan1")
    assert not host.calls


async def test_a_link_that_is_given_back_while_the_helper_gets_to_know_networkd_is_not_configured(
    host: FakeHost, links: NetworkdLinks
) -> None:
    await host.start_networkd()
    configuring = asyncio.create_task(links.configure(WLAN0))
    releasing = asyncio.create_task(links.release("wlan0"))
    with pytest.raises(BackendUnavailable, match="wlan0 was given back meanwhile"):
        await configuring
    await releasing
    assert not host.files
    await links.configure(WLAN0)
    assert list(host.files) == [FILE0]


async def test_another_address_is_read_again(host: FakeHost, links: NetworkdLinks) -> None:
    await links.configure(WLAN0)
    moved = LinkConfiguration("wlan0", 9, "")
    await links.configure(moved)
    assert host.calls == ["StartUnit", "Reload"]
    assert host.read == {FILE0: moved.text}


async def test_an_old_networkd_that_runs_without_the_settings_is_not_restarted(
    host: FakeHost, files: LinkFiles, links: NetworkdLinks, connection: BusConnection
) -> None:
    """A restart would take the addresses of the host's own leases away, and routes with them."""
    await host.start_networkd()
    await links.configure(WLAN0)
    assert host.read == {FILE0: replace(WLAN0, keeps_foreign=True).text}
    again = NetworkdLinks(connection, files)  # the next run of the helper
    await again.configure(WLAN1)
    assert host.read == {one: replace(link, keeps_foreign=True).text for one, link in LINKS.items()}
    assert host.calls == ["Reload", "Reload"]
    await host.end_networkd()  # it is restarted by another program, and reads its settings
    await host.start_networkd()
    await connection.round_trip()
    for link in LINKS.values():
        await again.configure(link)
    assert host.read == {one: link.text for one, link in LINKS.items()}
    assert host.calls == ["Reload"] * 4


async def test_links_that_are_configured_at_once_find_what_networkd_has_read(
    host: FakeHost, links: NetworkdLinks
) -> None:
    await host.start_networkd()
    calls = [asyncio.create_task(links.configure(WLAN0))]
    while not calls[0].done():
        calls.append(asyncio.create_task(links.configure(WLAN0)))
        await asyncio.sleep(0)
    await asyncio.gather(*calls)
    assert host.read == {FILE0: replace(WLAN0, keeps_foreign=True).text}


@pytest.mark.parametrize("version", ["257.13-1~deb13u1", "v258", "300"])
async def test_a_new_networkd_that_runs_without_the_settings_is_restarted_once(
    host: FakeHost, links: NetworkdLinks, version: str
) -> None:
    host.version = version
    await host.start_networkd()
    await links.configure(WLAN0)
    assert host.read == {FILE0: WLAN0.text}
    await links.configure(WLAN1)
    assert host.calls == ["RestartUnit", "Reload"]
    assert host.read == {FILE0: WLAN0.text, FILE1: WLAN1.text}


async def test_a_networkd_that_is_just_starting_has_not_read_the_settings(
    host: FakeHost, links: NetworkdLinks
) -> None:
    """As at boot: its unit is active, and it is not on the bus yet."""
    host.has_lost_the_bus = True
    configuring = asyncio.create_task(links.configure(WLAN0))
    await asyncio.wait_for(host.listed.wait(), PATIENCE_S)
    await host.start_networkd()
    await configuring
    assert host.calls == ["Reload"]
    assert host.read == {FILE0: replace(WLAN0, keeps_foreign=True).text}


async def test_what_an_earlier_helper_has_written_last_is_read(
    host: FakeHost, files: LinkFiles, links: NetworkdLinks
) -> None:
    files.write_settings("")
    await host.start_networkd()
    files.write(WLAN0)  # and then it was killed
    await links.configure(WLAN0)
    assert host.calls == ["Reload"]
    assert host.read == {FILE0: WLAN0.text}


async def test_a_released_link_is_read_to_be_gone(
    host: FakeHost, links: NetworkdLinks, without_address: list[str]
) -> None:
    await links.configure(WLAN0)
    await links.configure(WLAN1)
    await links.release("wlan0")
    assert host.read == host.files == {FILE1: WLAN1.text}
    assert host.calls == ["StartUnit", "Reload", "Reload"]
    assert without_address == ["wlan0"]
    await links.release("wlan0")
    assert host.calls == ["StartUnit", "Reload", "Reload"]


async def test_a_release_without_networkd_starts_nothing_and_leaves_no_address(
    host: FakeHost, files: LinkFiles, links: NetworkdLinks, without_address: list[str]
) -> None:
    files.write(WLAN0)
    await links.release("wlan0")
    await links.release("wlan1")  # which was not configured
    assert not host.calls
    assert not host.files
    assert without_address == ["wlan0"]


async def test_the_file_of_an_adapter_that_is_gone_is_removed_by_the_next_run(
    host: FakeHost, files: LinkFiles, links: NetworkdLinks, tmp_path: Path
) -> None:
    await host.start_networkd()
    files.write(WLAN0)
    files.write(WLAN1)
    (tmp_path / "class/wlan1").rmdir()
    await links.configure(WLAN0)
    assert set(host.read) == set(host.files) == {FILE0}


async def test_everything_is_removed(host: FakeHost, links: NetworkdLinks) -> None:
    for link in (WLAN0, WLAN1):
        await links.configure(link)
    await links.clear()
    assert not host.read
    assert not list(host.settings.iterdir())
    assert host.calls == ["StartUnit", "Reload", "Reload"]


async def test_a_networkd_that_has_gone_is_started_again(
    host: FakeHost, links: NetworkdLinks, connection: BusConnection
) -> None:
    await links.configure(WLAN0)
    await host.end_networkd()
    await connection.round_trip()  # after the signal that it has gone
    await links.configure(WLAN0)
    await links.configure(WLAN1)
    assert host.calls == ["StartUnit", "StartUnit", "Reload"]
    assert host.read == {FILE0: WLAN0.text, FILE1: WLAN1.text}


async def test_a_networkd_that_has_lost_the_bus_is_restarted(host: FakeHost, links: NetworkdLinks) -> None:
    host.has_lost_the_bus = True
    await links.configure(WLAN0)
    assert host.calls == ["RestartUnit"]
    assert host.read == {FILE0: WLAN0.text}


async def test_many_links_at_once_start_networkd_once_and_all_are_read(
    host: FakeHost, links: NetworkdLinks
) -> None:
    many = [LinkConfiguration(f"wlan{number}", number, "") for number in range(3, 43)]
    await asyncio.gather(*(links.configure(one) for one in many))
    assert host.calls == ["StartUnit"]
    assert set(host.read.values()) == {one.text for one in many}


async def test_a_link_that_is_configured_during_a_reload_gets_its_own(
    host: FakeHost, links: NetworkdLinks
) -> None:
    await links.configure(WLAN0)
    host.answers.clear()
    moved = LinkConfiguration("wlan0", 9, "")
    first = asyncio.create_task(links.configure(moved))
    await asyncio.wait_for(host.reloading.wait(), PATIENCE_S)
    others = [
        asyncio.create_task(links.configure(LinkConfiguration(f"wlan{number}", number, "")))
        for number in (4, 5, 6)
    ]
    await asyncio.sleep(0)  # they have written their files
    assert set(host.read) == {FILE0}
    host.answers.set()
    await asyncio.gather(first, *others)
    assert host.calls == ["StartUnit", "Reload", "Reload"]
    assert host.read == host.files
    assert len(host.read) == 4


async def test_why_it_cannot_be_started_is_said_and_the_next_call_tries_again(
    host: FakeHost, links: NetworkdLinks
) -> None:
    host.refusal = MASKED
    with pytest.raises(BackendUnavailable) as caught:
        await links.configure(WLAN0)
    assert caught.value.message == (
        "systemd-networkd cannot be started: Unit systemd-networkd.service is masked."
    )
    host.refusal = None
    await links.configure(WLAN0)
    assert host.read == {FILE0: WLAN0.text}


async def test_without_systemd_that_is_said(host: FakeHost, links: NetworkdLinks) -> None:
    await host.systemd.close()
    with pytest.raises(BackendUnavailable, match=r"systemd-networkd cannot be started: .*systemd1"):
        await links.configure(WLAN0)


async def test_one_that_does_not_come_is_not_waited_for_for_ever(
    host: FakeHost, links: NetworkdLinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networkd_links, "START_S", 0.1)
    host.starts = False
    with pytest.raises(BackendUnavailable, match=r"not on the message bus after 0.1 s: .systemctl status"):
        await links.configure(WLAN0)
    host.starts = True
    await links.configure(WLAN0)
    assert host.calls == ["StartUnit", "StartUnit"]


async def test_one_that_is_slow_to_start_is_waited_for_by_each_call_and_not_started_anew(
    host: FakeHost, links: NetworkdLinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networkd_links, "_NAME_S", 0.05)
    monkeypatch.setattr(networkd_links, "START_S", 0.1)
    host.is_starting = True
    for _ in range(2):
        with pytest.raises(BackendUnavailable, match="not on the message bus"):
            await links.configure(WLAN0)
    assert host.calls == []
    monkeypatch.setattr(networkd_links, "START_S", PATIENCE_S)
    configuring = asyncio.create_task(links.configure(WLAN0))
    await host.start_networkd()
    await configuring
    assert host.calls == ["Reload"]
    assert host.read == host.files


@pytest.mark.parametrize("old_settings", [False, True])
async def test_a_refused_reload_or_restart_is_said_and_made_up_for(
    host: FakeHost, files: LinkFiles, links: NetworkdLinks, old_settings: bool
) -> None:
    if not old_settings:
        files.write_settings("")
    host.version = "257"
    await host.start_networkd()
    host.refusal = DENIED
    done = "restarted" if old_settings else "reloaded"
    with pytest.raises(BackendUnavailable, match=f"cannot be {done}: Interactive authentication required"):
        await links.configure(WLAN0)
    host.refusal = None
    await links.configure(WLAN0)
    assert host.calls == [("RestartUnit" if old_settings else "Reload")] * 2
    assert host.read == {FILE0: WLAN0.text}


# -- the files of the host


OTHER: Final = "/etc/systemd/network/00-wlan0.network"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """networkd has done what it does by the time it replies."""
    monkeypatch.setattr(networkd_links, "RELOADED_S", 0.05)


async def configured_with(host: FakeHost, links: NetworkdLinks, **described: object) -> str:
    """How a configuration fails while networkd describes the link in this way."""
    await host.start_networkd()
    host.describe(3, **described)
    with pytest.raises(AddressFailed) as caught:
        await links.configure(WLAN0)
    return caught.value.message


async def test_a_file_of_the_host_that_is_in_force_is_named_and_the_helpers_is_removed(
    host: FakeHost, links: NetworkdLinks, at_once: None
) -> None:
    message = await configured_with(host, links, NetworkFile=OTHER)
    assert message == (
        f"systemd-networkd applies {OTHER} to wlan0, before the hub's own file: exclude wlan0 in its "
        "[Match], or rename it so that it sorts after 05-wifimgrd-wlan0.network; then `networkctl reload`"
    )
    assert not host.files
    assert host.calls == ["Reload", "Reload"]
    host.described.clear()
    await links.configure(WLAN0)  # once that file was renamed, without a reload
    assert set(host.read) == {FILE0}


async def test_a_drop_in_of_the_helpers_file_is_named(
    host: FakeHost, links: NetworkdLinks, at_once: None
) -> None:
    dropin = "/etc/systemd/network/05-wifimgrd-wlan0.network.d/dns.conf"
    own = str(host.networks / FILE0)
    message = await configured_with(host, links, NetworkFile=own, NetworkFileDropins=[dropin])
    assert message == f"systemd-networkd applies {dropin} to wlan0: remove that file"


async def test_a_link_that_networkd_is_told_to_leave_alone_is_said_to_be(
    host: FakeHost, links: NetworkdLinks, at_once: None
) -> None:
    message = await configured_with(host, links, AdministrativeState="unmanaged")
    assert message == (
        f"systemd-networkd does not apply {host.networks / FILE0}: `networkctl status wlan0` may say why"
    )


@pytest.mark.parametrize("before", [{"NetworkFile": "/etc/systemd/network/10-wl.network"}, {}])
async def test_a_file_that_networkd_is_just_leaving_is_waited_for(
    host: FakeHost, links: NetworkdLinks, before: dict[str, str]
) -> None:
    await host.start_networkd()
    host.describe(3, AdministrativeState="pending", **before)
    configuring = asyncio.create_task(links.configure(WLAN0))
    await asyncio.wait_for(host.describes.wait(), PATIENCE_S)
    host.describe(3, NetworkFile=str(host.networks / FILE0))
    await configuring
    assert set(host.read) == {FILE0}


async def test_a_link_that_networkd_does_not_configure_is_not_waited_for_for_ever(
    host: FakeHost, links: NetworkdLinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networkd_links, "START_S", 0.1)
    await host.start_networkd()
    host.describe(3, AdministrativeState="pending")
    with pytest.raises(BackendUnavailable, match="systemd-networkd does not configure wlan0"):
        await links.configure(WLAN0)


async def test_a_link_that_is_configured_anew_keeps_its_file_when_the_call_before_gives_up(
    host: FakeHost, links: NetworkdLinks, connection: BusConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networkd_links, "START_S", 0.1)
    await host.start_networkd()
    assert host.networkd is not None
    host.describe(3, AdministrativeState="pending")
    before = asyncio.create_task(links.configure(WLAN0))
    await host.describes.wait()
    host.describes.clear()
    await host.networkd.round_trip()
    await connection.round_trip()  # the answer has come
    monkeypatch.setattr(networkd_links, "START_S", PATIENCE_S)
    anew = asyncio.create_task(links.configure(WLAN0))
    await host.describes.wait()
    with pytest.raises(BackendUnavailable, match="systemd-networkd does not configure wlan0"):
        await before
    host.describe(3, NetworkFile=str(host.networks / FILE0))
    await anew
    assert list(host.files) == [FILE0]


# -- by the helper's methods


@pytest.fixture
async def helper(
    host: FakeHost,
    links: NetworkdLinks,
    connection: BusConnection,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> AsyncIterator[HelperLinks]:
    """The daemon's client of a helper for which wlan0 and wlan1 are wireless interfaces, and eth0 is not."""
    indices = {"eth0": 2, "wlan0": 3, "wlan1": 4, "wlan9": 0x10000}
    for interface in indices:
        (tmp_path / "sys" / interface / ("device" if interface == "eth0" else "phy80211")).mkdir(parents=True)
    monkeypatch.setattr(interfaces, "INTERFACES", tmp_path / "sys")
    monkeypatch.setattr(socket, "if_nametoindex", indices.__getitem__)
    tasks = Tasks("test")
    kernel = KernelState()
    service = NetService(connection, connection, kernel, links, Policy, os.getuid(), 3600.0, tasks)
    await service.start()
    daemon = await BusConnection.open(host.bus)
    yield HelperLinks(daemon)
    await daemon.close()
    await tasks.stop()
    kernel.close()


async def test_the_daemon_has_links_configured_and_released(host: FakeHost, helper: HelperLinks) -> None:
    await asyncio.gather(
        helper.configure_link("wlan0", ""), helper.configure_link("wlan1", "192.168.54.2/24")
    )
    assert f"RouteTable={0x774A0003}\n" in host.read[FILE0]
    assert "Address=192.168.54.2/24\n" in host.read[FILE1]
    assert host.calls == ["StartUnit"]
    await helper.release_link("wlan0")
    await helper.release_link("wlan7")  # which is gone
    assert set(host.read) == {FILE1}


@pytest.mark.parametrize("local_address", ["10.0.0.2/16", "192.168.54.2/30"])
async def test_a_network_of_16_to_30_bits_can_be_a_cameras(
    host: FakeHost, helper: HelperLinks, local_address: str
) -> None:
    await helper.configure_link("wlan1", local_address)
    assert f"Address={local_address}\n" in host.read[FILE1]


async def test_a_link_has_dhcp_from_the_start_and_a_request_reads_no_files(
    host: FakeHost, helper: HelperLinks
) -> None:
    await helper.configure_link("wlan0", "")
    assert "DHCP=ipv4\n" in host.read[FILE0]
    host.calls.clear()
    await helper.request_lease("wlan0")
    await helper.request_lease("wlan1")  # which was not configured
    await helper.configure_link("wlan0", "")  # for the next attempt
    assert host.calls == ["ReconfigureLink"]
    assert host.reconfigured == [3]


async def test_files_that_networkd_has_not_read_yet_are_read_before_a_request(
    host: FakeHost, files: LinkFiles, helper: HelperLinks
) -> None:
    files.write_settings("")
    await host.start_networkd()
    files.write(WLAN0)  # and then an earlier helper was killed
    await helper.request_lease("wlan0")
    assert host.calls == ["Reload", "ReconfigureLink"]
    assert host.read == {FILE0: WLAN0.text}


async def test_why_a_lease_cannot_be_requested_reaches_the_daemon(
    host: FakeHost, helper: HelperLinks
) -> None:
    await helper.configure_link("wlan0", "")
    host.refusal = DENIED
    with pytest.raises(BusError, match=r"again: Interactive authentication") as caught:
        await helper.request_lease("wlan0")
    assert caught.value.name == "org.wifimgrd1.Error.BackendUnavailable"


@pytest.mark.parametrize("state", ["requesting", "configuring", "configured", "configured,removing"])
async def test_a_lease_that_has_arrived_is_not_requested_again(
    host: FakeHost, helper: HelperLinks, state: str
) -> None:
    """Networkd would drop its address; a daemon that had to wait for the processor has not noticed it yet."""
    await helper.configure_link("wlan0", "")
    host.describe(3, **lease(state))
    await helper.request_lease("wlan0")
    assert host.reconfigured == []


async def test_an_address_of_another_program_is_no_lease(host: FakeHost, helper: HelperLinks) -> None:
    await helper.configure_link("wlan0", "")
    host.describe(3, **lease("configured", "foreign"))
    await helper.request_lease("wlan0")
    assert host.reconfigured == [3]


async def test_an_address_that_networkd_has_withdrawn_is_forgotten_before_its_lease_is_requested(
    host: FakeHost, helper: HelperLinks, touched: list[tuple[int, IPv4Interface]]
) -> None:
    await helper.configure_link("wlan0", "")
    text = host.read[FILE0]
    host.calls.clear()
    host.describe(3, **lease("requesting,removing"))
    request = asyncio.create_task(helper.request_lease("wlan0"))
    await asyncio.wait_for(host.reloading.wait(), PATIENCE_S)
    assert "DHCP=no\n" in host.read[FILE0]
    host.describes.clear()
    await asyncio.wait_for(host.describes.wait(), PATIENCE_S)
    assert touched == []  # systemd 252 would set the address again and again
    host.describe(3, **lease("removing", "foreign"))
    await request
    assert touched == [(3, LEASE)]
    assert host.read[FILE0] == text
    assert host.calls == ["Reload", "Reload"]


async def test_an_address_that_networkd_does_not_forget_does_not_keep_others_waiting(
    host: FakeHost, helper: HelperLinks, touched: list[tuple[int, IPv4Interface]]
) -> None:
    await helper.configure_link("wlan0", "")
    text = host.read[FILE0]
    host.describe(3, **lease("requesting,removing"))
    await asyncio.wait_for(helper.request_lease("wlan0"), PATIENCE_S)
    assert touched == []
    assert host.read[FILE0] == text


async def test_a_lease_is_kept_beside_an_address_that_was_withdrawn(
    host: FakeHost, helper: HelperLinks
) -> None:
    await helper.configure_link("wlan0", "")
    host.calls.clear()
    withdrawn, kept = (lease(state)["Addresses"] for state in ("removing", "configured"))
    host.describe(3, Addresses=[*withdrawn, *kept])
    await helper.request_lease("wlan0")
    assert host.calls == []


async def test_a_link_that_is_given_back_while_networkd_forgets_an_address_has_no_file_again(
    host: FakeHost, helper: HelperLinks
) -> None:
    await helper.configure_link("wlan0", "")
    host.describe(3, **lease("removing"))
    host.answers.clear()
    request = asyncio.create_task(helper.request_lease("wlan0"))
    await asyncio.wait_for(host.reloading.wait(), PATIENCE_S)
    releasing = asyncio.create_task(helper.release_link("wlan0"))
    async with asyncio.timeout(PATIENCE_S):
        while host.files:
            await host.systemd.round_trip()
    host.answers.set()
    await asyncio.gather(request, releasing)
    assert not host.files
    assert not host.read


async def test_an_address_that_was_withdrawn_on_the_link_before_is_forgotten(
    host: FakeHost, links: NetworkdLinks, touched: list[tuple[int, IPv4Interface]]
) -> None:
    await links.configure(WLAN0)
    host.describe(3, **lease("removing"), NetworkFile=str(host.networks / FILE0))
    await links.configure(WLAN0)
    assert touched == [(3, LEASE)]


async def test_an_address_of_the_link_before_that_networkd_has_left_is_deleted(
    host: FakeHost, links: NetworkdLinks, addresses: dict[int, IPv4Address]
) -> None:
    await links.configure(WLAN0)
    addresses[3] = IPv4Address("224.0.0.5")
    await links.configure(WLAN1)
    assert host.reconfigured == []
    await links.configure(WLAN0)
    assert host.reconfigured == [3]
    host.refusal = DENIED
    with pytest.raises(BackendUnavailable, match="Interactive authentication"):
        await links.configure(WLAN0)


async def test_a_networkd_that_is_away_is_started_for_a_lease(host: FakeHost, helper: HelperLinks) -> None:
    await helper.configure_link("wlan0", "")
    await host.end_networkd()
    await host.systemd.round_trip()
    await helper.request_lease("wlan0")
    assert "DHCP=ipv4\n" in host.read[FILE0]
    assert host.reconfigured == []


async def test_clear_ends_all_links(
    host: FakeHost, helper: HelperLinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[str] = []
    monkeypatch.setattr(KernelState, "clear", lambda _: cleared.append("kernel"))
    await helper.configure_link("wlan0", "")
    await helper.call("Clear")
    assert cleared == ["kernel"]
    assert not host.read


@pytest.mark.parametrize(
    ("interface", "local_address", "message"),
    [
        ("eth0", "", "no wireless interface"),
        ("wlan7", "", "no wireless interface"),
        ("wifimgrd0", "", "no wireless interface"),
        ("../eth0", "", "no wireless interface"),
        ("", "", "no wireless interface"),
        ("wlan9", "", "index over 65535"),
        ("wlan0", "192.168.54.2", "not a private address with a prefix"),
        ("wlan0", "192.168.54.2/255.255.255.0", "not a private address with a prefix"),
        ("wlan0", "203.0.113.2/24", "not a private address"),
        ("wlan0", "127.0.0.2/8", "not a private address"),
        ("wlan0", "fd00::2/64", "not a private address"),
        ("wlan0", "192.168.54.2/24\nGateway=192.168.54.1", "not a private address"),
        ("wlan0", "10.0.0.2/8", "prefix"),
        ("wlan0", "10.0.0.2/15", "prefix"),
        ("wlan0", "192.168.54.2/31", "prefix"),
        ("wlan0", "192.168.54.0/24", "not a host address"),
        ("wlan0", "192.168.54.255/24", "not a host address"),
    ],
)
async def test_bad_requests_write_nothing(
    host: FakeHost, helper: HelperLinks, interface: str, local_address: str, message: str
) -> None:
    with pytest.raises(BusError, match=message) as caught:
        await helper.configure_link(interface, local_address)
    assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments"
    assert not host.files
    assert not host.calls


async def test_a_reason_that_a_user_can_act_on_reaches_the_daemon(
    host: FakeHost, helper: HelperLinks
) -> None:
    host.refusal = MASKED
    with pytest.raises(BusError, match=r"cannot be started: .* masked") as caught:
        await helper.configure_link("wlan0", "")
    assert caught.value.name == "org.wifimgrd1.Error.BackendUnavailable"


async def test_another_user_is_refused(
    host: FakeHost, connection: BusConnection, links: NetworkdLinks
) -> None:
    tasks = Tasks("test")
    kernel = KernelState()
    service = NetService(connection, connection, kernel, links, Policy, os.getuid() + 1, 3600.0, tasks)
    await service.start()
    daemon = await BusConnection.open(host.bus)
    stranger = HelperLinks(daemon)
    for call in (
        stranger.configure_link("wlan0", ""),
        stranger.request_lease("wlan0"),
        stranger.release_link("wlan0"),
    ):
        with pytest.raises(BusError) as caught:
            await call
        assert caught.value.name == "org.wifimgrd1.Error.NotAuthorized"
    await daemon.close()
    await tasks.stop()
    kernel.close()
