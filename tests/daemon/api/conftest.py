"""A daemon on a message bus of its own, and a client's connection to that bus."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.processes import Hub
from wifimgrd.bus.connection import BusConnection


@pytest.fixture
async def bus(hub: Hub) -> AsyncIterator[BusConnection]:
    """A connection to the bus of the `hub` that a test has."""
    connection = await BusConnection.open(hub.address)
    yield connection
    await connection.close()
