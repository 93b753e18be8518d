"""Adapters on USB as the kernel shows them: their power while they are in use, and plugging in anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog

from wifimgrd.daemon.udev._autosuspend import AutosuspendBlock
from wifimgrd.daemon.udev._usb import UsbDevices
from wifimgrd.domain.adapter import Adapter, AdapterIdentity
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Ssid
from wifimgrd.domain.events import InterfaceAdded, InterfaceChanged, InterfaceRemoved, SignalChanged
from wifimgrd.domain.interface import Interface, InterfaceState, InterfaceStatus
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._world import BriefMemory

PORT = "1-1.4"


class Sysfs:
    """The kernel's tree, in which links lead where they lead there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "class" / "net").mkdir(parents=True)

    def plug(self, name: str, *, usb: bool = True, control: str = "auto", whole: bool = False) -> Path:
        """An adapter below a hub; `whole`: its driver names the device, not the interface, as the parent."""
        device = self.root / "devices" / "usb1" / "1-1" / PORT
        interface = device if whole else device / f"{PORT}:1.0"
        net = interface / "net" / name
        net.mkdir(parents=True)
        (net / "device").symlink_to("../..")
        (net / "phy80211").symlink_to("../../ieee80211/phy0")
        (interface / "ieee80211" / "phy0").mkdir(parents=True)
        (device / "power").mkdir()
        (device / "power" / "control").write_text(control + "\n")
        (device / "authorized").write_text("1\n")
        if usb:
            (device / "idVendor").write_text("0bda\n")
            (device.parent / "idVendor").write_text("1a40\n")
        (self.root / "class" / "net" / name).symlink_to(net)
        return device

    def add_interface(self, name: str) -> None:
        """Another interface of the adapter."""
        net = self.root / "devices" / "usb1" / "1-1" / PORT / f"{PORT}:1.0" / "net" / name
        net.mkdir()
        (net / "device").symlink_to("../..")
        (net / "phy80211").symlink_to("../../ieee80211/phy0")
        (self.root / "class" / "net" / name).symlink_to(net)


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return Sysfs(tmp_path)


@pytest.mark.parametrize("whole", [False, True])
def test_the_power_of_the_usb_device_behind_an_interface_is_read_and_said(sysfs: Sysfs, whole: bool) -> None:
    device = sysfs.plug("wlan0", whole=whole)
    devices = UsbDevices(sysfs.root)
    assert devices.control("wlan0") == "auto"
    devices.set_control("wlan0", "on")
    assert (device / "power" / "control").read_text() == "on"


@pytest.mark.parametrize("name", ["", ".", "..", "../net/wlan0", "wlan0/device", "lo", "wlan9"])
def test_what_is_no_wireless_interface_leads_nowhere(sysfs: Sysfs, name: str) -> None:
    device = sysfs.plug("wlan0")
    (sysfs.root / "class" / "net" / "lo").mkdir()
    devices = UsbDevices(sysfs.root)
    assert devices.control(name) is None
    with pytest.raises(FileNotFoundError):
        devices.set_control(name, "on")
    with pytest.raises(FileNotFoundError):
        devices.replug(name)
    assert (device / "power" / "control").read_text().strip() == "auto"
    assert (device / "authorized").read_text().strip() == "1"


def test_a_built_in_interface_is_left_alone(sysfs: Sysfs) -> None:
    sysfs.plug("wlan0", usb=False)
    assert UsbDevices(sysfs.root).control("wlan0") is None


def test_an_adapter_is_plugged_in_anew(sysfs: Sysfs, monkeypatch: pytest.MonkeyPatch) -> None:
    device = sysfs.plug("wlan0")
    written: list[tuple[Path, str]] = []

    def note(path: Path, text: str) -> None:
        written.append((path.resolve(), text))

    monkeypatch.setattr(Path, "write_text", note)
    UsbDevices(sysfs.root).replug("wlan0")
    authorized = device.resolve() / "authorized"
    assert written == [(authorized, "0"), (authorized, "1")]


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
        UsbDevices(sysfs.root).set_control("wlan0", "auto")
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
