"""What a connect, a disconnect or a registration costs does not grow with the adapters and devices that have
no part in it.

Counted are the lines of our code that are executed, which vary with nothing else; `make bench` measures time.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import wifimgrd
from tests.daemon.manager.conftest import Bench, make_bench
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.adapter import AdapterPin
from wifimgrd.domain.addresses import AddressPlan
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.group import Group
from wifimgrd.domain.reservation import ReservationRule

pytestmark = pytest.mark.slow

OURS = str(Path(wifimgrd.__file__).parent)
SCENARIO = """\
adapter_count = {adapters}
camera_count = {devices}
[times]
join_s = 0.0
leave_s = 0.0
scan_s = 10.0
"""
"""Scans so slow that all free adapters are busy with lost cameras, of which there are more."""
SUBJECTS = [DeviceId(number) for number in range(1, 5)]
"""The devices that are connected and disconnected; adapters are left free for them."""
FREE = 8


@contextmanager
def counted_lines() -> Iterator[Counter[str]]:
    """By module."""
    lines: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(OURS):
            return None
        if event == "line":
            lines[name.removeprefix(OURS)] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


async def connect_and_disconnect(bench: Bench) -> None:
    for device in SUBJECTS:
        await bench.hub.connections.connect(device, wait=True)
        bench.hub.summary()
    for device in SUBJECTS:
        await bench.hub.connections.disconnect(device)
        bench.hub.summary()


async def lost(bench: Bench, devices: list[int]) -> None:
    """Connect cameras, then switch them off for good."""
    for device in devices:
        await bench.hub.connections.connect(DeviceId(device), wait=True)
    for device in devices:
        bench.world.power_off_camera(b"SIM-CAM-%d" % device, True)
    await asyncio.sleep(20)


def scenario(folder: Path, adapters: int, devices: int) -> Path:
    written = folder / f"{adapters}x{devices}.toml"
    written.write_text(SCENARIO.format(adapters=adapters, devices=devices))
    return written


async def cost(scenario: Path, adapters: int, devices: int, *, troubled: bool) -> Counter[str]:
    """With all but some adapters in use. In a troubled world all other cameras are lost, and an adapter that
    is in use needs recovery."""
    plan = AddressPlan(IPv4Network("10.77.0.0/16"))
    bench = make_bench(HubSettings(connect_on_create=False, addresses=plan), scenario=scenario)
    bench.chance.seed(1)
    await bench.hub.start()
    bench.story.interfaces |= {one.interface.name: one for one in bench.hub.interface_statuses()}
    for number in range(1, devices + 1):
        await bench.create(number)
    used, others = adapters - FREE, list(range(len(SUBJECTS) + 1, devices + 1))
    if troubled:
        for first in range(used, len(others), used):
            await lost(bench, others[first : first + used])
    for device in others[:used]:
        await bench.hub.connections.connect(DeviceId(device), wait=True)
    if troubled:
        interface = bench.story.devices[DeviceId(others[0])].interface
        bench.world.set_fault("adapter-stuck", {"interface": interface, "heals": "rescan", "crashed": True})
    await connect_and_disconnect(bench)
    with counted_lines() as lines:
        await connect_and_disconnect(bench)
    states = Counter(status.state for status in bench.hub.device_statuses())
    assert states == {DeviceState.CONNECTED: used, DeviceState.DISCONNECTED: devices - used}
    await bench.hub.stop()
    return lines


@pytest.mark.parametrize("troubled", [False, True])
def test_a_connect_costs_as_much_among_many_as_among_few(tmp_path: Path, troubled: bool) -> None:
    small, big = (12, 44), (256, 1000)
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        few = runner.run(cost(scenario(tmp_path, *small), *small, troubled=troubled))
        many = runner.run(cost(scenario(tmp_path, *big), *big, troubled=troubled))
    assert many.total() <= 1.1 * few.total(), (many - few).most_common(5)


async def registrations(bench: Bench, first: int, count: int) -> Counter[str]:
    with counted_lines() as lines:
        for number in range(first, first + count):
            await bench.create(number)
    return lines


def test_a_registration_costs_as_much_after_many_as_after_few() -> None:
    """Also with a rule for one device, and a group."""

    async def test() -> None:
        settings = HubSettings(
            connect_on_create=False,
            addresses=AddressPlan(IPv4Network("10.77.0.0/16")),
            reserve=(ReservationRule("SIM-CAM-3", AdapterPin(usb_port="1-1.1")),),
            groups=(Group("front", ("SIM-CAM-3",)),),
        )
        bench = make_bench(settings)
        await bench.hub.start()
        await registrations(bench, 1, 20)
        few = await registrations(bench, 21, 20)
        for number in range(41, 1000):
            await bench.create(number)
        many = await registrations(bench, 1000, 20)
        assert many.total() <= 1.1 * few.total(), (many - few).most_common(5)
        await bench.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())
