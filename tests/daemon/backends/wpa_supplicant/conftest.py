"""The services on a message bus of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.daemon.backends.wpa_supplicant.services_on_the_bus import Host
from tests.message_bus import MessageBusDaemon
from wifimgrd.daemon.backends.wpa_supplicant import _other_supplicants as other_supplicants
from wifimgrd.proxies.networkd.definitions import SYSTEMD1
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS


@pytest.fixture
def pid_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which ifupdown writes that it runs a wpa_supplicant."""
    monkeypatch.setattr(other_supplicants, "_RUN", tmp_path)
    return tmp_path


@pytest.fixture
async def host(message_bus: MessageBusDaemon) -> AsyncIterator[Host]:
    host = Host(message_bus.address)
    for name in (SYSTEMD1, WPAS):
        await host.start(name)
    yield host
    for name in list(host.programs):
        await host.end(name)
