"""A message bus with the limits of a system bus, the daemon on it, and a client that looks on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.rude_client import RudeClient
from tests.message_bus import MessageBusDaemon
from tests.processes import COLD_DAEMON, Hub, running_hub
from wifimgrd.bus.connection import BusConnection
from wifimgrd.wire import names

_CONFIGURATION = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


@pytest.fixture
def bus_configuration(tmp_path: Path) -> Path:
    """Without a word on limits dbus-daemon has those of a system bus; the socket's name stays."""
    file = tmp_path / "bus.conf"
    file.write_text(_CONFIGURATION.format(socket=tmp_path / "bus"))
    return file


@pytest.fixture
def message_bus(bus_configuration: Path) -> Iterator[MessageBusDaemon]:
    """A real dbus-daemon of the test's own."""
    with MessageBusDaemon.start(bus_configuration) as daemon:
        yield daemon


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon, whose memory and files are those that it has when nothing was imported before."""
    async with running_hub(message_bus.address, tmp_path / "state", program=COLD_DAEMON) as hub:
        yield hub


@dataclass(slots=True)
class Onlooker:
    """Another client of the daemon, that asks one thing after the other meanwhile."""

    bus: BusConnection
    waits_s: list[float] = field(default_factory=list)

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Ask, until the block is left; an answer is what counts, and how long it took."""
        stop = asyncio.Event()

        async def ask() -> None:
            while not stop.is_set():
                asked = time.monotonic()
                await self.bus.get(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "Version")
                self.waits_s.append(time.monotonic() - asked)

        asking = asyncio.create_task(ask())
        try:
            yield
        finally:
            stop.set()
            await asking

    async def owner(self) -> str | None:
        """Who has the daemon's name."""
        return await self.bus.name_owner(names.BUS_NAME)


@pytest.fixture
async def onlooker(hub: Hub) -> AsyncIterator[Onlooker]:
    bus = await BusConnection.open(hub.address)
    yield Onlooker(bus)
    await bus.close()


@pytest.fixture
async def rude(hub: Hub) -> AsyncIterator[RudeClient]:
    client = await RudeClient.on(hub.address)
    yield client
    client.close()
