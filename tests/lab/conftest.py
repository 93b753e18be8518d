"""Fixtures of the lab: NetworkManager on an empty air, cameras and adapters that are gone after each test."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from .guest import hwsim
from .guest.access_point import Camera
from .guest.adapters import Adapter, plug_in
from .guest.namespace import NAMESPACES, run
from .guest.network_manager import NetworkManager

IN_GUEST = Path("/run/wifimgrd-lab").exists()
collect_ignore_glob = [] if IN_GUEST else ["*"]  # the host's plain `pytest tests` passes by

_LAB_CONFIGURATION = """
[main]
no-auto-default=*
[logging]
level=INFO
"""


@pytest.fixture(scope="session", autouse=True)
def _configured() -> None:
    configuration = Path("/run/NetworkManager/conf.d/lab.conf")
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(_LAB_CONFIGURATION)


@pytest.fixture(autouse=True)
def _empty_air(_configured: None) -> Iterator[None]:
    """Start each test with NetworkManager up and nothing in the air; fail it where something is left."""
    run("systemctl", "start", "NetworkManager")
    yield
    assert hwsim.radios() == [], "radios left after the test"
    assert list(NAMESPACES.glob("*")) == [], "network namespaces left after the test"


@pytest_asyncio.fixture
async def nm(_empty_air: None) -> AsyncIterator[NetworkManager]:
    """NetworkManager, seen by a client of the lab's own."""
    async with NetworkManager() as network_manager:
        yield network_manager


@pytest.fixture
def cameras(_empty_air: None) -> Iterator[Callable[..., Camera]]:
    """Make cameras, switched on; arguments as Camera's."""
    made: list[Camera] = []

    def make(name: str, *arguments: object, **options: object) -> Camera:
        camera = Camera(name, *arguments, **options)  # type: ignore[arg-type]
        made.append(camera)
        camera.start()
        return camera

    yield make
    for camera in made:
        camera.down()


@pytest.fixture
def adapters(_empty_air: None) -> Iterator[Callable[..., Adapter]]:
    """Plug adapters in, into the next free port or a given one; arguments as plug_in's."""

    def make(port: str | None = None, *arguments: object, **options: object) -> Adapter:
        free = (f"1.{number}" for number in range(1, 100) if f"1.{number}" not in hwsim.radios())
        return plug_in(port or next(free), *arguments, **options)  # type: ignore[arg-type]

    yield make
    for port in hwsim.radios():
        hwsim.remove_radio(port)
