"""The backend's life around its sessions with NetworkManager."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from tests.message_bus import MessageBusDaemon
from wifimgrd.backends.networkmanager import NetworkManagerBackend
from wifimgrd.backends.networkmanager import backend as backend_module
from wifimgrd.backends.networkmanager.session import Session
from wifimgrd.backends.simulated.world import BriefMemory
from wifimgrd.dbus.bus import BusError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.ports import BackendListener
from wifimgrd.runtime.tasks import Backoff, Tasks


class Listener:
    """Keeps what is told of the backend."""

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
    bus: MessageBusDaemon, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> tuple[NetworkManagerBackend, Listener]:
    monkeypatch.setattr(Session, "run_until_closed", lambda _: sessions.run())
    monkeypatch.setattr(backend_module, "_BACKOFF", Backoff(first_s=0.01, last_s=0.08))
    backend, listener = NetworkManagerBackend(BriefMemory(), Tasks("test"), bus=bus.address), Listener()
    await backend.start(cast("BackendListener", listener))
    return backend, listener


async def test_a_bug_in_a_session_is_told_and_the_backend_tries_again(
    message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = Sessions(ValueError("a bug"))
    with capture_logs() as entries:
        backend, listener = await started(message_bus, sessions, monkeypatch)
        async with asyncio.timeout(10):
            status = await listener.statuses.get()
            for _ in range(3):
                await sessions.begun.get()
    assert status.state is BackendState.UNAVAILABLE
    assert "internal error" in status.reason
    [told] = [entry for entry in entries if entry["event"] == "task_failed"]
    assert (told["task"], told["log_level"]) == ("test/session", "error")
    await backend.stop()


async def test_a_session_that_fails_at_once_is_tried_ever_more_patiently_and_told_once(
    message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = Sessions(BusError("org.freedesktop.DBus.Error.AccessDenied", "not for you"))
    with capture_logs() as entries:
        backend, _ = await started(message_bus, sessions, monkeypatch)
        async with asyncio.timeout(10):
            begun = [await sessions.begun.get() for _ in range(6)]
    pauses = [later - earlier for earlier, later in pairwise(begun)]
    assert all(pause >= least for pause, least in zip(pauses, (0.01, 0.02, 0.04, 0.08, 0.08), strict=True))
    told = [entry for entry in entries if entry["log_level"] in ("warning", "error")]
    assert [entry["event"] for entry in told] == ["task_ended"]
    await backend.stop()


async def test_sessions_that_failed_leave_no_subscription(
    message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = Sessions(ValueError("a bug"))
    follow = Session._follow

    async def fails_later(session: Session) -> None:
        await asyncio.wait([asyncio.create_task(follow(session))], timeout=0.1)
        await sessions.run()

    monkeypatch.setattr(Session, "run_until_closed", fails_later)
    monkeypatch.setattr(backend_module, "_BACKOFF", Backoff(first_s=0.01, last_s=0.01))
    backend: Any = NetworkManagerBackend(BriefMemory(), Tasks("test"), bus=message_bus.address)
    await backend.start(cast("BackendListener", Listener()))
    async with asyncio.timeout(10):
        for _ in range(4):
            await sessions.begun.get()
    assert len(backend._connection._watches._watches) <= 2
    await backend.stop()
