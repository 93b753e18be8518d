"""What becomes of a connect or disconnect, read off the live copy: no call stays open meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from wifimgrd.dbus.client.changes import AttemptFailed, Change, DaemonVanished, DeviceChanged, DeviceRemoved
from wifimgrd.dbus.client.records import DeviceRecord
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Cancelled,
    ErrorCode,
    InternalError,
    WifimgrdError,
    error_of,
)

_CANCELLED = "the attempt was cancelled by a disconnect or a removal"


class LiveCopy(Protocol):
    """What is needed of the client."""

    @property
    def devices(self) -> Mapping[int, DeviceRecord]:
        """Every device."""

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` with each change; returns what ends that."""


class Outcome:
    """Follows one device from a command's reply on, until it is where it was wanted or cannot get there.

    The daemon answers a command in the state that the command led to, and tells each change after it,
    so that from the reply on nothing is missed and nothing older is taken for the outcome.
    """

    def __init__(self, copy: LiveCopy, device_id: int, wanted: str) -> None:
        """`wanted` is `connected` or `disconnected`."""
        self._copy = copy
        self._device_id = device_id
        self._wanted = wanted
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._failure: WifimgrdError = Cancelled(_CANCELLED)
        self._unsubscribe: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._future.done() and not self._future.cancelled():
            self._future.exception()

    def begin(self, _: list[Any]) -> None:
        """The command was answered: look at the device, and follow it from here."""
        device = self._copy.devices.get(self._device_id)
        if device is not None and device.state == self._wanted:
            self._future.set_result(None)
        else:
            self._unsubscribe = self._copy.subscribe(self._hear)

    async def reached(self, timeout_s: float) -> None:
        """Wait for the outcome; raises what made the attempt fail, Cancelled, BackendUnavailable where
        the daemon went away, and TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await self._future

    def _hear(self, change: Change) -> None:
        if self._future.done():
            return
        match change:
            case DaemonVanished(reason):
                self._future.set_exception(BackendUnavailable(reason))
            case DeviceRemoved(self._device_id):
                self._removed()
            case AttemptFailed(self._device_id, code, message) if self._wanted == "connected":
                self._failure = _error(code, message)  # its effects come with the next change
            case DeviceChanged(device) if device.id == self._device_id:
                self._moved(device.state)

    def _moved(self, state: str) -> None:
        if state == self._wanted:
            self._future.set_result(None)
        elif self._wanted == "connected" and state in ("disconnecting", "disconnected"):
            self._future.set_exception(self._failure)

    def _removed(self) -> None:
        if self._wanted == "disconnected":
            self._future.set_result(None)
        else:
            self._future.set_exception(Cancelled(_CANCELLED))


def _error(code: str, message: str) -> WifimgrdError:
    try:
        return error_of(ErrorCode(code), message)
    except ValueError:
        return InternalError(message)
