"""The shim on a real socket in this process: on the real daemon with its simulated world, or on a
client that plays the daemon where a test needs what no daemon does on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.http.daemon_process import DaemonProcess
from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.message_bus import MessageBusDaemon
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.http.settings import Settings

START_S = 20.0


@pytest.fixture
def settings() -> Settings:
    """What the shim is told; a test module can tell it otherwise."""
    return Settings()


@pytest.fixture
def fake_hub() -> FakeHub:
    """The client of `served`."""
    return FakeHub()


@pytest.fixture
async def served(fake_hub: FakeHub, settings: Settings) -> AsyncIterator[Served]:
    """The shim on `fake_hub`, and an HTTP client for it."""
    async with Served.start(fake_hub, settings) as served:
        yield served


@pytest.fixture
def daemon(message_bus: MessageBusDaemon, tmp_path: Path) -> Iterator[DaemonProcess]:
    """The real daemon, on a bus of the test's own."""
    with DaemonProcess(message_bus.address, tmp_path / "state") as process:
        yield process


@pytest.fixture
def hub(daemon: DaemonProcess) -> HubClient:
    """The real client of `shim`, which starts and stops it."""
    return HubClient(daemon.bus)


@pytest.fixture
async def shim(hub: HubClient, settings: Settings) -> AsyncIterator[Served]:
    """The shim on the real daemon, and an HTTP client for it."""
    async with Served.start(hub, settings) as served:
        await hub.wait_until(lambda client: client.available, START_S)
        yield served
