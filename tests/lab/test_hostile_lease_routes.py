"""Whatever a camera lends that can be used, the host sends its packets where it sent them before."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from .backends import on_both
from .guest import outside
from .guest.access_point import Camera, Lease
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import CommandError, run
from .guest.whole_hub import WholeHub, whole_hub
from .test_hostile_camera import HOSTILE, mtu

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]

USABLE = [
    Lease("192.168.42.9", 24),
    Lease("192.168.42.9", 24, router=""),
    Lease("192.168.42.9", 24, router="8.8.8.8"),
    Lease("192.168.42.9", 32),
    Lease("192.168.42.9", 16),
    Lease("192.168.1.77", 25, router=outside.GATEWAY),
    Lease("10.5.5.9", 8),
    Lease("172.16.3.9", 12),
    Lease("169.254.8.9", 16),
]
"""With an address that nobody else has. Their networks are other hosts', too."""
BROADCASTS = ("192.168.1.127", "192.168.255.255", "10.255.255.255", "172.31.255.255", "169.254.255.255")
"""The broadcast addresses of the leases, which are hosts' in other networks."""


def page(address: str | None) -> str:
    try:
        return run("curl", "-sS", "-m", "3", f"http://{address}/").strip()
    except CommandError:
        return ""


def is_camera(address: str | None) -> bool:
    return page(address) == "H"


@on_both
async def test_a_lease_that_can_be_used_changes_no_route_of_the_host(
    plug: Plug, cameras: Cameras, tmp_path: Path
) -> None:
    """`ip route get` of a thousand addresses, beside three honest cameras with running downloads."""
    with outside.lan(tmp_path / "lan"):  # there before the adapters, as on most hosts
        for _ in range(4):
            await plug()
        ours = {lease.address for lease in USABLE}
        asked = [address for address in outside.addresses(*BROADCASTS) if address not in ours]
        before = outside.routes(asked), outside.settings()
        async with whole_hub() as hub, AsyncExitStack() as stack:
            for number in range(4):
                await hub.interface_state(f"wlan{number}", "available")
            downloads = []
            for name in ("A", "B", "C"):
                honest = cameras(name, dhcp_options=HOSTILE)
                other = await hub.add(honest)
                await hub.until(other, "connected")
                downloads.append(stack.enter_context(hub.ticks(other, honest)))
            camera = cameras("H", lease=USABLE[0])
            device = await hub.add(camera)
            await hub.until(device, "connected")
            for lease in USABLE:
                await relent(hub, device, camera, lease)
                record = hub.dbus.devices[device]
                assert record.local_address == lease.address
                if (
                    lease.router != outside.GATEWAY
                ):  # its own address is not what it says: it is not reached itself
                    poll_until(partial(is_camera, record.address), f"the camera with {lease}")
                outside.expect_unchanged(asked, before, lease)
                assert mtu(record.interface or "") == 1500
                for download in downloads:
                    download.expect_more()


async def relent(hub: WholeHub, device: int, camera: Camera, lease: Lease) -> None:
    """Join again with another lease."""
    await hub.disconnect(device)
    await hub.dbus.wait_until(lambda dbus: dbus.devices[device].state == "disconnected", 15)
    camera.lend(lease)
    status, answer = await hub.connect(device)
    assert status == 200, (lease, answer)
    await hub.dbus.wait_until(lambda dbus: dbus.devices[device].state == "connected", 15)
