"""What a camera's address of its own costs: throughput beside the direct path, time until it leads there."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from typing import Final

from benchmarks.lab.hub import Hub
from benchmarks.lab.joins import PART
from benchmarks.lab.networkmanager_stage import NetworkManagerStage
from benchmarks.lab.stage import switched_on
from benchmarks.table import Row, Target
from tests.lab.guest.access_point import Camera
from tests.lab.guest.namespace import run
from tests.lab.guest.network_manager import DeviceState
from wifimgrd.wire import names

_ROUNDS: Final = 9
_BYTES: Final = 20_000_000
_REQUEST: Final = b"GET /large.bin HTTP/1.0\r\n\r\n"
_CHUNK: Final = 1 << 18
_JOINS: Final = 15
_PAUSE_S: Final = 0.01
_ANSWER_S: Final = 0.05
"""What a camera may take to answer; longer, and the first packet was lost."""
_PATIENCE_S: Final = 30.0
_OWN_TABLE: Final = "ip benchmark"
_OF_DIRECT: Final = 0.95


async def addresses(stage: NetworkManagerStage, hub: Hub) -> list[Row]:
    """Two cameras with one address; one is read by both ways in turns, then joined again and again."""
    adapters = [await stage.plugged(f"4.{number}", "short") for number in (1, 2)]
    cameras = [Camera(name, leases=(20, 20)) for name in ("reached", "beside")]
    with switched_on(*cameras):
        for adapter in adapters:
            await hub.free(adapter.interface)
        devices = [await hub.add(camera) for camera in cameras]
        for device in devices:
            await hub.connected(device)
        path = names.device_path(devices[0])
        address = str(await stage.bus.read(names.BUS_NAME, path, names.DEVICE, "Address"))
        interface = await _interface(stage, path)
        await asyncio.to_thread(_connect_to, address)
        mapped: list[float] = []
        direct: list[float] = []
        for number in range(_ROUNDS + 1):
            mapped.append(await asyncio.to_thread(_download, address, ""))
            direct.append(await asyncio.to_thread(_download, cameras[0].address, interface))
            if not number:
                del mapped[:], direct[:]
        async with _monitor() as lines:
            late = [await _lateness(stage, hub, devices[0], interface, address, lines) for _ in range(_JOINS)]
        for device in devices:
            await hub.remove(device)
    for adapter in adapters:
        adapter.unplug()
    size = f"{_BYTES // 10**6} MB from a camera"
    return [
        Row(
            PART,
            f"{size}, at its address of its own",
            "s",
            mapped,
            direct,
            "through its interface, directly",
            Target("ratio", 1 / _OF_DIRECT),
        ),
        Row(
            PART,
            "from a link that is up to an address that leads there",
            "s",
            late,
            target=Target("ours", 0.01),
            note="as `nft monitor` tells, on the guest's only processor; then it is tried",
        ),
    ]


async def _interface(stage: NetworkManagerStage, path: str) -> str:
    taken = await stage.bus.read(names.BUS_NAME, path, names.DEVICE, "Interface")
    return names.interface_name_of(taken) or ""


@contextlib.asynccontextmanager
async def _monitor() -> AsyncIterator[asyncio.StreamReader]:
    """The lines of `nft monitor`, from here on."""
    process = await asyncio.create_subprocess_exec("nft", "monitor", stdout=PIPE)
    try:
        if process.stdout is None:
            raise RuntimeError("nft monitor has no output")
        await _catch_up(process.stdout)
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


async def _catch_up(lines: asyncio.StreamReader) -> None:
    """Read all lines so far; it begins at some time."""
    own_table = asyncio.create_task(_time_of_line(lines, f"delete table {_OWN_TABLE}"))
    while not own_table.done():
        await asyncio.to_thread(run, "nft", f"add table {_OWN_TABLE}; delete table {_OWN_TABLE}")


async def _time_of_line(lines: asyncio.StreamReader, what: str) -> float:
    """When a line of this came."""
    async with asyncio.timeout(_PATIENCE_S):
        while line := (await lines.readline()).decode():
            if what in line:
                return time.monotonic()
    raise RuntimeError("nft monitor ended")


async def _lateness(
    stage: NetworkManagerStage,
    hub: Hub,
    device: int,
    interface: str,
    address: str,
    lines: asyncio.StreamReader,
) -> float:
    """Seconds from NetworkManager's ACTIVATED, as received here, to an address that the kernel leads on."""
    await hub.disconnect(device)
    await hub.free(interface)
    await asyncio.to_thread(_refused, address)
    await _catch_up(lines)
    device_of_nm = await stage.nm.device(interface)
    first = len(stage.nm.transitions)
    mapping = asyncio.create_task(
        _time_of_line(lines, f"add element ip wifimgrd interface_of {{ {address} :")
    )
    await hub.connected(device)
    mapped = await mapping
    await asyncio.to_thread(_connect_to, address)
    up = await stage.transition(device_of_nm, first, DeviceState.ACTIVATED)
    return mapped - up.time_s


def _connect_to(address: str) -> None:
    """Wait until a connection to an address is made."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        with socket.socket() as one:
            one.settimeout(_ANSWER_S)
            with contextlib.suppress(OSError):
                one.connect((address, 80))
                return
        time.sleep(_PAUSE_S)
    raise TimeoutError(f"{address} leads nowhere")


def _refused(address: str) -> None:
    """Wait until an address leads nowhere."""
    while True:
        with socket.socket() as one:
            one.settimeout(_ANSWER_S)
            try:
                one.connect((address, 80))
            except TimeoutError:
                continue
            except OSError:
                return


def _download(address: str, interface: str) -> float:
    """Seconds for so many bytes of a large file."""
    began = time.monotonic()
    with _connected(address, interface) as one:
        one.sendall(_REQUEST)
        buffer, left = bytearray(_CHUNK), _BYTES
        while left > 0:
            got = one.recv_into(buffer)
            if not got:
                raise ConnectionError(f"{address} broke off")
            left -= got
    return time.monotonic() - began


def _connected(address: str, interface: str) -> socket.socket:
    one = socket.socket()
    one.settimeout(_PATIENCE_S)
    if interface:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    one.connect((address, 80))
    return one
