"""What tests of the helper's parts share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection
from wifimgrd.helper import _interfaces as interfaces


@pytest.fixture
async def helper() -> AsyncIterator[BusConnection]:
    """The helper's connection to a message bus of its own."""
    with MessageBusDaemon.start() as bus:
        connection = await BusConnection.open(bus.address)
        yield connection
        await connection.close()


@pytest.fixture
def wlan0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose interfaces are wlan0, which is wireless, and eth0."""
    (tmp_path / "wlan0" / "phy80211").mkdir(parents=True)
    (tmp_path / "eth0").mkdir()
    monkeypatch.setattr(interfaces, "INTERFACES", tmp_path)
