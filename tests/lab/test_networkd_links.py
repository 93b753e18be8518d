"""systemd-networkd takes the addresses of links, on a host without NetworkManager, for the installed helper.

The daemon's calls are made by its user; wpa_supplicant is asked to join by the test itself.
"""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from socket import AF_INET
from typing import Any

import pytest

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import CommandError, run
from .guest.services import drop_in
from .guest.supplicant_network import joined
from .guest.system_bus import SystemBus
from .guest.traffic import fetch

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]

NETWORKD = "systemd-networkd.service"
NETWORKS = Path("/run/systemd/network")
SETTINGS = Path("/run/systemd/networkd.conf.d")
JOIN_S = 30.0


@pytest.fixture(autouse=True)
def without_network_manager(no_radios: None) -> Iterator[None]:
    """Neither NetworkManager nor networkd runs, and the helper stays without a daemon."""
    run("systemctl", "stop", "NetworkManager.service")
    with drop_in("wifimgrd-net.service", "ExecStart=", "ExecStart=wifimgrd-net --linger 3600"):
        yield
        run("systemctl", "stop", "wifimgrd-net.service")
    run("wifimgrd-net", "--clear")
    left = [*NETWORKS.iterdir(), *SETTINGS.iterdir()]
    run("systemctl", "stop", "systemd-networkd.socket", NETWORKD)
    with suppress(CommandError):  # it is not loaded any more: nothing to reset
        run("systemctl", "reset-failed", NETWORKD)
    run("systemctl", "start", "NetworkManager.service")
    assert left == []


@pytest.fixture
def foreign_rule(no_radios: None) -> Iterator[str]:
    """A routing rule of another program, as `ip rule` lists it."""
    run("ip", "rule", "add", "fwmark", "0x5", "lookup", "55", "preference", "300")
    yield "300:\tfrom all fwmark 0x5 lookup 55"
    run("ip", "rule", "del", "preference", "300")


async def helper(member: str, *arguments: str) -> None:
    """Call a method of the helper as the daemon's user; raises CommandError."""
    process = await asyncio.create_subprocess_exec(
        *("runuser", "-u", "wifimgrd", "--", "busctl", "--timeout=60", "call"),
        *("org.wifimgrd1.Net", "/org/wifimgrd1/net", "org.wifimgrd1.Net"),
        *(member, "s" * len(arguments), *arguments),
        stdout=PIPE,
        stderr=PIPE,
    )
    _, errors = await process.communicate()
    if process.returncode:
        raise CommandError(errors.decode().strip())


def host_state(*interfaces: str) -> dict[str, Any]:
    """What no link may change: the resolver, the rules, and the routes of all other interfaces."""
    return {
        "resolver": Path("/etc/resolv.conf").read_text() if Path("/etc/resolv.conf").exists() else None,
        "rules": run("ip", "rule"),
        "routes": [one for one in routes() if one.get("dev") not in interfaces],
        "name": run("uname", "-n"),
    }


def routes(interface: str = "") -> list[dict[str, Any]]:
    """All routes, or those through an interface but the kernel's own."""
    listed: list[dict[str, Any]] = json.loads(run("ip", "-4", "-j", "route", "show", "table", "all") or "[]")
    if not interface:
        return listed
    return [one for one in listed if one.get("dev") == interface and one.get("table") != "local"]


def addresses(interface: str) -> list[dict[str, Any]]:
    """The IPv4 addresses of an interface."""
    [listed] = json.loads(run("ip", "-j", "address", "show", "dev", interface))
    return [one for one in listed["addr_info"] if one["family"] == "inet"]


def files() -> list[Path]:
    return list(NETWORKS.iterdir())


def table_of(interface: str) -> str:
    index = int(Path(f"/sys/class/net/{interface}/ifindex").read_text())
    return str(0x774A0000 + index)


def setup_state(interface: str) -> str:
    """What networkd says of an interface: unmanaged, configuring, configured, ..."""
    return run("networkctl", "--no-legend", "--no-pager", "list", interface).split()[-1]


def described(interface: str) -> dict[str, Any]:
    """networkd's description of an interface."""
    description: dict[str, Any] = json.loads(run("networkctl", "--json=short", "status", interface))
    return description


def described_states(interface: str) -> list[str]:
    """The states of an interface's IPv4 addresses in networkd."""
    listed = described(interface).get("Addresses", [])
    return [one["ConfigState"] for one in listed if one["Family"] == AF_INET]


def has_unset_lease(interface: str) -> bool:
    """Whether networkd has a lease and has not set its address: systemd 252 describes the address, 257 the
    lease."""
    if states := described_states(interface):
        return states == ["requesting"]
    return "Lease" in described(interface).get("DHCPv4Client", {})


def until_configured(interface: str) -> None:
    poll_until(
        lambda: addresses(interface) and setup_state(interface) == "configured",
        f"{interface} has its address",
        JOIN_S,
    )


def expect_a_link(interface: str, camera: Camera, address: str = "") -> None:
    """One address, whose only route is in the link's own table, and the camera behind it."""
    [found] = addresses(interface)
    assert found["noprefixroute"]
    assert address in ("", found["local"])
    assert found.get("dynamic", False) is not bool(address)
    [route] = routes(interface)
    assert (route["dst"], route["table"]) == ("192.168.42.0/24", table_of(interface))
    assert (route["scope"], route["prefsrc"]) == ("link", found["local"])
    assert "gateway" not in route
    assert fetch(interface) == camera.name


def shown(name: str) -> str:
    """A property of networkd's unit."""
    return run("systemctl", "show", "--value", f"--property={name}", NETWORKD).strip()


def main_process() -> int:
    return int(shown("MainPID"))


def until_back(before: int) -> None:
    """Wait until networkd runs as another process, and is up to date."""
    poll_until(lambda: main_process() not in (0, before), "networkd runs again", JOIN_S)
    poll_until(lambda: shown("ActiveState") == "active", "it is up", JOIN_S)


async def test_a_link_has_its_lease_and_the_host_notices_nothing(
    bus: SystemBus, cameras: Cameras, adapters: Adapters, foreign_rule: str
) -> None:
    camera, interface = cameras("A"), adapters().interface
    before = host_state(interface)
    assert foreign_rule in before["rules"]
    await helper("ConfigureLink", interface, "")
    async with joined(bus, interface, camera):
        await helper("RequestLease", interface)  # the first message may be lost
        until_configured(interface)
        expect_a_link(interface, camera)
        assert host_state(interface) == before
        for how in (("restart",), ("kill", "--signal=KILL")):
            process = main_process()
            run("systemctl", *how, NETWORKD)
            until_back(process)
            until_configured(interface)
            expect_a_link(interface, camera)
            assert host_state(interface) == before
        await helper("ReleaseLink", interface)
        poll_until(lambda: not addresses(interface), "the address has gone")
        assert not routes(interface)
        assert setup_state(interface) == "unmanaged"
        assert host_state(interface) == before
        assert files() == []
    await helper("ReleaseLink", "wlan77")  # it is not there any more: no failure


async def test_a_lease_that_networkd_had_withdrawn_before_its_address_was_set_is_taken(
    bus: SystemBus, cameras: Cameras, adapters: Adapters
) -> None:
    """systemd 252 never sets that address again by itself: it waits for the kernel to report its end. Its
    check for another host with the address takes seconds, in which the lease is there and the address is not.
    """
    camera, interface = cameras("A"), adapters().interface
    await helper("ConfigureLink", interface, "")
    checked = NETWORKS / f"05-wifimgrd-{interface}.network.d/check.conf"
    checked.parent.mkdir()
    checked.write_text("[DHCPv4]\nSendDecline=yes\n")
    try:
        run("networkctl", "reload")
        async with joined(bus, interface, camera):
            poll_until(lambda: has_unset_lease(interface), "there is a lease", JOIN_S)
            checked.unlink()
            run("networkctl", "reload")
            if described_states(interface):  # systemd 257 describes no address that is not set
                poll_until(lambda: "removing" in " ".join(described_states(interface)), "it is withdrawn")
            await helper("RequestLease", interface)
            until_configured(interface)
            expect_a_link(interface, camera)
    finally:
        checked.unlink(missing_ok=True)
        checked.parent.rmdir()


async def test_static_addresses_that_are_equal_and_asked_for_at_once(
    bus: SystemBus, cameras: Cameras, adapters: Adapters
) -> None:
    pairs = [(cameras(name), adapters().interface) for name in ("A", "B")]
    before = host_state(*(interface for _, interface in pairs))
    await asyncio.gather(*(helper("ConfigureLink", interface, "192.168.42.77/24") for _, interface in pairs))
    async with AsyncExitStack() as links:
        for camera, interface in pairs:
            camera.dhcp_off()
            await links.enter_async_context(joined(bus, interface, camera))
        for camera, interface in pairs:
            until_configured(interface)
            expect_a_link(interface, camera, "192.168.42.77")
        camera, interface = pairs[0]
        await helper("ConfigureLink", interface, "192.168.42.78/24")
        poll_until(lambda: addresses(interface)[0]["local"] == "192.168.42.78", "the other address")
        until_configured(interface)
        expect_a_link(interface, camera, "192.168.42.78")
        expect_a_link(pairs[1][1], pairs[1][0], "192.168.42.77")
        assert host_state(*(interface for _, interface in pairs)) == before


async def test_a_networkd_that_runs_already_deletes_no_rule_of_another_program(adapters: Adapters) -> None:
    """Without the helper's settings it does so whenever a link is configured."""
    own = NETWORKS / "20-lan0.network"
    own.write_text("[Match]\nName=lan0\n[Network]\nLinkLocalAddressing=no\nAddress=192.0.2.7/24\n")
    run("ip", "link", "add", "lan0", "type", "dummy")
    try:
        run("systemctl", "start", NETWORKD)
        until_configured("lan0")  # it has deleted the rules that there were
        run("ip", "rule", "add", "fwmark", "0x6", "lookup", "56", "preference", "301")
        before = run("ip", "rule")
        interface = adapters().interface
        await helper("ConfigureLink", interface, "")  # returns once networkd applies the file
        poll_until(lambda: setup_state(interface) in ("configuring", "configured"), "it is applied", JOIN_S)
        until_configured("lan0")
        assert run("ip", "rule") == before
        with pytest.raises(
            CommandError, match="not permitted"
        ):  # the folder is the helper's, the file is not
            run("runuser", "-u", "wifimgrd-net", "--", "rm", "-f", str(own))
    finally:
        own.unlink()
        run("ip", "link", "del", "lan0")
        with suppress(CommandError):  # the test has failed before it was added, or it is what is tested
            run("ip", "rule", "del", "preference", "301")


async def test_a_networkd_that_must_not_run_is_reported(adapters: Adapters) -> None:
    interface = adapters().interface
    run("systemctl", "mask", "--runtime", NETWORKD)
    try:
        with pytest.raises(CommandError, match=r"systemd-networkd cannot be started: .* is masked"):
            await helper("ConfigureLink", interface, "")
    finally:
        run("systemctl", "unmask", "--runtime", NETWORKD)
    await helper("ConfigureLink", interface, "")
    assert shown("ActiveState") == "active"


async def test_the_helper_may_start_networkd_and_nothing_else() -> None:
    manage = ("busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1")
    for member, unit in (("StopUnit", NETWORKD), ("StartUnit", "NetworkManager.service")):
        with pytest.raises(CommandError, match=r"uthenti|denied"):
            run(
                *("runuser", "-u", "wifimgrd-net", "--", *manage),
                *("org.freedesktop.systemd1.Manager", member, "ss", unit, "replace"),
            )
