"""The emulated air of a test, and the daemon's connection."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ..guest.namespace import run
from .world import PROCESS, Air, Daemon, daemon, emulated_air

_BONDS = Path("/var/lib/bluetooth")


@pytest.fixture
def air() -> Iterator[Air]:
    """bluetoothd with an adapter, without bonds and cameras."""
    run("systemctl", "stop", PROCESS)
    run("sh", "-c", f"rm -rf {_BONDS}/*")
    with emulated_air() as emulated:
        yield emulated


@pytest.fixture
async def hub(air: Air) -> AsyncIterator[Daemon]:
    """The daemon's connection to the bus, while there is an adapter."""
    async with daemon() as connection:
        yield connection
