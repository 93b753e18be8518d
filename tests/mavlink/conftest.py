"""A hub with cameras, the process, and a station: all real."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.mavlink.mavlink_process import Listener, MavlinkProcess
from tests.mavlink.station import Station
from tests.message_bus import MessageBusDaemon
from tests.processes import has_no_traceback

Start = Callable[..., MavlinkProcess]


@pytest.fixture
def station() -> Iterator[Station]:
    one = Station()
    yield one
    one.close()


@pytest.fixture
def heard(station: Station) -> Listener:
    return Listener(station)


@pytest.fixture
async def processes(tmp_path: Path, message_bus: MessageBusDaemon, station: Station) -> AsyncIterator[Start]:
    """Makes processes, which are ended with the test; the log of each must hold no traceback."""
    made: list[MavlinkProcess] = []

    def make(keys: str = "") -> MavlinkProcess:
        lines = keys if "connection" in keys else f'connection = "{station.address}"\n{keys}'
        made.append(MavlinkProcess(tmp_path / "mavlink", message_bus.address, lines))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None:
            await one.end(signal.SIGKILL)
            has_no_traceback(one.log)
