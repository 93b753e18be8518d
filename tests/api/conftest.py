"""Both ends of a call on a message bus of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection


@pytest.fixture
async def service(message_bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    connection = await BusConnection.open(message_bus.address)
    yield connection
    await connection.close()


@pytest.fixture
async def caller(message_bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    connection = await BusConnection.open(message_bus.address)
    yield connection
    await connection.close()
