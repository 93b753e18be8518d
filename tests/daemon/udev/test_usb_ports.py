"""Recovery steps on USB ports: which are taken, and that a port has power afterwards whatever happens."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog

from tests.daemon.udev.usb_host import PORT, PortMemory, Sysfs
from wifimgrd.daemon.udev import UsbDevices, UsbPorts
from wifimgrd.daemon.udev._usb_ports import Comeback, PortTimes
from wifimgrd.domain.errors import InternalError

OTHER_HALF = "2-1.4"
NOTE = "usb-ports-off"
LONG_S = 600.0


class Devices(UsbDevices):
    """The product's, with a report of each switch that was made."""

    def __init__(self, sysfs: Sysfs) -> None:
        super().__init__(sysfs.root, sysfs.usbfs)
        self.switched: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self.before_switch: Callable[[str, bool], None] = lambda port, on: None
        self.resets: list[str] = []
        self.refused: list[bool] = []
        """The next answers of udev to whether the node is this user's; then it is."""
        self.stays_same = True
        self.on_reset: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()

    def switch(self, port: str, *, on: bool) -> None:
        self.before_switch(port, on)
        super().switch(port, on=on)
        self._loop.call_soon_threadsafe(self.switched.put_nowait, (port, on))

    def can_reset(self, port: str) -> bool:
        del port
        return self.refused.pop(0) if self.refused else True

    def reset(self, port: str) -> bool:
        self.resets.append(port)
        self.on_reset()
        return self.stays_same

    async def until(self, port: str, *, on: bool) -> None:
        """Wait for the next switch."""
        assert await asyncio.wait_for(self.switched.get(), 10) == (port, on)


class Stage:
    """A hub with an adapter in a port."""

    def __init__(self, root: Path) -> None:
        self.sysfs = Sysfs(root)
        self.file = self.sysfs.port("1-1:1.0", "1-1-port4")
        self.devices = Devices(self.sysfs)
        self.memory = PortMemory()
        self.named = {PORT}

    def ports(self, off_s: float = 0.0, **times: float) -> UsbPorts:
        """The steps on its ports, in a new life of the daemon."""
        return UsbPorts(self.devices, self.memory, lambda: self.named, PortTimes(off_s=off_s, **times))

    @property
    def is_on(self) -> bool:
        return not self.devices.is_off(PORT)

    @property
    def noted(self) -> str | None:
        return self.memory.recall(NOTE)

    async def without_power(self, ports: UsbPorts) -> asyncio.Task[object]:
        """A step that has switched the port off."""
        step = asyncio.create_task(ports.cycle(PORT))
        await self.devices.until(PORT, on=False)
        assert self.noted == PORT
        return step


@pytest.fixture
async def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """udev is asked again at once."""
    monkeypatch.setattr("wifimgrd.daemon.udev._usb_ports._AGAIN_S", 0.001)


# A reset


async def test_a_port_is_reset_once(stage: Stage) -> None:
    assert await stage.ports().reset(PORT) == Comeback({PORT})
    assert stage.devices.resets == [PORT]


async def test_a_device_that_is_enumerated_anew_after_a_reset_comes_back_as_another_one(stage: Stage) -> None:
    stage.devices.stays_same = False
    assert await stage.ports().reset(PORT) == Comeback({PORT}, is_new=True)


async def test_a_reset_waits_until_udev_has_given_the_node_away(stage: Stage, again_soon: None) -> None:
    stage.devices.refused = [False] * 20
    await stage.ports().reset(PORT)
    assert (stage.devices.refused, stage.devices.resets) == ([], [PORT])


async def test_a_node_that_udev_never_gives_away_ends_in_the_kernels_refusal(
    stage: Stage, again_soon: None
) -> None:
    def refuse() -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    stage.devices.refused, stage.devices.on_reset = [False] * 1000, refuse
    with pytest.raises(PermissionError, match="Permission denied"):
        await stage.ports(node_s=0.02).reset(PORT)
    assert stage.devices.refused, "it was not waited for ever"


@pytest.mark.parametrize("number", [errno.ENODEV, errno.EACCES, errno.EIO])
async def test_a_reset_that_the_kernel_refuses_is_an_error(stage: Stage, number: int) -> None:
    def refuse() -> None:
        raise OSError(number, "no")

    stage.devices.on_reset = refuse
    with pytest.raises(OSError, match="no") as raised:
        await stage.ports().reset(PORT)
    assert raised.value.errno == number


async def test_a_reset_is_not_over_before_its_thread_is(stage: Stage) -> None:
    """As while the driver of an adapter does not let go of it: who believes it over uses the adapter."""
    goes_on, ended = threading.Event(), threading.Event()

    def hang() -> None:
        assert_set(goes_on)
        ended.set()

    stage.devices.on_reset = hang
    ports = stage.ports(node_s=0.01, switch_s=0.01, return_s=0.01)
    step = asyncio.create_task(ports.reset(PORT))
    done, _ = await asyncio.wait((step,), timeout=0.05)
    goes_on.set()
    assert not done
    await step
    assert ended.is_set()


def assert_set(event: threading.Event) -> None:
    assert event.wait(10)


# Power off and on


async def test_a_port_is_switched_off_and_on(stage: Stage) -> None:
    assert await stage.ports().cycle(PORT) == Comeback([PORT])
    await stage.devices.until(PORT, on=False)
    await stage.devices.until(PORT, on=True)
    assert stage.is_on
    assert stage.noted is None


async def test_an_unnamed_port_keeps_its_power(stage: Stage) -> None:
    stage.named = {"1-1.3"}
    with pytest.raises(PermissionError, match=r"USB port 1-1\.4 is not one of `power_ports`"):
        await stage.ports().cycle(PORT)
    assert stage.devices.switched.empty()
    assert stage.noted is None


async def test_a_port_whose_other_half_is_unnamed_keeps_its_power(stage: Stage) -> None:
    stage.sysfs.port("2-1:1.0", "2-1-port4")
    (stage.file.parent / "peer").symlink_to("../../2-1:1.0/2-1-port4")
    with pytest.raises(PermissionError, match=r"other half: the USB port 2-1\.4 is not one"):
        await stage.ports().cycle(PORT)
    assert stage.devices.switched.empty()


async def test_both_halves_of_a_named_port_are_switched(stage: Stage) -> None:
    stage.sysfs.port("2-1:1.0", "2-1-port4")
    (stage.file.parent / "peer").symlink_to("../../2-1:1.0/2-1-port4")
    stage.named = {PORT, OTHER_HALF}
    assert set((await stage.ports().cycle(PORT)).ports) == {PORT, OTHER_HALF}
    for port, on in ((OTHER_HALF, False), (PORT, False), (PORT, True), (OTHER_HALF, True)):
        await stage.devices.until(port, on=on)
    assert stage.noted is None


async def test_what_is_to_be_off_is_on_disk_before_it_is(stage: Stage) -> None:
    order: list[str] = []

    async def flush() -> None:
        order.append(f"on disk: {stage.noted}")

    stage.memory.flush = flush  # type: ignore[method-assign]
    stage.devices.before_switch = lambda port, on: order.append(f"{port} {on}")
    await stage.ports().cycle(PORT)
    assert order == [f"on disk: {PORT}", f"{PORT} False", f"{PORT} True"]


async def test_what_cannot_be_noted_is_not_switched_off(stage: Stage) -> None:
    async def flush() -> None:
        raise InternalError("the disk is full")

    stage.memory.flush = flush  # type: ignore[method-assign]
    with pytest.raises(OSError, match="cannot be noted: the disk is full"):
        await stage.ports().cycle(PORT)
    assert stage.devices.switched.empty()
    assert stage.noted is None


async def test_a_refusal_leaves_the_port_on_and_nothing_noted(stage: Stage) -> None:
    def refuse(port: str, on: bool) -> None:
        raise PermissionError(errno.EACCES, f"Permission denied: {port} {on}")

    stage.devices.before_switch = refuse
    with pytest.raises(PermissionError):
        await stage.ports().cycle(PORT)
    assert stage.is_on
    assert stage.noted is None


async def test_a_step_that_is_cancelled_while_the_port_is_off_switches_it_on_at_once(stage: Stage) -> None:
    ports = stage.ports(off_s=LONG_S)
    step = await stage.without_power(ports)
    step.cancel()
    await stage.devices.until(PORT, on=True)
    await ports.stop()
    assert step.cancelled()
    assert stage.noted is None


async def test_a_step_that_is_cancelled_before_it_begins_does_nothing(stage: Stage) -> None:
    step = asyncio.create_task(stage.ports().cycle(PORT))
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert stage.devices.switched.empty()
    assert stage.noted is None


async def test_a_step_that_is_cancelled_while_it_is_noted_switches_nothing(stage: Stage) -> None:
    is_writing = asyncio.Event()

    async def flush() -> None:
        is_writing.set()
        await asyncio.Event().wait()

    stage.memory.flush = flush  # type: ignore[method-assign]
    step = asyncio.create_task(stage.ports().cycle(PORT))
    await is_writing.wait()
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert stage.devices.switched.empty()
    assert stage.noted is None


async def test_a_stop_switches_on_what_is_off(stage: Stage) -> None:
    ports = stage.ports(off_s=LONG_S)
    step = await stage.without_power(ports)
    await ports.stop()
    await step
    assert stage.is_on
    assert stage.noted is None


async def test_a_switch_that_hangs_is_not_over_before_its_thread_is_and_ends_with_power(stage: Stage) -> None:
    """As while the driver of an adapter does not let go of it."""
    goes_on = threading.Event()
    stage.devices.before_switch = lambda port, on: None if on else assert_set(goes_on)
    step = asyncio.create_task(stage.ports(switch_s=0.01).cycle(PORT))
    done, _ = await asyncio.wait((step,), timeout=0.05)
    assert stage.noted == PORT
    goes_on.set()
    assert not done
    await step
    assert stage.is_on
    assert stage.noted is None


async def test_a_port_that_does_not_come_on_stays_noted_and_is_told(stage: Stage) -> None:
    def refuse(port: str, on: bool) -> None:
        if on:
            raise OSError(errno.EIO, f"no: {port}")

    stage.devices.before_switch = refuse
    with structlog.testing.capture_logs() as logs, pytest.raises(OSError, match="no"):
        await stage.ports().cycle(PORT)
    assert stage.noted == PORT
    assert [log["port"] for log in logs if log["event"] == "usb_port_left_off"] == [PORT]


# The next start


async def test_the_next_start_switches_on_what_a_killed_daemon_has_left_off(stage: Stage) -> None:
    stage.file.write_text("1\n")
    stage.memory.note(NOTE, PORT)
    stage.named.clear()
    await stage.ports().restore()
    assert stage.is_on
    assert stage.noted is None


async def test_a_start_without_a_note_switches_nothing(stage: Stage) -> None:
    stage.file.write_text("1\n")
    await stage.ports().restore()
    assert stage.devices.switched.empty()
    assert not stage.is_on


@pytest.mark.parametrize("note", [" ", "/etc/passwd ../1", "1-1.4/../x", "1-1.9"])
async def test_a_note_of_no_port_that_is_there_is_forgotten(stage: Stage, note: str) -> None:
    stage.memory.note(NOTE, note)
    await stage.ports().restore()
    assert stage.devices.switched.empty()
    assert stage.noted is None


async def test_a_port_that_cannot_be_switched_on_stays_noted(stage: Stage) -> None:
    def refuse(port: str, on: bool) -> None:
        raise PermissionError(errno.EACCES, f"Permission denied: {port} {on}")

    stage.file.write_text("1\n")
    stage.memory.note(NOTE, f"{PORT} 1-1.9")
    stage.devices.before_switch = refuse
    with structlog.testing.capture_logs() as logs:
        await stage.ports().restore()
    assert stage.noted == PORT
    assert [log["port"] for log in logs if log["log_level"] == "warning"] == [PORT]


async def test_a_start_does_not_wait_for_a_port_that_hangs(stage: Stage) -> None:
    goes_on = threading.Event()
    stage.file.write_text("1\n")
    stage.memory.note(NOTE, PORT)
    stage.devices.before_switch = lambda port, on: assert_set(goes_on)
    await stage.ports(switch_s=0.01).restore()
    assert stage.noted == PORT, "the next start tries again"
    goes_on.set()
