"""Adapters that are there, come, go, are renamed and blocked, on a fake host with udev's events."""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pyudev
import structlog

from tests.daemon.udev.testbed import FakeHost, Listener, Radio
from tests.daemon.udev.usb_host import PortMemory, usb_ports
from wifimgrd.daemon.udev import UdevAdapterSource, UsbDevices, UsbPorts
from wifimgrd.daemon.udev._usb_ports import Comeback, PortTimes
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, Mode


@pytest.fixture
def listener() -> Listener:
    return Listener()


def retry_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set how long the source waits where udev is not running."""
    monkeypatch.setattr("wifimgrd.daemon.udev._source._RETRY_S", seconds)


@pytest.fixture
async def source(
    host: FakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[UdevAdapterSource]:
    retry_after(monkeypatch, 3600)  # the tests are about events
    source = UdevAdapterSource(usb_ports(UsbDevices()), tmp_path / "no udevd")
    yield source
    await source.stop()


async def turn() -> None:
    """Let the event loop read udev's events."""
    for _ in range(3):
        await asyncio.sleep(0)


# What is there


@pytest.mark.slow
async def test_what_is_plugged_in_is_reported_before_start_returns(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0", "1-1.4", "00:e0:4c:01:02:03", serial="A1")
    host.adapter("mock1", "1-1.3", "00:e0:4c:01:02:04", product="Other")
    await source.start(listener)
    assert listener.reported.qsize() == 2
    assert await listener.present() == Adapter(
        name="mock0",
        identity=AdapterIdentity("00:e0:4c:01:02:03", "1-1.4", "A1"),
        driver="rtw88_8822bu",
        usb_vendor_id="0bda",
        usb_product_id="b812",
        usb_product="802.11ac NIC",
        radio=Path(radio.phy).name,
    )
    second = await listener.present()
    assert (second.name, second.usb_product, second.identity.usb_serial) == ("mock1", "Other", "")
    assert second.is_usb


async def test_a_built_in_interface_is_reported_too_and_is_not_on_usb(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    card = host.add("pci", "0000:02:00.0", None, {}, {})
    radio = host.radio(
        "mock0",
        card,
        properties={
            "ID_BUS": "pci",
            "ID_VENDOR_ID": "0x8086",
            "ID_MODEL_ID": "0x2723",
            "ID_SERIAL": "none of its own",
            "ID_NET_DRIVER": "iwlwifi",
        },
    )
    await source.start(listener)
    assert await listener.present() == Adapter(
        "mock0", AdapterIdentity("00:e0:4c:01:02:03"), driver="iwlwifi", radio=Path(radio.phy).name
    )


async def test_what_udev_alone_says_is_on_usb_counts_as_such(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    """So do the lab's simulated radios, which have no USB device behind them."""
    lab = {
        "ID_BUS": "usb",
        "ID_VENDOR_ID": "0BDA",
        "ID_MODEL_ID": "8812",
        "ID_USB_DRIVER": "rtl8812au",
        "ID_NET_DRIVER": "mac80211_hwsim",
        "ID_SERIAL": "labwifi_02:00:00:00:00:00",
        "ID_PATH": "platform-lab-usb-0:1.3:1.0",
    }
    radio = host.radio("mock0", None, "02:00:00:00:00:00", properties=lab)
    host.radio("mock1", None, "02:00:00:00:00:01", properties={"ID_BUS": "usb"})
    await source.start(listener)
    assert await listener.present() == Adapter(
        name="mock0",
        identity=AdapterIdentity("02:00:00:00:00:00", "0-1.3", "labwifi_02:00:00:00:00:00"),
        driver="rtl8812au",
        usb_vendor_id="0bda",
        usb_product_id="8812",
        radio=Path(radio.phy).name,
    )
    assert (await listener.present()).is_usb


async def test_what_is_not_wireless_is_passed_over(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    port = host.usb_port("1-1")
    host.add("net", "mock0", port, {"type": "1", "ifindex": "900000"}, {"INTERFACE": "mock0"})  # Ethernet
    await source.start(listener)
    assert listener.nothing_reported()


async def test_a_monitor_is_reported_as_one(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    host.radio("mon0", host.usb_port("1-1"), attributes={"type": "803"})
    await source.start(listener)
    assert (await listener.present()).mode is Mode.MONITOR


# Several interfaces of one radio


async def test_the_interfaces_of_one_radio_are_reported_as_such(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    host.call("set_attribute", radio.phy, "index", "7")
    host.interface("mock9", radio)
    host.adapter("mock1", "1-2")
    await source.start(listener)
    first, other, second = [await listener.present() for _ in range(3)]
    assert (first.name, second.name, other.name) == ("mock0", "mock9", "mock1")
    assert first.radio == second.radio == "phy/7" != other.radio
    assert first.index < second.index


async def test_a_station_uses_its_radio_once_it_has_joined_a_network(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    second = host.interface("mock9", radio, operstate="down")
    await source.start(listener)
    reported = {one.name: one for one in [await listener.present() for _ in range(2)]}
    assert {name: one.is_active for name, one in reported.items()} == {"mock0": False, "mock9": False}
    second.change(operstate="dormant")
    assert await listener.present() == replace(reported["mock9"], is_active=True)
    second.change(operstate="down")
    assert not (await listener.present()).is_active
    assert listener.nothing_reported()


async def test_a_monitor_uses_its_radio_while_it_is_up(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    await source.start(listener)
    await listener.present()
    monitor = host.interface("mon0", radio, type="803", flags="0x1003")
    assert (await listener.present()).is_active
    monitor.change(flags="0x1002")
    assert not (await listener.present()).is_active


async def test_an_interface_that_gets_a_neighbour_is_read_again_and_one_that_loses_it_too(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    """Else nothing depends on whether it uses its radio, which changes with each of its own links."""
    radio = host.radio("mock0", host.usb_port("1-1"), attributes={"operstate": "up"})
    await source.start(listener)
    assert not (await listener.present()).is_active
    second = host.interface("mock9", radio, operstate="down")
    reported = [await listener.present(), await listener.present()]
    assert {one.name: one.is_active for one in reported} == {"mock0": True, "mock9": False}
    second.pull()
    assert await listener.gone() == "mock9"
    assert not (await listener.present()).is_active


async def test_two_radios_of_one_usb_device_are_two(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    port = host.usb_port("1-1")
    host.radio("mock0", port, attributes={"operstate": "up"})
    host.radio("mock1", port)
    await source.start(listener)
    first, second = await listener.present(), await listener.present()
    assert first.radio != second.radio
    assert (first.is_active, second.is_active) == (True, False), "what one does matters to the other"


@pytest.mark.parametrize(
    ("attributes", "properties", "mac"),
    [
        ({}, {}, "00:e0:4c:01:02:03"),
        ({"addr_assign_type": "1"}, {}, ""),  # random
        ({"addr_assign_type": "3"}, {"ID_NET_NAME_MAC": "wlx00e04cffffff"}, "00:e0:4c:ff:ff:ff"),
        ({"address": "00:00:00:00:00:00"}, {}, ""),
        ({"address": "junk"}, {"ID_NET_NAME_MAC": "junk"}, ""),
    ],
)
async def test_the_address_is_the_permanent_one_or_none(
    host: FakeHost,
    source: UdevAdapterSource,
    listener: Listener,
    attributes: dict[str, str],
    properties: dict[str, str],
    mac: str,
) -> None:
    host.radio("mock0", host.usb_port("1-1"), attributes=attributes, properties=properties)
    await source.start(listener)
    assert (await listener.present()).identity.mac == mac


async def test_hostile_strings_are_made_harmless(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    port = host.usb_port("1-1", idVendor="../..", serial="\x1b[2J\x07serial")
    hostile = b"\xff\xfe evil \x1b]0;title\x07 \xe2\x80\xae txet " + "😀".encode() * 500
    host.call("set_attribute_binary", str(Path(port).parent), "product", hostile, len(hostile))
    host.radio("mock0", port, properties={"ID_VENDOR_ID": "0bda"})
    await source.start(listener)
    adapter = await listener.present()
    assert adapter.usb_product.startswith("\ufffd\ufffd evil ]0;title txet 😀")
    assert len(adapter.usb_product) <= 128
    assert adapter.usb_product.isprintable()
    assert adapter.identity.usb_serial == "[2J serial"
    assert adapter.usb_vendor_id == "0bda"


async def test_nothing_is_reported_until_udev_is_done_with_an_interface(
    host: FakeHost, listener: Listener, tmp_path: Path
) -> None:
    udevd = tmp_path / "udevd"
    udevd.touch()
    host.adapter("mock0")  # not in udev's database, which umockdev does not imitate
    source = UdevAdapterSource(usb_ports(UsbDevices()), udevd)
    await source.start(listener)
    assert listener.nothing_reported()
    await source.stop()


# Steps on USB ports


class PortSteps(UsbPorts):
    """Steps that are an act of the test's, on an adapter in one port."""

    def __init__(
        self, port: str, act: Callable[[], None], return_s: float = 5.0, *, is_new: bool = False
    ) -> None:
        super().__init__(UsbDevices(), PortMemory(), lambda: (), PortTimes(return_s=return_s))
        self._port = port
        self._act = act
        self._is_new = is_new
        self.restored = 0

    async def restore(self) -> None:
        self.restored += 1

    async def reset(self, port: str) -> Comeback:
        assert port == self._port
        self._act()
        return Comeback([port], self._is_new)

    cycle = reset


class MockUsb(UsbDevices):
    """All interfaces are in one port."""

    def __init__(self, port: str, radio: Radio) -> None:
        super().__init__()
        self._port = port
        self._radio = radio

    def port_of(self, interface: str) -> str:
        del interface
        return self._port

    def index_of(self, interface: str) -> int | None:
        del interface
        return self._radio.ifindex if Path(self._radio.path).exists() else None


@asynccontextmanager
async def with_steps(
    radio: Radio,
    listener: Listener,
    act: Callable[[], None],
    return_s: float = 5.0,
    *,
    is_new: bool = False,
) -> AsyncIterator[UdevAdapterSource]:
    """A source that has reported an adapter, on the port of which a step is an act of the test's."""
    ports = PortSteps("1-1.4", act, return_s, is_new=is_new)
    ports.devices = MockUsb("1-1.4", radio)
    source = UdevAdapterSource(ports, Path("/nonexistent"))
    await source.start(listener)
    assert ports.restored == 1
    await listener.present()
    yield source
    await source.stop()


async def test_a_step_returns_once_the_new_interface_is_reported(host: FakeHost, listener: Listener) -> None:
    radio = host.adapter("mock0", "1-1.4")
    async with with_steps(radio, listener, radio.pull) as source:
        step = asyncio.create_task(source.reset_port("mock0"))
        assert await listener.gone() == "mock0"
        await turn()
        assert not step.done()
        radio.plug_again()
        await asyncio.wait_for(step, 5)
        assert (await listener.present()).index == radio.ifindex


async def test_a_step_returns_for_a_driver_that_has_kept_its_interface(
    host: FakeHost, listener: Listener
) -> None:
    radio = host.adapter("mock0", "1-1.4")
    async with with_steps(radio, listener, lambda: None) as source:
        await asyncio.wait_for(source.reset_port("mock0"), 5)
        assert listener.nothing_reported()


async def test_a_step_waits_for_a_device_that_the_kernel_is_about_to_enumerate_anew(
    host: FakeHost, listener: Listener
) -> None:
    radio = host.adapter("mock0", "1-1.4")
    async with with_steps(radio, listener, lambda: None, is_new=True) as source:
        step = asyncio.create_task(source.reset_port("mock0"))
        await turn()
        assert not step.done(), "the old interface is still there"
        radio.pull()
        assert await listener.gone() == "mock0"
        radio.plug_again()
        await asyncio.wait_for(step, 5)
        assert (await listener.present()).index == radio.ifindex


async def test_another_adapter_that_comes_meanwhile_is_not_the_one_that_was_reset(
    host: FakeHost, listener: Listener
) -> None:
    radio = host.adapter("mock0", "1-1.4")
    async with with_steps(radio, listener, radio.pull) as source:
        step = asyncio.create_task(source.reset_port("mock0"))
        host.adapter("mock1", "1-1.3", "00:e0:4c:01:02:04")
        assert await listener.gone() == "mock0"
        await listener.present()
        await turn()
        assert not step.done()
        step.cancel()


@pytest.mark.parametrize(("step", "blames_hub"), [("reset_port", False), ("power_port", True)])
async def test_an_adapter_that_does_not_come_back_is_an_error_that_says_so(
    host: FakeHost, listener: Listener, step: str, blames_hub: bool
) -> None:
    radio = host.adapter("mock0", "1-1.4")
    async with with_steps(radio, listener, radio.pull, return_s=0.05) as source:
        with pytest.raises(TimeoutError, match=r"no adapter has come back in the USB port 1-1\.4") as raised:
            await getattr(source, step)("mock0")
        assert ("its hub may not switch" in str(raised.value.strerror)) is blames_hub


async def test_a_step_on_what_is_not_on_usb_is_told_from_other_errors(
    host: FakeHost, listener: Listener, source: UdevAdapterSource
) -> None:
    host.radio("mock0", host.add("pci", "0000:02:00.0", None, {}, {}))
    await source.start(listener)
    for step in (source.reset_port, source.power_port):
        with pytest.raises(FileNotFoundError, match="mock0 is not on USB"):
            await step("mock0")


# A udev that is not there


async def test_without_libudev_there_are_no_adapters_until_it_comes(
    host: FakeHost, listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = pyudev.Context

    def missing() -> Any:
        raise ImportError("No library named udev")

    retry_after(monkeypatch, 0)
    monkeypatch.setattr(pyudev, "Context", missing)
    source = UdevAdapterSource(usb_ports(UsbDevices()), tmp_path / "no udevd")
    host.adapter("mock0")
    with structlog.testing.capture_logs() as logs:
        await source.start(listener)
        for _ in range(5):
            await turn()
    assert listener.nothing_reported()
    assert [log["event"] for log in logs] == ["udev_unavailable"]
    monkeypatch.setattr(pyudev, "Context", there)
    assert (await listener.present()).name == "mock0"
    await source.stop()


async def test_a_udevd_that_comes_late_is_subscribed_to_anew(
    host: FakeHost, listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitors = 0
    new_monitor = pyudev.Monitor.from_netlink

    def counted(*arguments: Any) -> Any:
        nonlocal monitors
        monitors += 1
        return new_monitor(*arguments)

    monkeypatch.setattr(pyudev.Monitor, "from_netlink", counted)
    retry_after(monkeypatch, 0)
    source, udevd = UdevAdapterSource(usb_ports(UsbDevices()), tmp_path / "udevd"), tmp_path / "udevd"
    with structlog.testing.capture_logs() as logs:
        await source.start(listener)
        before = monitors
        udevd.touch()
        await turn()
        assert monitors == before + 1
        await turn()
        assert monitors == before + 1
        assert [log["event"] for log in logs] == ["udev_unavailable"]
        await source.stop()
        udevd.unlink()
        await source.start(listener)
    assert [log["event"] for log in logs] == ["udev_unavailable"] * 2, "it was well in between"
    await source.stop()


# What comes and goes


async def test_plugging_in_and_pulling_out(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    await source.start(listener)
    assert listener.nothing_reported()
    radio = host.adapter("mock0")
    adapter = await listener.present()
    radio.pull()
    assert await listener.gone() == "mock0"
    radio.plug_again()
    assert await listener.present() == adapter
    assert listener.nothing_reported()


async def test_an_adapter_pulled_and_plugged_in_at_once_is_reported_as_both(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    await source.start(listener)
    adapter = await listener.present()
    radio.pull()
    radio.plug_again()
    assert await listener.gone() == "mock0"
    assert await listener.present() == adapter


async def test_what_udev_calls_removed_is_gone_also_while_its_folder_still_stands(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    await source.start(listener)
    await listener.present()
    host.call("uevent", radio.path, "remove")
    assert await listener.gone() == "mock0"


async def test_a_late_word_of_an_adapter_whose_name_another_has_by_now_is_no_matter(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    await source.start(listener)
    await listener.present()
    host.call("set_property", radio.path, "IFINDEX", "899999")  # the value in the event
    host.call("uevent", radio.path, "remove")
    host.call("set_property", radio.path, "IFINDEX", str(radio.ifindex))
    other = host.adapter("mock1", "1-2", "00:e0:4c:01:02:05")
    assert (await listener.present()).name == other.name
    assert listener.nothing_reported()


async def test_a_change_of_nothing_is_not_reported(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    await source.start(listener)
    await listener.present()
    radio.change()
    host.adapter("mock1", "1-2", "00:e0:4c:01:02:05")
    assert (await listener.present()).name == "mock1"


async def test_a_rename_is_the_old_name_gone_and_the_new_one_present(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    await source.start(listener)
    adapter = await listener.present()
    radio.rename("camera-left")
    assert await listener.gone() == "mock0"
    assert await listener.present() == replace(adapter, name="camera-left")
    assert listener.nothing_reported()


async def test_two_adapters_that_swap_names(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    left = host.adapter("mock0", "1-1", "00:e0:4c:01:02:03")
    right = host.adapter("mock1", "1-2", "00:e0:4c:01:02:04")
    await source.start(listener)
    first, second = await listener.present(), await listener.present()
    left.rename("mock9")
    right.rename("mock0")
    left.rename("mock1")
    assert {await listener.gone(), await listener.gone()} == {"mock0", "mock1"}
    reported = [await listener.present(), await listener.present()]
    assert sorted(reported, key=lambda adapter: adapter.name) == [
        replace(second, name="mock0"),
        replace(first, name="mock1"),
    ]
    assert listener.nothing_reported()


async def test_nothing_is_reported_after_stop(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    await source.start(listener)
    await source.stop()
    host.adapter("mock0")
    await turn()
    assert listener.nothing_reported()
    await source.start(listener)
    assert (await listener.present()).name == "mock0"


# rfkill


async def test_rfkill_is_reported_as_it_changes(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    host.adapter("mock1", "1-2", "00:e0:4c:01:02:04")
    radio.block(soft=True)
    await source.start(listener)
    assert [(await listener.present()).rfkill for _ in range(2)] == ["soft-blocked", ""]
    for soft, hard, reported in (
        (True, True, "hard-blocked"),
        (False, False, ""),
        (False, True, "hard-blocked"),
        (True, False, "soft-blocked"),
    ):
        radio.block(soft, hard)
        adapter = await listener.present()
        assert (adapter.name, adapter.rfkill) == ("mock0", reported)
    assert listener.nothing_reported()


# Floods


class Inventory(Listener):
    """Holds what is present, and that gone and present come in turns."""

    def __init__(self) -> None:
        super().__init__()
        self.adapters: dict[str, Adapter] = {}
        self.count = 0

    def adapter_present(self, adapter: Adapter) -> None:
        self.count += 1
        self.adapters[adapter.name] = adapter

    def adapter_gone(self, name: str) -> None:
        self.count += 1
        del self.adapters[name]


@pytest.mark.parametrize("seed", range(2))
async def test_a_thousand_events_in_a_burst_end_in_what_is_there(
    host: FakeHost, source: UdevAdapterSource, seed: int
) -> None:
    draw = random.Random(seed)
    inventory = Inventory()
    radios = [host.adapter(f"mock{number}", f"1-{number + 1}") for number in range(4)]
    plugged = dict.fromkeys(range(4), True)
    await source.start(inventory)
    for number in range(1000):
        which = draw.randrange(4)
        if plugged[which]:
            radios[which].pull()
        else:
            radios[which].plug_again()
        plugged[which] = not plugged[which]
        if number % 4 == 3:  # umockdev's socket holds ten events
            await turn()
    await turn()
    assert inventory.adapters.keys() == {radios[which].name for which in range(4) if plugged[which]}
    assert inventory.count <= 1000 + 4


def lose_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel does when the socket's buffer is full: an error once, in place of the events."""
    there = pyudev.Monitor.poll

    def poll(*_: object) -> Any:
        monkeypatch.setattr(pyudev.Monitor, "poll", there)
        raise OSError(errno.ENOBUFS, "No buffer space available")

    monkeypatch.setattr(pyudev.Monitor, "poll", poll)


async def test_events_that_were_lost_are_made_up_for(
    host: FakeHost, source: UdevAdapterSource, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    radios: list[Radio] = [host.adapter(f"mock{number}", f"1-{number + 1}") for number in range(3)]
    await source.start(listener)
    before = [await listener.present() for _ in radios]
    with structlog.testing.capture_logs() as logs:
        lose_events(monkeypatch)
        radios[0].vanish()
        radios[1].rename("renamed", announce=False)
        host.call("set_attribute", radios[2].switch, "soft", "1")
        new = host.adapter("mock7", "1-7", "00:e0:4c:01:02:07")
        assert {await listener.gone(), await listener.gone()} == {"mock0", "mock1"}
        reported = {adapter.name: adapter for adapter in [await listener.present() for _ in range(3)]}
    assert reported["renamed"] == replace(before[1], name="renamed")
    assert reported["mock2"] == replace(before[2], rfkill="soft-blocked")
    assert reported["mock7"].identity.mac == new.attributes["address"]
    assert "lost" in logs[0]["event"]
    assert listener.nothing_reported()
    assert listener.recounts == 1

    new.pull()  # and the new monitor receives it
    assert await listener.gone() == "mock7"


# Firmware that crashes


@pytest.mark.parametrize("part", ["interface", "radio", "function", "usb device"])
async def test_a_dump_of_firmware_is_reported_for_the_adapter_of_which_the_driver_names_a_part(
    host: FakeHost, source: UdevAdapterSource, listener: Listener, part: str
) -> None:
    radio, _ = host.adapter("mock0"), host.adapter("mock1", "1-1.3", "00:e0:4c:01:02:04")
    await source.start(listener)
    assert radio.parent is not None
    failing = {
        "interface": radio.path,
        "radio": radio.phy,
        "function": radio.parent,
        "usb device": str(Path(radio.parent).parent),
    }
    dump = radio.dump(failing[part])
    host.call("uevent", dump, "remove")
    await turn()
    assert listener.failed == ["mock0"], "once, and of no other"


async def test_a_dump_of_a_built_in_adapter_is_reported(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    card = host.add("pci", "0000:02:00.0", None, {}, {})
    radio = host.radio("mock0", card)
    await source.start(listener)
    radio.dump(card)
    await turn()
    assert listener.failed == ["mock0"]


async def test_a_dump_of_the_bluetooth_of_an_adapter_is_not_its_own(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio = host.adapter("mock0")
    assert radio.parent is not None
    other = host.add("usb", "1-1.4:1.1", str(Path(radio.parent).parent), {}, {"DEVTYPE": "usb_interface"})
    bluetooth = host.add("bluetooth", "hci9", other, {}, {})
    await source.start(listener)
    for failing in (other, bluetooth):
        radio.dump(failing)
    await turn()
    assert listener.failed == []


async def test_a_dump_that_is_gone_or_old_or_of_an_adapter_that_is_gone_is_no_matter(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    radio, other = host.adapter("mock0"), host.adapter("mock1", "1-1.3", "00:e0:4c:01:02:04")
    await source.start(listener)
    assert radio.parent is not None
    host.call("remove_device", radio.dump(radio.parent))
    radio.dump(radio.parent, SYNTH_UUID="0")  # as `udevadm trigger` makes them, for a known one
    other.dump(other.path)
    other.vanish()
    await turn()
    assert listener.failed == []


async def test_a_dump_is_reported_for_an_adapter_that_came_with_it(
    host: FakeHost, source: UdevAdapterSource, listener: Listener
) -> None:
    await source.start(listener)
    radio = host.adapter("mock0")
    radio.dump(radio.phy)
    await turn()
    assert listener.failed == ["mock0"]
