"""What a camera's DHCP server says changes nothing on the host but the link's own address."""

import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from .backends import on_both
from .guest import outside
from .guest.access_point import Camera, Lease
from .guest.adapters import Adapter
from .guest.namespace import CommandError, run
from .guest.outside import LAN_ADDRESS, NEIGHBOUR
from .guest.traffic import Download, until_fetched
from .guest.whole_hub import WholeHub, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
Plug = Callable[..., Awaitable[Adapter]]

HOSTILE = (
    "3,192.168.42.1",
    "6,192.168.42.1",
    "12,captured",
    "15,captured.example",
    "26,576",
    "28,255.255.255.255",
    "33,198.51.100.7,192.168.42.1",
    "42,192.168.42.1",
    "43,01:02:03",
    "119,captured.example",
    "121,0.0.0.0/1,192.168.42.1,128.0.0.0/1,192.168.42.1,198.51.100.20/32,192.168.42.1",
    "249,0.0.0.0/1,192.168.42.1,128.0.0.0/1,192.168.42.1",
    "252,http://192.168.42.1/wpad.dat",
)
"""Routers, resolvers, names, MTU, broadcast, static and classless routes, NTP, vendor's, proxy."""
OUTSIDE = (
    "1.1.1.1",
    "9.9.9.9",
    "127.255.0.9",
    "172.16.3.4",
    "192.168.1.20",
    "198.51.100.7",
    "198.51.100.20",
    "203.0.113.5",
)


def routes() -> dict[str, str]:
    """How the host reaches addresses that are none of a camera's."""
    answers = {}
    for address in OUTSIDE:
        try:
            answers[address] = (
                run("ip", "route", "get", address).split(" uid ")[0].replace(" table local", "")
            )
        except CommandError:  # no route
            answers[address] = ""
    return answers


def settings() -> tuple[str, str, str]:
    """The host's name and where it asks for others'."""
    resolver = Path("/etc/resolv.conf")
    return (
        socket.gethostname(),
        resolver.read_text() if resolver.exists() else "",
        run("ip", "route", "show", "default"),
    )


def mtu(interface: str) -> int:
    return int(Path(f"/sys/class/net/{interface}/mtu").read_text())


@on_both
async def test_what_a_lease_says_of_the_host_is_not_applied(
    hub: WholeHub, adapters: Adapters, cameras: Cameras
) -> None:
    before = routes(), settings()
    hostile, honest = cameras("A", dhcp_options=HOSTILE), cameras("B")
    other = await hub.add(honest)
    await hub.until(other, "connected")
    with Download(hub.dbus.devices[other].interface) as download:
        device = await hub.add(hostile)
        await hub.until(device, "connected")
        interface = hub.dbus.devices[device].interface or ""
        until_fetched(interface, "A")
        assert (routes(), settings()) == before
        assert mtu(interface) == 1500
        download.expect_more()


REFUSED = [
    (Lease("8.8.8.8", 24), "8.8.8.8, which is not a private address"),
    (Lease("127.0.0.9", 8), "127.0.0.9, which is not a private address"),
    (Lease("224.0.0.5", 24), "224.0.0.5, which is not a private address"),
    (Lease(LAN_ADDRESS, 24), f"{LAN_ADDRESS}/24, which is this host's own address at lan0"),
    (Lease(NEIGHBOUR, 25), f"{NEIGHBOUR}/25, which is in use by another host at lan0"),
    (Lease(NEIGHBOUR, 32), f"{NEIGHBOUR}/32, which is in use by another host at lan0"),
    (Lease("10.77.0.9", 24), "10.77.0.9/24, which belongs to 10.77.0.0/24"),
    (Lease("192.168.42.9", 1), "192.168.42.9/1, whose network is larger than a private one"),
    (Lease("192.168.42.255", 24), "192.168.42.255/24, which is not a host address"),
]


@on_both
async def test_a_lease_that_cannot_be_used_is_refused_in_words(
    plug: Plug, cameras: Cameras, tmp_path: Path
) -> None:
    """Three honest cameras go on beside it, and the host is as before."""
    with outside.lan(tmp_path / "lan"):  # there before the adapters, as on most hosts
        for _ in range(4):
            await plug()
        asked = outside.addresses()
        assert len(outside.routes(asked)) == len(asked)
        async with whole_hub() as hub, AsyncExitStack() as stack:
            for number in range(4):
                await hub.interface_state(f"wlan{number}", "available")
            downloads = []
            for name in ("A", "B", "C"):
                honest = cameras(name)
                other = await hub.add(honest)
                await hub.until(other, "connected")
                downloads.append(stack.enter_context(hub.ticks(other, honest)))
            before = outside.routes(asked), outside.settings()
            hostile = cameras("H", lease=REFUSED[0][0])
            device = await hub.add(hostile)
            assert REFUSED[0][1] in await hub.failed(device, "address-failed")
            for lease, reason in REFUSED:
                hub.channel.forget()
                hostile.lend(lease)
                await hub.connect(device)
                assert reason in await hub.failed(device, "address-failed"), lease
                outside.expect_unchanged(asked, before, lease)
                for download in downloads:
                    download.expect_more()


_RENEWED_S = 10
"""A lease that a starved host, too, renews in time, which it does after half of it."""


@on_both
async def test_a_renewal_that_changes_the_address_is_followed_or_refused(
    hub: WholeHub, cameras: Cameras
) -> None:
    honest, hostile = cameras("A"), cameras("H", lease=Lease("192.168.42.9", 24, seconds=_RENEWED_S))
    other, device = await hub.add(honest), await hub.add(hostile)
    for one in (other, device):
        await hub.until(one, "connected")
    with hub.ticks(other, honest) as download:
        hostile.lend(Lease("192.168.42.77", 24, seconds=_RENEWED_S))
        await hub.dbus.wait_until(lambda dbus: dbus.devices[device].local_address == "192.168.42.77", 30)
        await hub.dbus.wait_until(lambda dbus: dbus.devices[device].state == "connected", 30)
        hub.channel.forget()
        hostile.lend(Lease("10.77.0.9", 24, seconds=_RENEWED_S))
        assert "10.77.0.9/24, which belongs to" in await hub.failed(device, "address-failed")
        download.expect_more()
    assert hub.dbus.devices[other].state == "connected"
