"""Which adapters the product registers with wpa_supplicant, and those that another program of the host uses:
iwd and ifupdown themselves, without NetworkManager."""

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wifimgrd.client.hub import HubClient

from .guest import hwsim
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.documents import type_block
from .guest.namespace import run
from .guest.supplicant import Supplicant
from .guest.traffic import until_fetched
from .guest.whole_hub import WholeHub

Cameras = Callable[..., Camera]

_IWD_SETTINGS = Path("/etc/iwd/main.conf")
_INTERFACES = Path("/etc/network/interfaces.d/lab")
_STATIC = "iface {} inet static\n  address 192.168.42.77/24\n  wpa-ssid {}\n  wpa-psk {}\n"

pytestmark = pytest.mark.parametrize("backend", ["wpa_supplicant"])


@pytest.fixture
def iwd(hub: WholeHub) -> Iterator[None]:
    """A host that has iwd, which does not run yet."""
    yield
    run("systemctl", "stop", "iwd.service")


@pytest.fixture
def iwd_leaves_interfaces(iwd: None) -> Iterator[None]:
    """Have iwd use the interfaces that there are."""
    before = _IWD_SETTINGS.read_text()
    _IWD_SETTINGS.write_text("[General]\nUseDefaultInterface=true\n")
    yield
    _IWD_SETTINGS.write_text(before)


@pytest.fixture
def ifupdown(hub: WholeHub) -> Iterator[Callable[[str, Camera, str], None]]:
    """Write the settings of an interface, with a camera as its network."""

    def configure(interface: str, camera: Camera, allow: str = "") -> None:
        text = _STATIC.format(interface, camera.ssid.decode(), camera.password)
        _INTERFACES.write_text(f"{allow}\n{text}")
        _INTERFACES.chmod(0o600)

    yield configure
    run("ifdown", "--all", "--force")
    _INTERFACES.unlink(missing_ok=True)


async def until_taken(hub: WholeHub, name: str, reason: str) -> None:
    """Wait until an interface is unavailable for this reason, on D-Bus; then expect the same of HTTP."""
    await hub.interface_state(name, "unavailable")
    await hub.dbus.wait_until(
        lambda dbus: name in dbus.interfaces and reason in (dbus.interfaces[name].reason or ""), 10
    )
    await hub.agree()


def are_iwds(dbus: HubClient) -> bool:
    """Whether both adapters are unavailable since iwd runs, which names interfaces in its own way."""
    reason = "iwd manages the Wi-Fi adapters; `systemctl disable --now iwd`, and plug them in again"
    interfaces = [(one.state, one.reason) for one in dbus.interfaces.values()]
    return interfaces == 2 * [("unavailable", reason)]


async def test_an_adapter_is_registered_once_it_is_used_and_given_back_at_the_end(
    hub: WholeHub, supplicant: Supplicant, cameras: Cameras
) -> None:
    assert await supplicant.registered() == []
    device = await hub.add(cameras("A"))
    await hub.until(device, "connected")
    assert await supplicant.registered() == [hub.dbus.devices[device].interface]
    await restarted(hub, supplicant, [hub.dbus.devices[device].interface])
    await hub.expect(device, "connected")
    await hub.disconnect(device)
    await restarted(hub, supplicant, [])
    await hub.expect(device, "disconnected")


async def restarted(hub: WholeHub, supplicant: Supplicant, left: list[str | None]) -> None:
    """Restart the daemon; between its runs wpa_supplicant has these interfaces."""
    run("systemctl", "stop", "wifimgrd.service")
    await hub.dbus.wait_until(lambda dbus: not dbus.available, 10)
    assert await supplicant.registered() == left
    run("systemctl", "start", "wifimgrd.service")
    await hub.await_daemon()


async def test_iwd_has_all_adapters_while_it_runs_and_deletes_their_interfaces_when_it_ends(
    hub: WholeHub, cameras: Cameras, adapters: Callable[..., Adapter], iwd: None
) -> None:
    camera = cameras("A")
    device = await hub.add(camera)
    await hub.until(device, "connected")

    run("systemctl", "start", "iwd.service")  # which deletes the interfaces and creates its own
    await hub.dbus.wait_until(are_iwds, 20)
    message = await hub.failed(device, "interface-lost")
    # iwd may delete the interfaces a moment before it has its name on the message bus.
    assert re.search("was taken by another program: iwd manages the Wi-Fi adapters|was unplugged", message)

    names = set(hub.dbus.interfaces)
    await asyncio.to_thread(type_block, "docs/backends.md", "disable --now iwd")
    assert names.isdisjoint(name for _, name in socket.if_nameindex())
    hub.channel.forget()
    for port in ("1.1", "1.2"):
        hwsim.remove_radio(port)
        adapters(port)
    await hub.until(device, "connected")
    until_fetched(hub.dbus.devices[device].interface, camera.name)


async def test_iwd_with_its_setting_leaves_the_interfaces_which_are_available_at_once(
    hub: WholeHub, iwd_leaves_interfaces: None
) -> None:
    run("systemctl", "start", "iwd.service")
    await hub.dbus.wait_until(are_iwds, 20)
    run("systemctl", "stop", "iwd.service")
    for name in ("wlan0", "wlan1"):
        await hub.interface_state(name, "available")


async def test_an_adapter_that_ifupdown_connects_is_left_alone_until_ifdown(
    hub: WholeHub, cameras: Cameras, ifupdown: Callable[..., None]
) -> None:
    other, camera = cameras("B"), cameras("A")
    ifupdown("wlan0", other)
    run("ifup", "wlan0")
    until_fetched("wlan0", other.name)
    await until_taken(hub, "wlan0", "ifupdown runs a wpa_supplicant for it")

    device = await hub.add(camera)
    await hub.until(device, "connected")
    assert hub.dbus.devices[device].interface == "wlan1"
    until_fetched("wlan0", other.name)

    run("ifdown", "wlan0")
    await hub.interface_state("wlan0", "available")
    second = await hub.add(other)
    await hub.until(second, "connected")
    assert hub.dbus.devices[second].interface == "wlan0"


async def test_an_adapter_that_ifupdown_connects_when_it_is_plugged_in_is_left_alone(
    hub: WholeHub, cameras: Cameras, adapters: Callable[..., Adapter], ifupdown: Callable[..., None]
) -> None:
    other = cameras("B")
    ifupdown("wlan2", other, allow="allow-hotplug wlan2")
    assert adapters().interface == "wlan2"
    await until_taken(hub, "wlan2", "ifupdown runs a wpa_supplicant for it")
    until_fetched("wlan2", other.name)
