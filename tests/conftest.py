"""What every part of the suite shares: a private message bus, and the daemon on it."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.soak import IS_SOAK, OF_TESTS, what_is_wrong
from wifimgrd.bus.connection import BusConnection

# How fast an example is says what else the machine does.
settings.register_profile(
    "whatever the load",
    deadline=None,
    derandomize=not IS_SOAK,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("whatever the load")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background, where Ctrl-C is ignored, which the programs under test would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)


_HERE: Final = Path(__file__).parent
_FIRST_OF_PAGE: Final = (
    *("test_tasks", "test_truth", "test_words", "test_take_words", "test_jpeg_size", "test_wifi_text"),
)
"""The modules of `tests/browser` that `make test` runs: that what the page says is so, and how it is used."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the crowds of `tests/faults`, and most tests of the page, to `make test-all`."""
    for item in items:
        folder = item.path.parent
        if folder == _HERE / "faults" or (
            folder == _HERE / "browser" and item.path.stem not in _FIRST_OF_PAGE
        ):
            item.add_marker(pytest.mark.slow)


def pytest_configure() -> None:
    """Settings of long runs are refused in a sentence, before any test is looked for."""
    if sentence := what_is_wrong(OF_TESTS, os.environ):
        raise pytest.UsageError(sentence)


@pytest.fixture
def message_bus() -> Iterator[MessageBusDaemon]:
    """A real dbus-daemon of the test's own."""
    with MessageBusDaemon.start() as daemon:
        yield daemon


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon with the default simulated world, as a real process."""
    async with running_hub(message_bus.address, tmp_path / "state") as hub:
        yield hub


@pytest.fixture
async def service(message_bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    """The end of a call that serves it."""
    connection = await BusConnection.open(message_bus.address)
    yield connection
    await connection.close()


@pytest.fixture
async def caller(message_bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    """The end that makes it."""
    connection = await BusConnection.open(message_bus.address)
    yield connection
    await connection.close()
