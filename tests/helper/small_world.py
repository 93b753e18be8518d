"""A host with cameras on cables: network namespaces of this machine's kernel, and the helper in one of them.

Every camera has the same address and every interface of the host the same lease, as with cameras of one make.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.helper.camera_servers import CameraServers, camera_servers
from tests.message_bus import MessageBusDaemon
from tests.warm_start import WarmProcess, WarmProgram
from wifimgrd.bus.connection import BusConnection
from wifimgrd.wire import helper_calls as calls

NETWORK: Final = "10.77.0.0/24"
CAMERA_ADDRESS: Final = "192.168.42.1"
LEASE: Final = "192.168.42.20"
LINK_TABLES: Final = 0x774A0000
"""Of the routes that NetworkManager adds for links."""
PATIENCE_S: Final = 20.0
CameraArguments = tuple[int, str, str, str, str]
_HELPER: Final = WarmProgram("tests.helper.helper_program")


def run(*command: str) -> str:
    """Run a command to its end and return what it printed."""
    done = subprocess.run(command, stdout=PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}"
    return done.stdout


@dataclass
class SmallWorld:
    """The host and its cameras."""

    bus: str
    connection: BusConnection
    daemon: BusConnection
    """What the helper takes for the daemon."""
    configuration: Path
    servers: CameraServers
    shared: tuple[str, ...] = ()
    host: str = field(default_factory=lambda: f"wh{os.getpid()}")
    namespaces: list[str] = field(default_factory=list)
    helper: WarmProcess | None = None

    def on_host(self, *command: str) -> str:
        if command[0] == "ip":  # which needs no other program to enter the namespace, nor a view of /sys
            return run("ip", "-n", self.host, *command[1:])
        return run("ip", "netns", "exec", self.host, *command)

    @staticmethod
    def camera(number: int) -> str:
        """A camera's namespace."""
        return f"wc{os.getpid()}n{number}"

    def in_camera(self, number: int, *command: str) -> None:
        run("ip", "netns", "exec", self.camera(number), *command)

    def listed(self, *command: str) -> Any:
        return json.loads(self.on_host("ip", "-4", "-j", *command) or "[]")

    def begin(self) -> None:
        self._add_namespace(self.host)

    def add_camera(self, number: int, own: str = CAMERA_ADDRESS, lease: str = LEASE) -> CameraArguments:
        """Connect a camera with that address through `wN`; returns the arguments for the helper."""
        camera, interface = self.camera(number), f"w{number}"
        self._add_namespace(camera)
        self.on_host("ip", "link", "add", interface, "type", "veth", "peer", "name", "ap0", "netns", camera)
        self.make_wireless(interface)
        for line in (f"address add {own}/24 dev ap0", "link set ap0 up"):
            run("ip", "-n", camera, *line.split())
        subnet = f"{own.rpartition('.')[0]}.0/24"
        for line in (
            f"address add {lease}/24 dev {interface} noprefixroute",
            f"link set {interface} up",
            f"route add {subnet} dev {interface} src {lease} table {LINK_TABLES + number}",
        ):
            self.on_host("ip", *line.split())
        self.serve(camera, number)
        return (number, f"10.77.0.{number}", interface, own, "")

    def make_wireless(self, interface: str) -> None:
        """Have the helper take an interface for a wireless one."""
        (self._wireless / interface / "phy80211").mkdir(parents=True, exist_ok=True)

    @property
    def _wireless(self) -> Path:
        return self.configuration.parent / "wireless"

    def serve(self, namespace: str, number: int = 0) -> None:
        """Have a camera's servers somewhere."""
        self.servers.serve(namespace, number)

    def add_lan(self, number: int) -> str:
        """A network of the host's, 192.168.N.0/24 behind `lanN`, with one machine that has a route to the
        cameras' network; returns the machine's namespace."""
        machine, interface = f"wl{os.getpid()}n{number}", f"lan{number}"
        self._add_namespace(machine)
        self.on_host("ip", "link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", machine)
        self.on_host("ip", "address", "add", f"192.168.{number}.1/24", "dev", interface)
        self.on_host("ip", "link", "set", interface, "up")
        for line in (
            f"address add 192.168.{number}.2/24 dev eth0",
            "link set eth0 up",
            f"route add default via 192.168.{number}.1",
        ):
            run("ip", "-n", machine, *line.split())
        return machine

    def _add_namespace(self, name: str) -> None:
        run("ip", "netns", "add", name)
        self.namespaces.append(name)
        run("ip", "-n", name, "link", "set", "lo", "up")

    async def start_helper(self, *options: str, user: str = "root") -> WarmProcess:
        """Start the helper and wait until it has its name."""
        self.helper = await _HELPER.start(
            *("wifimgrd-net", str(self._wireless)),
            *("--bus", self.bus, "--user", user, "--linger", "3600"),
            *("--config", str(self.configuration), *options),
            env=os.environ,
            namespace=self.host,
        )
        await self._until_owned(True)
        return self.helper

    async def end_helper(self, by: signal.Signals = signal.SIGTERM) -> int:
        assert self.helper is not None
        if self.helper.returncode is None:
            self.helper.send_signal(by)
        async with asyncio.timeout(PATIENCE_S):
            status = await self.helper.wait()
        await self._until_owned(False)
        self.helper = None
        return status

    async def _until_owned(self, wanted: bool) -> None:
        """Wait until the helper's name has, or has not, an owner."""
        changes: asyncio.Queue[bool] = asyncio.Queue()
        watch = await self.connection.watch(
            lambda signal: changes.put_nowait(bool(signal.body[2])),
            member="NameOwnerChanged",
            arg0=calls.BUS_NAME,
        )
        owned = await self.connection.name_owner(calls.BUS_NAME) is not None
        async with asyncio.timeout(PATIENCE_S):
            while owned is not wanted:
                owned = await changes.get()
        watch.drop()

    async def ask(self, member: str, signature: str = "", *body: Any) -> list[Any]:
        return await self.daemon.call(calls.BUS_NAME, calls.PATH, calls.BUS_NAME, member, signature, body)

    async def open(self, device_id: int, port: int, kind: str) -> socket.socket:
        return await self.daemon.call_for_socket(
            calls.BUS_NAME, calls.PATH, calls.BUS_NAME, "Open", "tqs", [device_id, port, kind]
        )

    async def configure(self, text: str) -> None:
        """Write the configuration, and be another daemon: the helper reads it again for that."""
        self.configuration.write_text(text)
        await self.daemon.close()
        self.daemon = await BusConnection.open(self.bus, sockets=True)

    async def lead_to(
        self, *cameras: CameraArguments, network: str = NETWORK, share: Sequence[str] = ()
    ) -> str:
        """What `Apply` answers."""
        if tuple(share) != self.shared:
            self.shared = tuple(share)
            await self.configure(f"[cameras]\nshare = {json.dumps(list(share))}\n")
        [conflict] = await self.ask("Apply", "sa(tssss)", network, [list(one) for one in cameras])
        return str(conflict)

    async def fetch(self, address: str, *options: str, inside: str = "") -> str:
        """What an ordinary program on the host, or `inside` another namespace, gets from an address: the
        answer, or how curl failed."""
        process = await asyncio.create_subprocess_exec(
            *(
                "ip",
                "netns",
                "exec",
                inside or self.host,
                "curl",
                "-s",
                "-m",
                "5",
                *options,
                f"http://{address}/",
            ),
            stdout=PIPE,
        )
        out, _ = await process.communicate()
        return out.decode() if process.returncode == 0 else f"curl: {process.returncode}"

    async def until_reached(self, address: str, answer: str, inside: str = "") -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await self.fetch(address, inside=inside) != answer:
                pass

    def left(self) -> str:
        """What is in the tables of the host that could be ours."""
        rules = [rule for rule in self.listed("rule", "show") if rule["priority"] not in (0, 32766, 32767)]
        links = [link["ifname"] for link in self.listed("link", "show") if "wifimgrd" in link["ifname"]]
        tables = [
            route
            for route in self.listed("route", "show", "table", "all")
            if "77" in str(route) and not str(route.get("table")).startswith(str(LINK_TABLES)[:6])
        ]
        ruleset = self.on_host("nft", "list", "ruleset")
        return f"{rules or ''}{links or ''}{tables or ''}{ruleset}"

    def end(self) -> None:
        for namespace in self.namespaces:
            run("ip", "netns", "del", namespace)


@asynccontextmanager
async def small_world() -> AsyncIterator[SmallWorld]:
    """A host without cameras or helper yet."""
    with MessageBusDaemon.start() as bus, TemporaryDirectory() as folder, camera_servers() as servers:
        connection = await BusConnection.open(bus.address, sockets=True)
        daemon = await BusConnection.open(bus.address, sockets=True)
        world = SmallWorld(bus.address, connection, daemon, Path(folder, "wifimgrd.toml"), servers)
        world.configuration.touch()
        try:
            world.begin()
            yield world
        finally:
            if world.helper is not None:
                await world.end_helper(signal.SIGKILL)
            await connection.close()
            await world.daemon.close()
            world.end()
