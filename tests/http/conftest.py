"""The shim in this process, on a real socket, with a client that plays the daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from wifimgrd.http.settings import Settings


@pytest.fixture
def settings() -> Settings:
    """What the shim is told; a test module or a parameter can tell it otherwise."""
    return Settings()


@pytest.fixture
def fake_hub() -> FakeHub:
    """The client of `served`."""
    return FakeHub()


@pytest.fixture
async def served(fake_hub: FakeHub, settings: Settings) -> AsyncIterator[Served]:
    """The shim on `fake_hub`, and an HTTP client for it."""
    async with Served.start(fake_hub, settings) as served:
        yield served
