"""Fixtures of the lab: NetworkManager without radios, cameras and adapters that are gone after each test."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .guest import hwsim
from .guest.access_point import Camera
from .guest.adapters import Adapter, plug_in
from .guest.deadline import poll_until
from .guest.namespace import NAMESPACES, CommandError, run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.services import mask_networkmanager, start_networkmanager, stop_others
from .guest.supplicant import Supplicant
from .guest.system_bus import SystemBus
from .guest.whole_hub import WholeHub, whole_hub

IN_GUEST = Path("/run/wifimgrd-lab").exists()
collect_ignore_glob = [] if IN_GUEST else ["*"]  # the host's plain `pytest tests` passes by

_CONFIGURATION = """
[main]
no-auto-default=*
[logging]
level=INFO
"""
_NM = "NetworkManager.service"
_PROFILES = [Path("/run/NetworkManager/system-connections"), Path("/etc/NetworkManager/system-connections")]


@pytest.fixture(scope="session", autouse=True)
def _configured() -> None:
    configuration = Path("/run/NetworkManager/conf.d/lab.conf")
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(_CONFIGURATION)
    # Enabled, as on most hosts; the image starts only what a test needs.
    wanted = Path("/run/systemd/system/multi-user.target.wants", _NM)
    wanted.parent.mkdir(parents=True, exist_ok=True)
    wanted.unlink(missing_ok=True)
    wanted.symlink_to(Path("/lib/systemd/system", _NM))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests without NetworkManager last: to mask and unmask it costs seconds."""
    items.sort(key=_is_without_networkmanager)


def _is_without_networkmanager(test: pytest.Item) -> bool:
    parameters = (
        test.callspec.params if isinstance(test, pytest.Function) and hasattr(test, "callspec") else {}
    )
    marked = test.get_closest_marker("without_networkmanager") is not None
    return marked or parameters.get("backend") == "wpa_supplicant"


@pytest.fixture(autouse=True)
def no_radios(request: pytest.FixtureRequest, _configured: None) -> Iterator[None]:
    """Start each test with no radio plugged in, and with NetworkManager up, or masked where the test is for a
    host without it; fail the test where something is left."""
    is_without = _is_without_networkmanager(request.node)
    if is_without:
        mask_networkmanager()
    else:
        start_networkmanager()
    yield
    if is_without:
        stop_others()
    for profile in _profiles():
        with contextlib.suppress(CommandError):  # it went by itself: the profile of an adapter just unplugged
            run("nmcli", "connection", "delete", "filename", str(profile))
    poll_until(lambda: not _profiles(), "no connection profile left")
    assert hwsim.radios() == [], "radios left after the test"
    assert list(NAMESPACES.glob("*")) == [], "network namespaces left after the test"


def _profiles() -> list[Path]:
    """List all profiles but the one that NetworkManager keeps of the loopback interface."""
    return [file for folder in _PROFILES for file in folder.glob("*") if file.name != "lo.nmconnection"]


@pytest.fixture
async def bus(no_radios: None) -> AsyncIterator[SystemBus]:
    """The guest's system bus."""
    async with SystemBus() as system_bus:
        yield system_bus


@pytest.fixture
async def nm(bus: SystemBus) -> NetworkManager:
    """NetworkManager, seen by a client of the lab's own; its transitions are kept."""
    network_manager = NetworkManager(bus)
    await network_manager.watch()
    return network_manager


@pytest.fixture
async def supplicant(bus: SystemBus) -> Supplicant:
    """wpa_supplicant, as it runs under NetworkManager; its changes are kept."""
    listener = Supplicant(bus)
    await listener.watch()
    return listener


@pytest.fixture
def cameras(no_radios: None) -> Iterator[Callable[..., Camera]]:
    """Make cameras, switched on; arguments as Camera's."""
    made: list[Camera] = []

    def make(name: str, *arguments: Any, **options: Any) -> Camera:
        camera = Camera(name, *arguments, **options)
        made.append(camera)
        camera.start()
        return camera

    yield make
    for camera in made:
        camera.down()


@pytest.fixture
def adapters(no_radios: None) -> Iterator[Callable[..., Adapter]]:
    """Plug adapters in, into the next free port or a given one; arguments as plug_in's."""

    def make(port: str | None = None, *arguments: Any, **options: Any) -> Adapter:
        free = (f"1.{number}" for number in range(1, 100) if f"1.{number}" not in hwsim.radios())
        return plug_in(port or next(free), *arguments, **options)

    yield make
    for radio in hwsim.radios():
        if not radio.startswith("cam"):
            hwsim.remove_radio(radio)


@pytest.fixture
def backend() -> str:
    """The backend of the running product; a test for another one, or for both, is parametrized with it."""
    return "networkmanager"


@pytest.fixture
async def plug(
    bus: SystemBus, backend: str, adapters: Callable[..., Adapter]
) -> Callable[..., Awaitable[Adapter]]:
    """Plug adapters in, as `adapters`, and wait until the host lets the product use them."""
    nm = NetworkManager(bus)
    if backend == "networkmanager":
        await nm.watch()

    async def make(*arguments: Any, **options: Any) -> Adapter:
        adapter = adapters(*arguments, **options)
        if backend == "networkmanager":
            await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
        return adapter

    return make


@pytest.fixture
async def hub(
    backend: str, plug: Callable[..., Awaitable[Adapter]], cameras: Callable[..., Camera]
) -> AsyncIterator[WholeHub]:
    """The running product with two adapters, plugged in before it starts."""
    for _ in range(2):
        await plug()
    async with whole_hub() as hub:
        assert hub.dbus.service.backend == backend
        for name in ("wlan0", "wlan1"):
            await hub.interface_state(name, "available")
        yield hub
