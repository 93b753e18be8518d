"""Wi-Fi power save that is switched on while a camera is connected: noticed, logged once, corrected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.bus.connection import BusError
from wifimgrd.daemon.helper_client.power_save import LATER_S, PowerSaveMonitor
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Ssid
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.events import DeviceRemoved, DeviceStateChanged, SignalChanged
from wifimgrd.helper import _interfaces as interfaces
from wifimgrd.helper import _wireless as wireless
from wifimgrd.helper._wireless import end_power_save
from wifimgrd.runtime.tasks import Tasks

CAMERA = Device(DeviceId(1), "Camera", "x", Ssid(b"x"))


class Host:
    """A helper, and the hub's events."""

    def __init__(self) -> None:
        self.on: set[str] = set()
        self.stuck = False
        self.asked: list[str] = []
        self.refusal: BusError | None = None
        self.watch = PowerSaveMonitor(self.end_power_save, Tasks("test"))

    async def end_power_save(self, interface: str) -> bool:
        self.asked.append(interface)
        if self.refusal is not None:
            raise self.refusal
        was_on = interface in self.on
        if not self.stuck:
            self.on.discard(interface)
        return was_on

    def connect(self) -> None:
        self.watch.publish(DeviceStateChanged(DeviceStatus(CAMERA, DeviceState.CONNECTED, "wlan0")))

    def disconnect(self) -> None:
        self.watch.publish(DeviceStateChanged(DeviceStatus(CAMERA)))

    def publish_signal(self) -> None:
        self.watch.publish(SignalChanged(DeviceStatus(CAMERA, DeviceState.CONNECTED, "wlan0")))

    async def look(self) -> None:
        """An event of the link, and enough time for the check."""
        self.publish_signal()
        await asyncio.sleep(LATER_S + 1)


def on_host(test: Callable[[Host], Coroutine[Any, Any, None]]) -> list[str]:
    """Run a test; returns the logged reasons of drifted adapters."""

    async def whole() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: accidents.append(context))
        host = Host()
        await test(host)
        await host.watch.stop()

    accidents: list[dict[str, Any]] = []
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner, structlog.testing.capture_logs() as logs:
        runner.run(whole())
    assert accidents == []
    return [f"{log['interface']}: {log['reason']}" for log in logs if log["event"] == "adapter_drifted"]


SWITCHED_ON = "wlan0: Wi-Fi power save was switched on"


def test_what_was_switched_on_is_switched_off_and_reported_each_time() -> None:
    async def test(host: Host) -> None:
        host.connect()
        await asyncio.sleep(LATER_S + 1)
        for _ in range(2):
            host.on.add("wlan0")
            await host.look()
            assert host.on == set()
            await host.look()

    assert on_host(test) == [SWITCHED_ON] * 2


def test_many_occasions_are_one_look_and_it_is_not_at_once() -> None:
    async def test(host: Host) -> None:
        host.connect()
        for _ in range(20):
            host.publish_signal()
            await asyncio.sleep(LATER_S / 25)
        assert host.asked == []
        await asyncio.sleep(LATER_S)
        assert host.asked == ["wlan0"]
        await asyncio.sleep(10 * LATER_S)
        assert host.asked == ["wlan0"], "nothing was reported since"

    assert on_host(test) == []


@pytest.mark.parametrize("removed", [False, True])
def test_an_adapter_that_no_camera_has_any_more_is_left_alone(removed: bool) -> None:
    async def test(host: Host) -> None:
        host.connect()
        host.on.add("wlan0")
        if removed:
            host.watch.publish(DeviceRemoved(CAMERA.id))
        else:
            host.disconnect()
        await asyncio.sleep(2 * LATER_S)
        assert host.asked == []

    assert on_host(test) == []


def test_what_cannot_be_switched_off_is_reported_once() -> None:
    async def test(host: Host) -> None:
        host.connect()
        host.on.add("wlan0")
        host.stuck = True
        for _ in range(3):
            await host.look()
        assert host.asked == ["wlan0"] * 3

    assert on_host(test) == [SWITCHED_ON]


def test_what_cannot_be_known_is_asked_for_again_and_not_reported() -> None:
    async def test(host: Host) -> None:
        host.connect()
        host.refusal = BusError("org.wifimgrd1.Error.Failed", "command failed: Operation not supported (-95)")
        await host.look()
        host.refusal = None
        host.on.add("wlan0")
        await host.look()
        assert host.on == set()

    assert on_host(test) == [SWITCHED_ON]


# The part of the helper, on a substitute for the kernel; the lab tests use the real one


@dataclass
class Kernel:
    """Has the power save of `wlan0`."""

    on: bool = True
    requests: list[str] = field(default_factory=list)
    unknown: OSError | None = None
    refusal: OSError | None = None

    def has_power_save(self, index: int) -> bool:
        self.requests.append(f"get {index}")
        if self.unknown:
            raise self.unknown
        return self.on

    def end_power_save(self, index: int) -> None:
        self.requests.append(f"off {index}")
        if self.refusal:
            raise self.refusal
        self.on = False


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    (tmp_path / "wlan0" / "phy80211").mkdir(parents=True)
    (tmp_path / "lo").mkdir()
    kernel = Kernel()
    monkeypatch.setattr(interfaces, "INTERFACES", tmp_path)
    monkeypatch.setattr(wireless, "nl80211", kernel)
    monkeypatch.setattr("socket.if_nametoindex", {"wlan0": 7}.__getitem__)
    return kernel


def test_power_save_is_switched_off_where_it_is_on(kernel: Kernel) -> None:
    assert end_power_save("wlan0")
    assert not kernel.on
    assert not end_power_save("wlan0")
    assert kernel.requests == ["get 7", "off 7", "get 7"]


def test_a_driver_that_refuses_is_reported_to_the_journal(kernel: Kernel) -> None:
    kernel.refusal = OSError(95, "Operation not supported")
    with structlog.testing.capture_logs() as logs:
        assert end_power_save("wlan0")
    assert [(log["event"], log["reason"]) for log in logs] == [
        ("power_save_unchanged", "[Errno 95] Operation not supported")
    ]


def test_a_driver_without_power_save_leaves_it_unknown(kernel: Kernel) -> None:
    kernel.unknown = OSError(95, "Operation not supported")
    with pytest.raises(OSError, match="not supported"):
        end_power_save("wlan0")
    assert kernel.requests == ["get 7"]


@pytest.mark.parametrize("interface", ["", ".", "..", "lo", "wlan9", "wlan0/phy80211", "--version"])
def test_nothing_but_a_wireless_interface_is_asked_for(kernel: Kernel, interface: str) -> None:
    with pytest.raises(InvalidRequest):
        end_power_save(interface)
    assert not kernel.requests
