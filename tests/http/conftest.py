"""The shim on a real socket in this process: on the real daemon with its simulated world, or on a
client that plays the daemon where a test needs what no daemon does on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from wifimgrd.client.hub import HubClient
from wifimgrd.http.settings import Settings

START_S = 60.0


@pytest.fixture
def settings() -> Settings:
    """The shim's settings; a test module can have others."""
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
async def daemon(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The real daemon with its simulated world, on a bus of the test's own."""
    state = tmp_path / "state"
    state.mkdir()
    async with running_hub(message_bus.address, state) as hub:
        yield hub


@pytest.fixture
def hub(daemon: Hub) -> HubClient:
    """The real client of `shim`, which starts and stops it."""
    return HubClient(daemon.address)


@pytest.fixture
async def shim(hub: HubClient, settings: Settings) -> AsyncIterator[Served]:
    """The shim on the real daemon, and an HTTP client for it."""
    async with Served.start(hub, settings) as served:
        await hub.wait_until(lambda client: client.available, START_S)
        yield served
