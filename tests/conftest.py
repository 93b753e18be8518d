"""What every part of the suite shares: a private message bus for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.message_bus import MessageBusDaemon


@pytest.fixture
def message_bus() -> Iterator[MessageBusDaemon]:
    """A real dbus-daemon of the test's own."""
    with MessageBusDaemon.start() as daemon:
        yield daemon
