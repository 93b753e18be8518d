"""The emulated air of a test, and the daemon's connection."""

from collections.abc import AsyncIterator, Iterator

import pytest

from .world import Air, Daemon, daemon, emulated_air


@pytest.fixture
def air() -> Iterator[Air]:
    """bluetoothd with an adapter, without bonds and cameras."""
    with emulated_air() as emulated:
        yield emulated


@pytest.fixture
async def hub(air: Air) -> AsyncIterator[Daemon]:
    """The daemon's connection to the bus, while there is an adapter."""
    async with daemon() as connection:
        yield connection
