"""Operations on one camera that take a while, one at a time: wake, sleep, pair, and recovery steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import structlog

from wifimgrd.daemon.manager._entry import DeviceEntry, Operation
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain.commands import RECOVER, WAKE
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import Busy, Cancelled, ErrorCode, InternalError, WifimgrdError
from wifimgrd.domain.events import OperationFailed
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_CANCELLED: Final = "the operation was cancelled by another command"
_LOGGED_OTHERWISE: Final = (WAKE.name, RECOVER.name)
"""The operations whose failures are logged where they are carried out."""


class Operations:
    """The operations that run, and who waits for them."""

    def __init__(self, state: HubState, tasks: Tasks) -> None:
        self._state = state
        self._tasks = tasks

    async def run(
        self, entry: DeviceEntry, name: str, work: Callable[[], Awaitable[None]], *, wait: bool
    ) -> None:
        """Start an operation, or join the same one that runs; returns with `wait` when it has ended. Raises
        Busy if another one runs, with `wait` also why it has failed, or Cancelled."""
        operation = entry.operation
        if operation is None or operation.task.done():
            operation = self.start(entry, name, work)
        elif operation.name != name:
            raise Busy(f"another command of the device runs: {operation.name}")
        if wait:
            await self.wait_for(operation)

    def start(
        self, entry: DeviceEntry, name: str, work: Callable[[], Awaitable[None]], *, commanded: bool = True
    ) -> Operation:
        """Start an operation; the caller has found that none runs."""
        task = self._tasks.start(name, self._carry_out(entry, name, work), expected=(WifimgrdError,))
        operation = entry.operation = Operation(name, task, commanded=commanded)
        # It may be cancelled before its first step, so that no clean-up of its own would run.
        task.add_done_callback(partial(self._over, entry, operation))
        return operation

    @staticmethod
    async def wait_for(operation: Operation) -> None:
        """Return when an operation has ended; raises why it has failed, or Cancelled."""
        operation.awaited = True
        try:
            await asyncio.shield(operation.task)
        except asyncio.CancelledError:
            if operation.task.cancelled():
                raise Cancelled(_CANCELLED) from None
            raise

    @staticmethod
    async def end(operation: Operation) -> None:
        """Cancel an operation, and return when it has ended."""
        operation.task.cancel()
        await asyncio.wait((operation.task,))

    async def stop(self) -> None:
        """End all operations."""
        await self._tasks.stop()

    @staticmethod
    async def _carry_out(entry: DeviceEntry, name: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except WifimgrdError:
            raise
        except Exception as crash:
            _log.exception("operation_crashed", device=entry.device.id, operation=name)
            raise InternalError("the operation ended with an internal error") from crash

    def _over(self, entry: DeviceEntry, operation: Operation, task: asyncio.Task[None]) -> None:
        """An operation has ended, or was cancelled, even before it began."""
        is_last = entry.operation is operation  # else another one has begun, whose phase is not to be cleared
        if is_last:
            entry.operation = None
        if self._state.entries.get(entry.device.id) is not entry:
            return
        if is_last and operation.name == WAKE.name and entry.state is DeviceState.DISCONNECTED:
            self._state.show_activity(entry, None)
        error = Cancelled(_CANCELLED) if task.cancelled() else task.exception()
        if isinstance(error, WifimgrdError) and operation.commanded:
            self._report(entry, operation, error)

    def _report(self, entry: DeviceEntry, operation: Operation, error: WifimgrdError) -> None:
        device = entry.device
        if error.code is not ErrorCode.CANCELLED and operation.name not in _LOGGED_OTHERWISE:
            _log.warning(
                f"{operation.name}_failed",
                device=device.id,
                device_name=device.name,
                code=error.code,
                reason=error.message,
            )
        if not operation.awaited:
            self._state.publish(OperationFailed(device.id, operation.name, error.code, error.message))
