"""The camera process on a bus of the test's own, and what the daemon calls it with."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.camera.conftest import bluez, bus, control, host, limits, process, service
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection
from wifimgrd.runtime.tasks import Tasks

__all__ = ["bluez", "bus", "control", "host", "limits", "process", "service"]
"""Fixtures."""


@pytest.fixture
async def connection(bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    """The daemon's."""
    connection = await BusConnection.open(bus.address, sockets=True)
    yield connection
    await connection.close()


@pytest.fixture
def tasks() -> Tasks:
    """The daemon's; those that run once open sockets."""
    return Tasks("wifimgrd")
