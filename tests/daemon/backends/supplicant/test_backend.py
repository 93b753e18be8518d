"""Backends on real adapters, while connections to their services are opened and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from tests.daemon.backends.networkmanager.manager_on_the_bus import NoChanges
from tests.daemon.backends.open_backends import OpenNetworkManager, OpenWpaSupplicant
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, BusError, Signal, Watch
from wifimgrd.daemon.backends.networkmanager._service_watcher import ServiceWatcher
from wifimgrd.daemon.backends.supplicant import backend as base_backend
from wifimgrd.daemon.backends.supplicant.backend import SupplicantBackend
from wifimgrd.daemon.backends.wpa_supplicant._services import Services
from wifimgrd.daemon.ports import BackendListener
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.runtime.tasks import Backoff, Tasks
from wifimgrd.simulator._world import BriefMemory


async def no_registration(_: str) -> str:
    raise AssertionError


async def no_network(*_: object) -> str:
    raise AssertionError


async def not_called(*_: object) -> None:
    raise AssertionError


def networkmanager(bus: str, tasks: Tasks | None = None) -> OpenNetworkManager:
    return OpenNetworkManager(BriefMemory(), tasks or Tasks("test"), changes=NoChanges(), bus=bus)


def wpa_supplicant(bus: str, tasks: Tasks | None = None) -> OpenWpaSupplicant:
    return OpenWpaSupplicant(
        BriefMemory(),
        tasks or Tasks("test"),
        register_interface=no_registration,
        add_network=no_network,
        configure_link=not_called,
        request_lease=not_called,
        release_link=not_called,
        bus=bus,
    )


BOTH = pytest.mark.parametrize(
    ("make", "services"), [(networkmanager, ServiceWatcher), (wpa_supplicant, Services)]
)
Make = Callable[..., OpenNetworkManager | OpenWpaSupplicant]
PAUSES = Backoff(first_s=0.01, last_s=0.08)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that has failed is soon followed by the next."""
    monkeypatch.setattr(base_backend, "_BACKOFF", PAUSES)


class Listener:
    """Records the backend's events."""

    def __init__(self) -> None:
        self.statuses: asyncio.Queue[BackendStatus] = asyncio.Queue()

    def backend_changed(self, status: BackendStatus) -> None:
        self.statuses.put_nowait(status)


class Sessions:
    """Sessions that fail as soon as they begin."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.begun: asyncio.Queue[float] = asyncio.Queue()

    async def run(self) -> None:
        self.begun.put_nowait(asyncio.get_running_loop().time())
        raise self.error


async def started(
    backend: SupplicantBackend[Any, Any, Any],
    services: type,
    sessions: Sessions,
    monkeypatch: pytest.MonkeyPatch,
) -> Listener:
    monkeypatch.setattr(services, "watch", lambda _: sessions.run())
    listener = Listener()
    await backend.start(cast("BackendListener", listener))
    return listener


@BOTH
async def test_a_bug_in_a_session_is_reported_and_the_backend_tries_again(
    make: Make, services: type, message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make(message_bus.address)
    sessions = Sessions(ValueError("a bug"))
    with capture_logs() as entries:
        listener = await started(backend, services, sessions, monkeypatch)
        async with asyncio.timeout(10):
            status = await listener.statuses.get()
            for _ in range(3):
                await sessions.begun.get()
    assert status.state is BackendState.UNAVAILABLE
    assert "internal error" in status.reason
    [reported] = [entry for entry in entries if entry["event"] == "task_failed"]
    assert (reported["task"], reported["log_level"]) == ("test/services", "error")
    await backend.stop()


@BOTH
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            BusError("fi.w1.wpa_supplicant1.InterfaceUnknown", "it has gone"),
            "wpa_supplicant refused: it has gone",
        ),
        (BackendUnavailable("wpa_supplicant is not running"), "wpa_supplicant is not running"),
        (TimeoutError(), "a service on the message bus does not answer"),
    ],
    ids=["refused", "not running", "no answer"],
)
async def test_a_service_that_fails_is_not_taken_for_the_message_bus_nor_for_a_bug(
    make: Make,
    services: type,
    message_bus: MessageBusDaemon,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    reason: str,
) -> None:
    backend = make(message_bus.address)
    with capture_logs() as entries:
        listener = await started(backend, services, Sessions(error), monkeypatch)
        status = await asyncio.wait_for(listener.statuses.get(), 10)
    assert status == BackendStatus(BackendState.UNAVAILABLE, reason)
    assert not [entry for entry in entries if entry["log_level"] == "error"]
    await backend.stop()


@BOTH
async def test_a_start_that_does_not_end_says_what_is_missing(
    make: Make, services: type, message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make(message_bus.address)
    monkeypatch.setattr(base_backend, "STARTING_S", 1.0)
    monkeypatch.setattr(services, "watch", lambda _: asyncio.Event().wait())
    listener = Listener()
    await backend.start(cast("BackendListener", listener))
    status = await asyncio.wait_for(listener.statuses.get(), 10)
    assert status.state is BackendState.UNAVAILABLE
    assert "systemctl" in status.reason
    backend.status_changed(BackendStatus(BackendState.STARTING, "it is starting once more"))
    assert backend.status == status
    for state in (BackendState.READY, BackendState.STARTING):
        backend.status_changed(BackendStatus(state, ""))
        assert backend.status.state is state
    await backend.stop()


async def test_why_wpa_supplicant_cannot_be_started_is_said(
    message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_backend, "STARTING_S", 1.0)
    backend, listener = wpa_supplicant(message_bus.address), Listener()
    await backend.start(cast("BackendListener", listener))
    status = await asyncio.wait_for(listener.statuses.get(), 10)
    assert status.state is BackendState.UNAVAILABLE
    assert "fi.w1.wpa_supplicant1" in status.reason
    assert "package wpasupplicant" in status.reason
    await backend.stop()


@BOTH
async def test_a_session_that_fails_at_once_is_tried_ever_more_patiently_and_reported_once(
    make: Make, services: type, message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make(message_bus.address)
    sessions = Sessions(BusError("org.freedesktop.DBus.Error.AccessDenied", "not for you"))
    with capture_logs() as entries:
        await started(backend, services, sessions, monkeypatch)
        async with asyncio.timeout(10):
            begun = [await sessions.begun.get() for _ in range(6)]
    pauses = [later - earlier for earlier, later in pairwise(begun)]
    assert all(pause >= least for pause, least in zip(pauses, (0.01, 0.02, 0.04, 0.08, 0.08), strict=True))
    reported = [entry for entry in entries if entry["log_level"] in ("warning", "error")]
    assert [entry["event"] for entry in reported] == ["task_ended"]
    await backend.stop()


@pytest.mark.parametrize(
    ("make", "services", "subscriptions"),
    [(networkmanager, ServiceWatcher, 3), (wpa_supplicant, Services, 6)],
)
async def test_services_whose_watch_failed_leave_no_subscription(
    make: Make,
    services: Any,
    subscriptions: int,
    message_bus: MessageBusDaemon,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = make(message_bus.address)
    subscribe, drop, watch = BusConnection.watch, Watch.drop, services.watch
    subscribed, left = asyncio.Queue[None](), asyncio.Queue[int]()
    kept: set[Watch] = set()
    """The subscriptions of services."""

    async def note(connection: BusConnection, handler: Callable[[Signal], None], **conditions: str) -> Watch:
        subscription = await subscribe(connection, handler, **conditions)
        if isinstance(getattr(handler, "__self__", None), services):
            kept.add(subscription)
        subscribed.put_nowait(None)
        return subscription

    def note_end(subscription: Watch) -> None:
        kept.discard(subscription)
        drop(subscription)

    async def fails_once_subscribed(watched: object) -> None:
        left.put_nowait(len(kept))
        watching = asyncio.create_task(watch(watched))
        try:
            for _ in range(subscriptions):
                await subscribed.get()
            assert kept
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        raise ValueError("a bug")

    monkeypatch.setattr(BusConnection, "watch", note)
    monkeypatch.setattr(Watch, "drop", note_end)
    monkeypatch.setattr(services, "watch", fails_once_subscribed)
    await backend.start(cast("BackendListener", Listener()))
    async with asyncio.timeout(30):
        assert [await left.get() for _ in range(3)] == [0, 0, 0]
    await backend.stop()


@BOTH
async def test_the_watchdog_checks_its_connection(
    make: Make, services: type, message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, tasks = asyncio.Event(), Tasks("test")

    async def watch(_: object) -> None:
        watched.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(services, "watch", watch)
    backend = make(message_bus.address, tasks)
    await backend.start(cast("BackendListener", Listener()))
    async with asyncio.timeout(10):
        await watched.wait()  # over its connection
    assert await tasks.find_dead(10) == []
    monkeypatch.setattr(BusConnection, "round_trip", lambda _: asyncio.Event().wait())
    assert await tasks.find_dead(0.01) == ["test/message-bus"]
    await backend.stop()


@BOTH
async def test_access_points_are_in_use_by_links_and_attempts(
    make: Make, services: type, message_bus: MessageBusDaemon
) -> None:
    del services
    backend = make(message_bus.address)
    held = SimpleNamespace(device_id=DeviceId(1))
    links = {
        "wlan0": SimpleNamespace(bssid="02:00:00:00:00:0a", held=held),
        "wlan1": SimpleNamespace(bssid="", held=SimpleNamespace(device_id=DeviceId(2))),
    }
    attempts = {
        "wlan2": SimpleNamespace(bssid="02:00:00:00:00:0b", device_id=DeviceId(3)),
        "wlan3": SimpleNamespace(bssid="", device_id=DeviceId(4)),
    }
    backend.has(links, attempts)
    assert backend.users.links(None) == {"02:00:00:00:00:0a": DeviceId(1)}
    assert backend.users.links(DeviceId(1)) == {}
    assert backend.users.attempts(DeviceId(1)) == {"02:00:00:00:00:0b": DeviceId(3)}
    assert backend.users.attempts(DeviceId(3)) == {}
    backend.has({}, {})
    await backend.stop()
