"""systemd and systemd-networkd on a message bus.

networkd reads the .network files of a folder when it starts, and when it is reloaded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, BusError, MethodCall, Variant
from wifimgrd.bus.names import PROPERTIES
from wifimgrd.bus.values import typed
from wifimgrd.proxies.networkd import definitions


def link_path(index: int) -> str:
    """The object of a link: the element of a path that begins with a digit is escaped."""
    number = str(index)
    return f"{definitions.NETWORK1_PATH}/link/_{ord(number[0]):x}{number[1:]}"


@dataclass
class FakeHost:
    """The two services, and what was asked of them."""

    bus: str
    systemd: BusConnection
    networks: Path
    settings: Path
    networkd: BusConnection | None = None
    calls: list[str] = field(default_factory=list)
    read: dict[str, str] = field(default_factory=dict)
    """The files as networkd has read them last, by name."""
    reconfigured: list[int] = field(default_factory=list)
    """The indexes of the links that networkd was to configure from the beginning."""
    described: dict[int, str] = field(default_factory=dict)
    """What networkd answers about links, by index; of any other, that it applies the helper's file."""
    describes: asyncio.Event = field(default_factory=asyncio.Event)
    """networkd was asked about a link."""
    refusal: BusError | None = None
    """What the services answer, where they refuse."""
    has_lost_the_bus: bool = False
    """networkd runs, without its bus name."""
    version: str = "252.39-1~deb12u2"
    starts: bool = True
    """Whether networkd appears on the bus after its start."""
    reloading: asyncio.Event = field(default_factory=asyncio.Event)
    """networkd has read the files for a reload."""
    is_starting: bool = False
    """The start of networkd's unit has not ended."""
    listed: asyncio.Event = field(default_factory=asyncio.Event)
    """systemd was asked for the state of networkd's unit."""
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    """Set: a reload is answered at once; otherwise once it is set."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def files(self) -> dict[str, str]:
        """The files as they are."""
        return {file.name: file.read_text() for file in self.networks.iterdir()}

    async def start_networkd(self) -> None:
        """As systemd does it."""
        self.networkd = await BusConnection.open(self.bus)
        self.read = self.files
        self.networkd.serve(lambda call: self._keep(self._configure(call)))
        await self.networkd.request_name(definitions.NETWORK1)

    async def end_networkd(self) -> None:
        """As after a crash."""
        assert self.networkd is not None
        await self.networkd.close()
        self.networkd = None

    def serve(self) -> None:
        """Serve systemd's calls."""
        self.systemd.serve(lambda call: self._keep(self._manage(call)))

    async def end(self) -> None:
        """End both services."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.networkd is not None:
            await self.end_networkd()
        await self.systemd.close()

    def _keep(self, handling: object) -> None:
        assert asyncio.iscoroutine(handling)
        task = asyncio.get_running_loop().create_task(handling)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _manage(self, call: MethodCall) -> None:
        if call.interface == "org.freedesktop.DBus.Properties":
            assert call.body == [definitions.SYSTEMD1_MANAGER, "Version"]
            self.systemd.reply(call, "v", [Variant("s", self.version)])
            return
        assert call.interface == definitions.SYSTEMD1_MANAGER
        if call.member == "ListUnitsByNames":
            assert call.body == [[definitions.NETWORKD_UNIT]]
            state = "active" if self.networkd is not None or self.has_lost_the_bus else "inactive"
            state = "activating" if self.is_starting else state
            unit = [definitions.NETWORKD_UNIT, "", "loaded", state, "", "", "/", 0, "", "/"]
            self.systemd.reply(call, "a(ssssssouso)", [[unit]])
            self.listed.set()
            return
        assert call.body == [definitions.NETWORKD_UNIT, "replace"]
        self.calls.append(call.member)
        if self.refusal is not None:
            self.systemd.reply_error(call, self.refusal.name, self.refusal.message)
            return
        self.systemd.reply(call, "o", ["/org/freedesktop/systemd1/job/1"])
        if call.member == "RestartUnit" and self.networkd is not None:
            await self.end_networkd()
        if self.starts:
            await self.start_networkd()

    def describe(self, index: int, **described: object) -> None:
        """Describe a link in this way from now on, and signal that."""
        assert self.networkd is not None
        self.described[index] = json.dumps(described)
        changed = [definitions.NETWORK1_LINK, {"AdministrativeState": Variant("s", "configuring")}, []]
        path = link_path(index)
        self.networkd.emit(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", changed)

    def _own(self, index: int) -> str:
        """The description of a link with the helper's file, which has the number of the link's table."""
        table = f"Table={0x774A0000 + index}\n"
        files = [str(self.networks / name) for name, text in self.read.items() if table in text]
        return json.dumps({"NetworkFile": files[0]} if files else {"AdministrativeState": "unmanaged"})

    async def _configure(self, call: MethodCall) -> None:
        assert self.networkd is not None
        if call.member == "DescribeLink":
            self.describes.set()
            [index] = typed(tuple[int], call.body)
            self.networkd.reply(call, "s", [self.described.get(index) or self._own(index)])
            return
        self.calls.append(call.member)
        if self.refusal is not None:
            self.networkd.reply_error(call, self.refusal.name, self.refusal.message)
            return
        if call.member == "ReconfigureLink":
            self.reconfigured += typed(list[int], call.body)
            self.networkd.reply(call)
            return
        self.read = self.files
        self.reloading.set()
        await self.answers.wait()
        self.networkd.reply(call)


@asynccontextmanager
async def fake_host(folder: Path) -> AsyncIterator[FakeHost]:
    """systemd on a message bus of its own, and no networkd yet."""
    networks, settings = folder / "network", folder / "networkd.conf.d"
    for made in (networks, settings):
        made.mkdir()
    with MessageBusDaemon.start() as bus:
        systemd = await BusConnection.open(bus.address)
        host = FakeHost(bus.address, systemd, networks, settings)
        host.answers.set()
        host.serve()
        await systemd.request_name(definitions.SYSTEMD1)
        try:
            yield host
        finally:
            await host.end()
