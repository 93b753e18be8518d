"""The adapter source on a real kernel with a real udevd: radios that come, go and change."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.daemon.udev.usb_host import usb_ports
from wifimgrd.daemon.udev import UdevAdapterSource, UsbDevices
from wifimgrd.domain.adapter import Adapter as Described
from wifimgrd.domain.adapter import Mode
from wifimgrd.kernel._messages import Message
from wifimgrd.kernel.events import Topic
from wifimgrd.kernel.links import DELETE_LINK, SCANS
from wifimgrd.kernel.subscription import Subscription

from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import CommandError, run

Adapters = Callable[..., Adapter]


class Listener:
    """Keeps what is reported, in order."""

    def __init__(self) -> None:
        self.reported: asyncio.Queue[Described | str] = asyncio.Queue()
        self.recounts = 0

    def adapter_present(self, adapter: Described) -> None:
        self.reported.put_nowait(adapter)

    def adapter_gone(self, name: str) -> None:
        self.reported.put_nowait(name)

    def adapter_firmware_failed(self, name: str) -> None:
        raise AssertionError("a simulated radio has no firmware")

    def adapters_recounted(self) -> None:
        self.recounts += 1

    async def present(self) -> Described:
        report = await asyncio.wait_for(self.reported.get(), 10)
        assert isinstance(report, Described), report
        return report

    async def present_as(self, name: str, **facts: object) -> Described:
        """Wait for a report of an interface with these facts; others may come before it."""
        async with asyncio.timeout(10):
            while True:
                report = await self.reported.get()
                if isinstance(report, Described) and report.name == name:
                    seen = {fact: getattr(report, fact) for fact in facts}
                    if seen == facts:
                        return report

    async def gone(self) -> str:
        report = await asyncio.wait_for(self.reported.get(), 10)
        assert isinstance(report, str), report
        return report


def switch_of(adapter: Adapter) -> Path:
    """Find the rfkill switch of an adapter."""
    (switch,) = Path(adapter.sysfs, "phy80211").glob("rfkill*")
    return switch


def stir(adapter: Adapter, times: int) -> None:
    """Have the kernel say that often that something changed, and udevd be done with it."""
    for _ in range(times):
        Path(adapter.sysfs, "uevent").write_text("change")
    run("udevadm", "settle")


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
async def source(listener: Listener) -> AsyncIterator[UdevAdapterSource]:
    source = UdevAdapterSource(usb_ports(UsbDevices()))
    await source.start(listener)
    yield source
    await source.stop()


async def test_plug_describe_pull_and_plug_again(
    source: UdevAdapterSource, listener: Listener, adapters: Adapters
) -> None:
    plugged = adapters("1.4")
    described = await listener.present()
    assert (described.name, described.is_usb, described.driver, described.rfkill) == (
        plugged.interface,
        True,
        "rtl8812au",
        "",
    )
    assert described.identity.mac == plugged.permanent_address
    assert described.identity.usb_port == "0-1.4"
    assert described.identity.usb_serial == plugged.permanent_address
    assert (described.usb_vendor_id, described.usb_product_id) == ("0bda", "8812")

    later = UdevAdapterSource(usb_ports(UsbDevices()))
    other = Listener()
    await later.start(other)
    assert other.reported.get_nowait() == described
    await later.stop()

    plugged.unplug()
    assert await listener.gone() == plugged.interface
    adapters("1.4")
    assert (await listener.present()).identity == described.identity


async def test_a_changed_address_leaves_the_identity_alone(
    source: UdevAdapterSource, listener: Listener, adapters: Adapters
) -> None:
    plugged = adapters()
    await listener.present()
    poll_until(
        lambda: address_set(plugged.interface), "another address, though NetworkManager ups the interface"
    )
    later = UdevAdapterSource(usb_ports(UsbDevices()))
    other = Listener()
    await later.start(other)
    assert (await other.present()).identity.mac == plugged.permanent_address
    await later.stop()


def address_set(interface: str) -> bool:
    try:
        run("ip", "link", "set", interface, "down")
        run("ip", "link", "set", interface, "address", "02:11:22:33:44:55")
    except CommandError:
        return False
    return True


def test_a_usb_adapter_keeps_the_kernels_name_where_udev_would_rename_it(adapters: Adapters) -> None:
    assert "net.ifnames=0" not in Path("/proc/cmdline").read_text()
    adapter = adapters()
    output = run("udevadm", "info", "--query=property", f"/sys/class/net/{adapter.interface}")
    assert "ID_NET_LINK_FILE=/etc/systemd/network/70-wifimgrd-usb-wlan.link" in output
    assert adapter.interface == "wlan0"


async def test_rename(source: UdevAdapterSource, listener: Listener, adapters: Adapters) -> None:
    plugged = adapters()
    described = await listener.present()
    run("nmcli", "device", "set", plugged.interface, "managed", "no")
    run("ip", "link", "set", plugged.interface, "down")
    run("ip", "link", "set", plugged.interface, "name", "camera-left")
    assert await listener.gone() == described.name
    renamed = await listener.present()
    assert (renamed.name, renamed.identity) == ("camera-left", described.identity)


@pytest.fixture
def unchanged_switches() -> Iterator[None]:
    """systemd-rfkill sets the switch of an adapter that is plugged in, some time after that."""
    units = "systemd-rfkill.socket", "systemd-rfkill.service"
    run("systemctl", "mask", "--runtime", "--now", *units)
    yield
    run("systemctl", "unmask", "--runtime", *units)
    run("systemctl", "start", units[0])


@pytest.mark.usefixtures("unchanged_switches")
async def test_rfkill(source: UdevAdapterSource, listener: Listener, adapters: Adapters) -> None:
    plugged = adapters()
    await listener.present()
    switch = switch_of(plugged)
    (switch / "soft").write_text("1")
    assert (await listener.present()).rfkill == "soft-blocked"
    (switch / "soft").write_text("0")
    assert (await listener.present()).rfkill == ""


def scanned(interface: str) -> bool:
    """Scan; False while the kernel is busy with a scan that NetworkManager began before it let go."""
    try:
        run("iw", "dev", interface, "scan")
    except CommandError as error:
        if "(-16)" in str(error):
            return False
        raise
    return True


async def test_a_scan_by_another_program_does_not_wake_who_listens_for_links(adapters: Adapters) -> None:
    plugged = adapters()
    run("nmcli", "device", "set", plugged.interface, "managed", "no")
    run("ip", "link", "set", plugged.interface, "up")
    every: list[Message] = []
    wanted: list[Message] = []
    ended = asyncio.Event()

    def received(message: Message) -> None:
        wanted.append(message)
        if message.kind == DELETE_LINK:
            ended.set()

    subscriptions = [
        Subscription(socket.NETLINK_ROUTE, Topic.LINKS, every.append, pytest.fail),
        Subscription(socket.NETLINK_ROUTE, Topic.LINKS, received, pytest.fail, unwanted=SCANS),
    ]
    for subscription in subscriptions:
        subscription.open()
    try:
        poll_until(lambda: scanned(plugged.interface), "a scan")
        plugged.unplug()
        await asyncio.wait_for(ended.wait(), 10)
    finally:
        for subscription in subscriptions:
            subscription.close()
    of_scans = [one for one in every if one not in wanted]
    assert of_scans
    assert wanted == [one for one in every if one not in of_scans]


async def test_the_interfaces_of_one_radio(
    source: UdevAdapterSource, listener: Listener, adapters: Adapters
) -> None:
    plugged = adapters()
    first = await listener.present()
    run("iw", "dev", plugged.interface, "interface", "add", "wlan9", "type", "managed")
    second = await listener.present_as("wlan9")
    assert (second.radio, second.mode) == (first.radio, Mode.STATION)
    assert second.index > first.index
    run("nmcli", "device", "set", "wlan9", "managed", "no")
    run("ip", "link", "set", "wlan9", "down")
    for kind, mode in (("__ap", Mode.ACCESS_POINT), ("monitor", Mode.MONITOR), ("managed", Mode.STATION)):
        run("iw", "dev", "wlan9", "set", "type", kind)  # of which udev reports nothing
        await listener.present_as("wlan9", mode=mode)
    run("iw", "dev", "wlan9", "set", "type", "__ap")
    await listener.present_as("wlan9", mode=Mode.ACCESS_POINT, is_active=False)
    run("ip", "link", "set", "wlan9", "up")
    await listener.present_as("wlan9", is_active=True)
    run("iw", "dev", "wlan9", "del")
    async with asyncio.timeout(10):
        while await listener.reported.get() != "wlan9":
            pass


async def test_an_interface_that_moves_to_another_namespace_is_gone(
    source: UdevAdapterSource, listener: Listener, adapters: Adapters
) -> None:
    plugged = adapters()
    await listener.present()
    run("ip", "netns", "add", "elsewhere")
    try:
        run("iw", "phy", plugged.port, "set", "netns", "name", "elsewhere")
        assert await listener.gone() == plugged.interface
    finally:
        run("ip", "netns", "delete", "elsewhere")  # its radio comes back
    assert (await listener.present()).name == plugged.interface


async def test_a_restart_of_udevd_loses_nothing(
    source: UdevAdapterSource, listener: Listener, adapters: Adapters
) -> None:
    first = adapters()
    assert (await listener.present()).name == first.interface
    run("systemctl", "kill", "--signal=SIGKILL", "systemd-udevd.service")
    second = adapters()
    run("systemctl", "restart", "systemd-udevd.service")
    assert (await listener.present()).name == second.interface
    first.unplug()
    assert await listener.gone() == first.interface


async def test_a_real_overflow_is_made_up_for(
    listener: Listener, adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wifimgrd.daemon.udev._source._RECEIVE_BUFFER", 1)
    source = UdevAdapterSource(usb_ports(UsbDevices()))
    await source.start(listener)
    monitor = source._monitor
    gone, kept = adapters(), adapters()
    await listener.present()
    await listener.present()
    gone.unplug()
    new = adapters()
    run("ip", "link", "set", kept.interface, "down")
    stir(kept, 200)
    assert await listener.gone() == gone.interface
    assert (await listener.present()).identity.mac == new.permanent_address
    assert source._monitor is not monitor, "the kernel did not run out of buffer"
    assert listener.recounts > 0
    new.unplug()
    assert await listener.gone() == new.interface
    await source.stop()


async def test_a_burst_of_a_thousand_events(
    source: UdevAdapterSource, listener: Listener, adapters: Adapters
) -> None:
    plugged = adapters()
    await listener.present()
    stir(plugged, 1000)
    plugged.unplug()
    assert await listener.gone() == plugged.interface
