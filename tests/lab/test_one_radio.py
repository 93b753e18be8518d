"""One radio is one adapter, on real 802.11: drivers and `iw` make several interfaces of one, each with a MAC
address of its own; access points and monitors are such interfaces, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import CommandError, run
from .guest.traffic import until_fetched
from .guest.whole_hub import WholeHub, whole_hub

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]


def add_interface(beside: str, name: str, kind: str = "managed") -> None:
    run("iw", "dev", beside, "interface", "add", name, "type", kind)
    run("ip", "link", "set", name, "address", f"02:00:5e:00:ff:{len(name):02x}")


async def reason(hub: WholeHub, name: str, wanted: str) -> None:
    """Wait until an interface is unavailable for a reason."""
    try:
        await hub.dbus.wait_until(
            lambda dbus: name in dbus.interfaces and dbus.interfaces[name].reason == wanted, 15
        )
    except TimeoutError:
        pytest.fail(f"{name}: {[(one.name, one.state, one.reason) for one in hub.dbus.interfaces.values()]}")


@on_both
async def test_one_radio_serves_one_camera_and_none_while_another_program_uses_it(
    plug: Plug, backend: str, cameras: Cameras
) -> None:
    radio = (await plug()).interface
    add_interface(radio, "wlan9")
    one, two = cameras("A"), cameras("B", channel=6)
    async with whole_hub("[connect]\non_create = false\n") as hub:
        await hub.interface_state(radio, "available")
        await reason(hub, "wlan9", f"shares the radio of {radio}")
        answer = await hub.interfaces()
        assert (answer["available_interfaces"], answer["total_interfaces"]) == ([radio], 1)
        first, second = await hub.add(one), await hub.add(two)
        assert (await hub.connect(first))[1]["interface"] == radio
        status, answer = await hub.connect(second)
        assert (status, answer["code"]) == (409, "no-interface-available")
        assert f"wlan9 (shares the radio of {radio})" in answer["detail"]

        # What comes and goes beside a link leaves it alone.
        hub.channel.forget()
        add_interface(radio, "uap0", "__ap")
        leave_alone(backend, "uap0")
        run("iw", "dev", "uap0", "set", "type", "__ap")  # in case that NetworkManager had changed it
        run("iw", "dev", radio, "interface", "add", "mon0", "type", "monitor")
        for name in ("uap0", "mon0"):
            await reason(hub, name, f"shares the radio of {radio}")
        run("ip", "link", "set", "mon0", "up")
        run("iw", "dev", "mon0", "del")
        run("ip", "link", "set", "uap0", "up")
        until_fetched(radio, one.name)
        assert hub.channel.statuses(first) == []

        await hub.disconnect(first)
        await reason(hub, radio, "shares the radio of uap0, which is an access point")
        assert (await hub.connect(second))[0] == 409
        run("ip", "link", "set", "uap0", "down")
        await hub.interface_state(radio, "available")
        run("ip", "link", "set", "uap0", "up")
        await hub.interface_state(radio, "unavailable")
        run("iw", "dev", "uap0", "del")
        await hub.interface_state(radio, "available")
        status, answer = await hub.connect(second)
        assert (status, answer["interface"]) == (200, radio)


def leave_alone(backend: str, interface: str) -> None:
    """Make NetworkManager leave an interface to another program."""

    def is_left() -> bool:
        try:
            run("nmcli", "device", "set", interface, "managed", "no")
        except CommandError:  # it has not seen the interface yet
            return False
        return "unmanaged" in run("nmcli", "-g", "GENERAL.STATE", "device", "show", interface)

    if backend == "networkmanager":
        poll_until(is_left, f"{interface} unmanaged")
        run("ip", "link", "set", interface, "down")
