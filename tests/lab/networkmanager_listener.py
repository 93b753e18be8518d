"""What tests of NetworkManagerBackend hold in their hands: a listener that can be waited for, ..."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from wifimgrd.daemon.backends.networkmanager import NetworkManagerBackend
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Link, Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.runtime.tasks import Tasks

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .networkmanager_changes import Changes
from .supplicant_changes import limit_networks, set_country

_SECONDS = 30.0


class Memory(dict[str, str]):
    """A BackendMemory that forgets at the end of the test."""

    def recall(self, key: str) -> str | None:
        return self.get(key)

    def note(self, key: str, value: str | None) -> None:
        if value is None:
            self.pop(key, None)
        else:
            self[key] = value


class Listener:
    """Keeps what a backend reports; what was reported and not yet read can be waited for."""

    def __init__(self) -> None:
        self.reported: list[tuple[str, str, Any]] = []
        """What, interface, and the error, the link or the facts; as they came."""
        self._changed = asyncio.Event()
        self._read = 0

    def backend_changed(self, status: BackendStatus) -> None:
        self._record("backend_changed", "", status)

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        self._record("interface_facts", name, facts)

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        self._record("link_interrupted", interface, error)

    def link_restored(self, interface: str, link: Link) -> None:
        self._record("link_restored", interface, link)

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        self._record("link_ended", interface, error)

    def link_changed(self, interface: str, link: Link) -> None:
        self._record("link_changed", interface, link)

    def reported_links(self) -> list[str]:
        """Which kinds of link events came, in order, changes of signal aside."""
        return [what for what, _, _ in self.reported if what.startswith("link_") and what != "link_changed"]

    def rewind(self) -> None:
        """Read everything again that was reported."""
        self._read = 0

    async def received(
        self,
        what: str,
        interface: str = "",
        fits: Callable[[Any], bool] = lambda _: True,
        seconds: float = _SECONDS,
    ) -> Any:
        """The next event of a kind; events before it are passed over."""
        async with asyncio.timeout(seconds):
            while True:
                while self._read < len(self.reported):
                    kind, name, value = self.reported[self._read]
                    self._read += 1
                    if kind == what and name == interface and fits(value):
                        return value
                self._changed.clear()
                await self._changed.wait()

    async def status(self, state: BackendState) -> BackendStatus:
        """The next backend_changed to this state."""
        status: BackendStatus = await self.received(
            "backend_changed", "", lambda status: status.state is state
        )
        return status

    async def anything(self) -> None:
        """A moment's rest: until something is reported, or 50 ms have passed."""
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await self._changed.wait()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once the world outside is so."""
        async with asyncio.timeout(_SECONDS):
            while not condition():
                await self.anything()

    def _record(self, what: str, interface: str, value: Any) -> None:
        self.reported.append((what, interface, value))
        self._changed.set()


async def started(listener: Listener, memory: Memory, **options: Any) -> NetworkManagerBackend:
    """A backend that is ready."""
    options |= {"set_country": set_country, "limit_networks": limit_networks}
    backend = NetworkManagerBackend(memory, Tasks("test"), changes=Changes(), **options)
    await backend.start(listener)
    await listener.status(BackendState.READY)
    return backend


async def killed(backend: NetworkManagerBackend) -> None:
    """Nothing is given back and nothing is reported: all that is seen of a SIGKILL."""
    assert backend._connection is not None
    for kept in backend._tasks._kept:  # what it was at is not ended in order
        kept.cancel()
    await backend._connection.close()


def request_for(
    adapter: Adapter | str,
    camera: Camera,
    *,
    device: int = 1,
    ssid: bytes | None = None,
    password: str | None = None,
    timeout_s: float = 30.0,
    sightings: tuple[Sighting, ...] = (),
) -> JoinRequest:
    """Ask for a camera on an adapter."""
    interface = adapter if isinstance(adapter, str) else adapter.interface
    passphrase = Passphrase(camera.password if password is None else password)
    return JoinRequest(
        DeviceId(device), interface, Ssid(ssid or camera.ssid), passphrase, timeout_s, sightings
    )


def profiles() -> list[str]:
    """The profiles of ours that NetworkManager has."""
    names = run("nmcli", "-g", "NAME", "connection", "show").splitlines()
    return [name for name in names if name.startswith("wifimgrd")]
