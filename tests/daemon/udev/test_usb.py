"""Adapters on USB as the kernel shows them: their power while they are in use, and what is done to a port."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import structlog

from tests.daemon.udev.usb_host import PORT, Sysfs
from wifimgrd.daemon.udev._autosuspend import AutosuspendBlock
from wifimgrd.daemon.udev._usb import UsbDevices
from wifimgrd.domain.adapter import Adapter, AdapterIdentity
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Ssid
from wifimgrd.domain.events import InterfaceAdded, InterfaceChanged, InterfaceRemoved, SignalChanged
from wifimgrd.domain.interface import Interface, InterfaceState, InterfaceStatus
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._world import BriefMemory


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return Sysfs(tmp_path)


@pytest.mark.parametrize("whole", [False, True])
def test_the_power_of_the_usb_device_behind_an_interface_is_read_and_said(sysfs: Sysfs, whole: bool) -> None:
    device = sysfs.plug("wlan0", whole=whole)
    devices = sysfs.devices
    assert devices.control("wlan0") == "auto"
    devices.set_control("wlan0", "on")
    assert (device / "power" / "control").read_text() == "on"


@pytest.mark.parametrize("name", ["", ".", "..", "../net/wlan0", "wlan0/device", "lo", "wlan9"])
def test_what_is_no_wireless_interface_leads_nowhere(sysfs: Sysfs, name: str) -> None:
    device = sysfs.plug("wlan0")
    (sysfs.root / "class" / "net" / "lo").mkdir()
    devices = sysfs.devices
    assert devices.control(name) is None
    with pytest.raises(FileNotFoundError):
        devices.set_control(name, "on")
    with pytest.raises(FileNotFoundError):
        devices.port_of(name)
    assert (device / "power" / "control").read_text().strip() == "auto"


def test_a_built_in_interface_is_left_alone(sysfs: Sysfs) -> None:
    sysfs.plug("wlan0", usb=False)
    assert sysfs.devices.control("wlan0") is None


@pytest.mark.parametrize("whole", [False, True])
def test_the_port_of_an_interface_is_that_of_its_usb_device(sysfs: Sysfs, whole: bool) -> None:
    sysfs.plug("wlan0", whole=whole)
    assert sysfs.devices.port_of("wlan0") == PORT


def test_a_reset_goes_to_the_node_of_the_device(sysfs: Sysfs, monkeypatch: pytest.MonkeyPatch) -> None:
    sysfs.plug("wlan0")
    node = sysfs.add_node()
    asked: list[tuple[Path, int]] = []

    def note(file: int, request: int) -> None:
        asked.append((Path(f"/proc/self/fd/{file}").readlink(), request))

    monkeypatch.setattr("fcntl.ioctl", note)
    assert sysfs.devices.reset(PORT)
    assert asked == [(node, 0x5514)]


def fails(number: int) -> Callable[[int, int], None]:
    """An ioctl that fails."""

    def ioctl(file: int, request: int) -> None:
        raise OSError(number, f"{os.strerror(number)}: {file} {request}")

    return ioctl


def test_a_device_that_the_kernel_enumerates_anew_after_a_reset_was_reset(
    sysfs: Sysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENODEV is what the kernel says when the descriptors have changed, as with a firmware loader."""
    sysfs.plug("wlan0")
    sysfs.add_node()
    monkeypatch.setattr("fcntl.ioctl", fails(errno.ENODEV))
    assert not sysfs.devices.reset(PORT)


def test_a_reset_that_the_kernel_refuses_is_an_error(sysfs: Sysfs, monkeypatch: pytest.MonkeyPatch) -> None:
    sysfs.plug("wlan0")
    sysfs.add_node()
    monkeypatch.setattr("fcntl.ioctl", fails(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        sysfs.devices.reset(PORT)


def test_a_port_without_a_device_has_no_node_to_reset(sysfs: Sysfs) -> None:
    assert not sysfs.devices.can_reset(PORT)
    with pytest.raises(OSError, match="no device is in the USB port") as raised:
        sysfs.devices.reset(PORT)
    assert raised.value.errno == errno.ENODEV


def test_the_power_of_a_port_is_switched_at_its_hub(sysfs: Sysfs) -> None:
    switch, devices = sysfs.port("1-1:1.0", "1-1-port4"), sysfs.devices
    devices.switch(PORT, on=False)
    assert switch.read_text().startswith("1")
    devices.switch(PORT, on=True)
    assert switch.read_text().startswith("0")


def test_the_power_of_a_port_of_the_host_itself_is_switched(sysfs: Sysfs) -> None:
    switch = sysfs.port("2-0:1.0", "usb2-port3")
    sysfs.devices.switch("2-3", on=False)
    assert switch.read_text().startswith("1")


def test_an_older_kernel_is_told_from_a_refusal(sysfs: Sysfs) -> None:
    sysfs.port("1-1:1.0", "1-1-port4").unlink()
    with pytest.raises(OSError, match=r"Linux 6\.0") as raised:
        sysfs.devices.switch(PORT, on=False)
    assert raised.value.errno == errno.EOPNOTSUPP
    assert not (sysfs.root / "bus/usb/devices/1-1:1.0/1-1-port4/disable").exists(), "nothing is created"


@pytest.mark.parametrize("port", ["", "1", "../1-1", "1-1.4/..", "*-*", "1-1.*"])
def test_what_is_no_port_leads_nowhere(sysfs: Sysfs, port: str) -> None:
    sysfs.port("1-1:1.0", "1-1-port4")
    with pytest.raises(OSError, match="cannot be switched here"):
        sysfs.devices.switch(port, on=False)
    assert not sysfs.devices.is_off(port)
    assert not sysfs.devices.can_reset(port)


@pytest.mark.parametrize(
    ("port", "hub", "name", "peer", "other"),
    [
        ("1-1.4", "1-1:1.0", "1-1-port4", "2-1:1.0/2-1-port4", "2-1.4"),
        ("1-1.2.4", "1-1.2:1.0", "1-1.2-port4", "2-1.2:1.0/2-1.2-port4", "2-1.2.4"),
        ("1-4", "1-0:1.0", "usb1-port4", "usb2/2-0:1.0/usb2-port1", "2-1"),
        ("1-1.4", "1-1:1.0", "1-1-port4", "", None),
        ("1-1.4", "1-1:1.0", "1-1-port4", "something/else", None),
    ],
)
def test_the_other_half_of_a_usb_3_port_is_found(
    sysfs: Sysfs, port: str, hub: str, name: str, peer: str, other: str | None
) -> None:
    sysfs.port(hub, name, peer=peer)
    assert sysfs.devices.other_half(port) == other


class Switches(UsbDevices):
    """Notes which ports are switched, and refuses some."""

    def __init__(self, *refused: tuple[str, bool]) -> None:
        super().__init__()
        self.switched: list[tuple[str, bool]] = []
        self._refused = refused

    def switch(self, port: str, *, on: bool) -> None:
        self.switched.append((port, on))
        if (port, on) in self._refused:
            raise PermissionError(errno.EACCES, "Permission denied")


def test_both_halves_are_off_together_and_the_adapters_own_comes_on_first() -> None:
    switches = Switches()
    switches.cycle_power(["2-1.4", PORT], 0, threading.Event())
    assert switches.switched == [("2-1.4", False), (PORT, False), (PORT, True), ("2-1.4", True)]


def test_a_half_that_is_refused_leaves_the_other_one_on() -> None:
    switches = Switches((PORT, False))
    with pytest.raises(PermissionError):
        switches.cycle_power(["2-1.4", PORT], 60, threading.Event())
    assert switches.switched[-2:] == [(PORT, True), ("2-1.4", True)]


def test_a_half_that_does_not_come_on_keeps_the_other_one_not_off() -> None:
    switches = Switches((PORT, True))
    with pytest.raises(PermissionError):
        switches.cycle_power(["2-1.4", PORT], 0, threading.Event())
    assert switches.switched[-1] == ("2-1.4", True)


def test_nothing_is_switched_off_once_that_is_no_longer_wanted() -> None:
    switches, hurry = Switches(), threading.Event()
    hurry.set()
    switches.cycle_power([PORT], 60, hurry)
    assert switches.switched == []


class Devices(UsbDevices):
    """The values that were written to the devices, in order."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.written: asyncio.Queue[str] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def set_control(self, interface: str, control: str) -> None:
        super().set_control(interface, control)
        self._loop.call_soon_threadsafe(self.written.put_nowait, control)


class AutosuspendStage:
    """The hub's events and what comes of them."""

    def __init__(self, sysfs: Sysfs) -> None:
        self.sysfs = sysfs
        self.memory = BriefMemory()
        self.devices = Devices(sysfs.root)
        self.tasks = Tasks("test")
        self.awake = AutosuspendBlock(self.memory, self.devices, self.tasks, later_s=0)

    def publish_state(self, state: InterfaceState) -> None:
        adapter = Adapter("wlan0", AdapterIdentity(usb_port=PORT))
        device = DeviceId(1) if state is InterfaceState.IN_USE else None
        self.awake.publish(InterfaceChanged(InterfaceStatus(Interface(adapter), state, device_id=device)))

    def publish_signal(self) -> None:
        device = Device(DeviceId(1), "Camera", "x", Ssid(b"x"))
        self.awake.publish(SignalChanged(DeviceStatus(device, DeviceState.CONNECTED, "wlan0")))

    async def until(self, control: str) -> None:
        assert await asyncio.wait_for(self.devices.written.get(), 10) == control
        assert self.devices.control("wlan0") == control


@pytest.fixture
async def stage(sysfs: Sysfs) -> AsyncIterator[AutosuspendStage]:
    stage = AutosuspendStage(sysfs)
    stage.awake.start()
    yield stage
    await stage.awake.stop()


async def test_an_adapter_is_kept_awake_while_it_is_in_use(sysfs: Sysfs, stage: AutosuspendStage) -> None:
    sysfs.plug("wlan0")
    stage.publish_state(InterfaceState.IN_USE)
    await stage.until("on")
    stage.publish_state(InterfaceState.AVAILABLE)
    await stage.until("auto")


async def test_an_adapter_is_kept_awake_while_another_of_its_interfaces_is_idle(
    sysfs: Sysfs, stage: AutosuspendStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysfs.plug("wlan0")
    sysfs.add_interface("wlan9")
    stage.publish_state(InterfaceState.IN_USE)
    await stage.until("on")
    found: asyncio.Queue[str | None] = asyncio.Queue()
    loop, control = asyncio.get_running_loop(), stage.devices.control

    def read(interface: str) -> str | None:
        loop.call_soon_threadsafe(found.put_nowait, control(interface))
        return control(interface)

    monkeypatch.setattr(stage.devices, "control", read)
    other = Interface(Adapter("wlan9", AdapterIdentity(usb_port=PORT)))
    idle = InterfaceStatus(other, InterfaceState.UNAVAILABLE, "shares the radio of wlan0")
    for event in (InterfaceAdded(idle), InterfaceRemoved("wlan9"), InterfaceAdded(idle)):
        stage.awake.publish(event)
    stage.publish_signal()
    assert await asyncio.wait_for(found.get(), 10) == "on"
    stage.publish_state(InterfaceState.AVAILABLE)
    await stage.until("auto")


async def test_an_adapter_that_never_slept_stays_as_it_was_found(
    sysfs: Sysfs, stage: AutosuspendStage
) -> None:
    sysfs.plug("wlan0", control="on")
    stage.publish_state(InterfaceState.IN_USE)
    stage.publish_state(InterfaceState.AVAILABLE)
    await stage.awake.stop()
    assert stage.devices.control("wlan0") == "on"


async def test_a_stop_leaves_every_adapter_as_it_was_found(sysfs: Sysfs, stage: AutosuspendStage) -> None:
    sysfs.plug("wlan0")
    stage.publish_state(InterfaceState.IN_USE)
    await stage.until("on")
    await stage.awake.stop()
    assert stage.devices.control("wlan0") == "auto"


async def test_what_a_crash_left_is_given_back_by_the_next_life(
    sysfs: Sysfs, stage: AutosuspendStage
) -> None:
    sysfs.plug("wlan0")
    stage.publish_state(InterfaceState.IN_USE)
    await stage.until("on")
    after = AutosuspendBlock(stage.memory, stage.devices, Tasks("test"))
    stage.tasks.cancel()
    stage.awake = after
    after.start()
    stage.publish_state(InterfaceState.AVAILABLE)
    await stage.until("auto")


async def test_a_change_by_somebody_else_is_reported_and_put_right(
    sysfs: Sysfs, stage: AutosuspendStage
) -> None:
    sysfs.plug("wlan0")
    stage.publish_state(InterfaceState.IN_USE)
    await stage.until("on")
    stage.publish_signal()
    with structlog.testing.capture_logs() as logs:
        sysfs.devices.set_control("wlan0", "auto")
        stage.publish_signal()
        await stage.until("on")
    assert [log["interface"] for log in logs if log["event"] == "adapter_drifted"] == ["wlan0"]


async def test_a_refusal_is_reported_once(
    sysfs: Sysfs, stage: AutosuspendStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the package's udev rule is not installed."""
    sysfs.plug("wlan0")
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def refuse(*_: object) -> None:
        loop.call_soon_threadsafe(asked.set)
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(stage.devices, "set_control", refuse)
    with structlog.testing.capture_logs() as logs:
        for _ in range(2):
            stage.publish_state(InterfaceState.IN_USE)
            await asyncio.wait_for(asked.wait(), 10)
            asked.clear()
        await stage.awake.stop()
    assert [log["reason"] for log in logs if log["event"] == "usb_power_unchanged"] == ["Permission denied"]


async def test_an_adapter_that_was_pulled_has_nothing_to_be_given_back(
    sysfs: Sysfs, stage: AutosuspendStage
) -> None:
    sysfs.plug("wlan0")
    stage.publish_state(InterfaceState.IN_USE)
    await stage.until("on")
    stage.awake.publish(InterfaceRemoved("wlan0"))
    assert stage.memory.recall(f"usb-power/{PORT}") is None
