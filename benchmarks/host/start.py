"""What the start of each process costs, from its exec until it serves."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import tempfile
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks import interpreter
from benchmarks.accounting import Account
from benchmarks.table import Row, Target
from tests.message_bus import MessageBusDaemon

PART: Final = "Host: start"
_ROUNDS: Final = 5
_START_S: Final = 30.0
_ALONE: Final = ("unshare", "--net") if os.geteuid() == 0 else ()
"""The helper changes the network of the host: it gets one of its own."""
_NUMBERS: Final = count()
_ME: Final = pwd.getpwuid(os.geteuid()).pw_name


@dataclass(frozen=True, slots=True)
class Started:
    """One process that serves."""

    pid: int
    cpu_s: float
    """What it has cost until then."""


@asynccontextmanager
async def started(name: str, address: str, state: Path, *, station: int = 9) -> AsyncIterator[Started]:
    """A process of the product on this message bus, with its state in a folder, from start to stop; the
    bridge to ground stations sends to the port `station`, where by default there is none."""
    arguments = {
        "wifimgrd": ("--simulate",),
        "wifimgrd-net": ("--user", _ME),
        "wifimgrd-camera": ("--user", _ME),
        "wifimgrd-http": ("--listen", "127.0.0.1:0"),
        "wifimgrd-mavlink": ("--config", str(state / "mavlink.toml")),
    }[name]
    (state / "mavlink.toml").write_text(f'[mavlink]\nconnection = "udpout:127.0.0.1:{station}"\n')
    is_ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    notices = str(state / f"notices-{next(_NUMBERS)}")
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Notices(is_ready), local_addr=notices, family=socket.AF_UNIX
    )
    environment = interpreter.environment(
        state / "compiled", STATE_DIRECTORY=str(state), NOTIFY_SOCKET=notices
    )
    process = await asyncio.create_subprocess_exec(
        *(_ALONE if name == "wifimgrd-net" else ()),
        *interpreter.command(name),
        *("--bus", address),
        *arguments,
        env=environment,
        stdin=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        async with asyncio.timeout(_START_S):
            await is_ready.wait()
        yield Started(process.pid, Account(process.pid).cpu_s())
    finally:
        process.terminate()
        await process.wait()
        transport.close()


class _Notices(asyncio.DatagramProtocol):
    """sd_notify(3)."""

    def __init__(self, is_ready: asyncio.Event) -> None:
        self._is_ready = is_ready

    def datagram_received(self, data: bytes, _: object) -> None:
        if b"READY=1" in data.split(b"\n"):
            self._is_ready.set()


async def start_cost() -> list[Row]:
    """Start all processes, one after the other, several times."""
    costs: dict[str, list[float]] = {}
    nothing: list[float] = []
    with tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as folder, MessageBusDaemon.start() as bus:
        for number in range(_ROUNDS + 1):
            async with started("wifimgrd", bus.address, Path(folder)) as daemon:
                found = {"wifimgrd": daemon.cpu_s}
                for name in ("wifimgrd-net", "wifimgrd-camera", "wifimgrd-http"):
                    async with started(name, bus.address, Path(folder)) as one:
                        found[name] = one.cpu_s
            if number:  # all is in the page cache
                nothing.append(_cpu_of_nothing())
                for name, cpu_s in found.items():
                    costs.setdefault(name, []).append(cpu_s)
    every = [sum(together) for together in zip(*costs.values(), strict=True)]
    return [
        Row(PART, "daemon's CPU from start to ready", "s", costs["wifimgrd"], target=Target("ours", 0.6)),
        Row(
            PART,
            "the same against an interpreter that does nothing",
            "s",
            costs["wifimgrd"],
            nothing,
            "`python3 -c pass`",
            Target("ratio", 12),
            in_turns=True,
        ),
        Row(
            PART,
            "the same of daemon, helper, camera process and shim together",
            "s",
            every,
            target=Target("ours", 1.2),
            details=dict(costs),
        ),
    ]


def _cpu_of_nothing() -> float:
    """CPU seconds of `python3 -c pass`."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    pid = os.posix_spawn(interpreter.PYTHON, (interpreter.PYTHON, "-c", "pass"), environment)
    _, _, used = os.wait4(pid, 0)
    return used.ru_utime + used.ru_stime
