"""The result of a connect or disconnect, read from the live objects: no call stays open meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Protocol, Self

from wifimgrd.client.changes import AttemptFailed, Change, DaemonVanished, DeviceChanged, DeviceRemoved
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Cancelled,
    ErrorCode,
    InternalError,
    WifimgrdError,
    error_of,
)
from wifimgrd.domain.records import DeviceRecord

_CANCELLED = "the attempt was cancelled by a disconnect or a removal"


class ObservedDevices(Protocol):
    """The part of the client that is needed here."""

    @property
    def devices(self) -> Mapping[int, DeviceRecord]:
        """Every device."""

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` with each change; returns a function that ends this."""


class CommandResult:
    """Follows one device from the reply to a command until it is in the state wanted or cannot get there.

    The daemon replies to a command in the state that the command led to, and signals each change after
    it. So from the reply on no change is missed, and no older one is taken for the result.
    """

    def __init__(
        self, copy: ObservedDevices, device_id: int, wanted: str, *, until_waiting: bool = False
    ) -> None:
        """`wanted` is `connected` or `disconnected`. With `until_waiting` it is a result, too, that the
        device waits for an adapter."""
        self._until_waiting = until_waiting
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

    def start(self, _: list[object]) -> None:
        """The reply to the command has come: check the device, and follow it from here."""
        device = self._copy.devices.get(self._device_id)
        is_waiting = device is not None and device.waiting_since is not None
        if device is not None and (device.state == self._wanted or (is_waiting and self._until_waiting)):
            self._future.set_result(None)
        else:
            self._unsubscribe = self._copy.subscribe(self._on_change)

    async def reached(self, timeout_s: float) -> None:
        """Wait for the result; raises the error that made the attempt fail, Cancelled, BackendUnavailable
        if the daemon goes away, and TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await self._future

    def _on_change(self, change: Change) -> None:
        if self._future.done():
            return
        match change:
            case DaemonVanished(reason):
                self._future.set_exception(BackendUnavailable(reason))
            case DeviceRemoved(self._device_id):
                self._removed()
            case AttemptFailed(self._device_id, code, message) if self._wanted == "connected":
                self._failure = _error(code, message)  # the change of the device comes next
            case DeviceChanged(after=device) if device.id == self._device_id:
                self._moved(device)

    def _moved(self, device: DeviceRecord) -> None:
        state = device.state
        if state == self._wanted:
            self._future.set_result(None)
        elif self._wanted != "connected" or state not in ("disconnecting", "disconnected"):
            return
        elif state == "disconnected" and device.waiting_since is not None:
            self._failure = Cancelled(_CANCELLED)  # another command was refused, and this device still waits
        else:
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
