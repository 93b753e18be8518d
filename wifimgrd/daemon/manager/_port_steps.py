"""The recovery steps of USB ports: carried out for whoever decides on one, and on accused adapters once idle.

The machines of adapters (`_recovering.py`) and of dead links (`_dead_links.py`) act on the same ports: each
counts the steps of the other one, and an adapter on which a step runs is an obstacle to both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from functools import partial

import structlog

from wifimgrd.daemon.manager._airtime import Airtime
from wifimgrd.daemon.manager._link_records import LinkRecords
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import AdapterSource, Backend
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Busy,
    InterfaceLost,
    InternalError,
    NotSupported,
    WifimgrdError,
)
from wifimgrd.domain.events import AdapterRecovery, BackendState
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.recovery import Symptom
from wifimgrd.domain.time_limits import PORT_S, STEP_S
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


class PortSteps:
    """Resets USB ports and switches their power."""

    def __init__(
        self,
        state: HubState,
        records: LinkRecords,
        airtime: Airtime,
        backend: Backend,
        adapters: AdapterSource,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._records = records
        self._airtime = airtime
        self._backend = backend
        self._adapters = adapters
        self._tasks = tasks
        self._is_due = False
        self._changes: dict[AdapterIdentity, asyncio.Task[None]] = {}
        """The running changes of the adapters' ports: one goes on after its step was ended, since a thread in
        the kernel cannot be."""
        self.begun = Notice[AdapterIdentity]()
        """A step of the port of an adapter was started because of a dead link."""
        self.over = Notice[AdapterIdentity]()
        """It has ended."""

    # -- carried out

    def end(self, identity: AdapterIdentity, *, is_done: bool) -> None:
        """The step of a port that is on record, if there is one, has ended, even before it began; it stays on
        record as long as its port is being changed."""
        record = self._records.value.adapters.get(identity)
        if record is not None and record.running is not None and not self.is_changing(identity):
            self._ended(identity, is_done=is_done)

    def _ended(self, identity: AdapterIdentity, *, is_done: bool) -> None:
        self._records.set(self._records.value.port_ended(identity, is_done=is_done))
        self.over.notify(identity)

    def is_changing(self, identity: AdapterIdentity) -> bool:
        """Whether something is done to the port of an adapter, for a step that runs or has run."""
        return identity in self._changes

    def obstacle(self, port: str) -> str:
        """Why the adapters of the USB device in a port must not be used, as a predicate, though no step is on
        record any longer; empty if they may."""
        is_changing = any(one.usb_port == port for one in self._changes)
        return "being recovered: a step of its USB port does not end" if is_changing else ""

    async def take(self, name: str, step: LinkStep) -> None:
        """Carry out a step that is on record; returns when the adapter is present again. After a time limit,
        or a cancellation, it goes on.

        Raises InterfaceLost if the adapter is not present in time, NotSupported if it is not on USB,
        BackendUnavailable if the kernel refuses, Busy if the USB device is used meanwhile.
        """
        interface = self._state.allocator.interfaces.get(name)
        if interface is None:
            raise InterfaceLost("the adapter is gone")
        if not self.is_usb_device_idle(name, but=name):
            raise Busy("another interface of the adapter's USB device is in use")
        if self.is_changing(identity := interface.adapter.identity):
            raise Busy("a step before is still changing the adapter's USB port")
        is_reset = step is LinkStep.RESET_PORT
        limit_s, change = (
            (STEP_S, self._adapters.reset_port) if is_reset else (PORT_S, self._adapters.power_port)
        )
        changing = self._changes[identity] = self._tasks.start(
            step.value, self._change(name, step, change), expected=(WifimgrdError,)
        )
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.shield(changing)
        except TimeoutError:
            raise InterfaceLost(f"it took longer than {limit_s:g} s") from None
        finally:
            if changing.done():
                del self._changes[identity]
            else:
                changing.add_done_callback(partial(self._changed_late, identity))

    def _changed_late(self, identity: AdapterIdentity, changing: asyncio.Task[None]) -> None:
        """Nothing is done to a port any longer whose step was over before."""
        del self._changes[identity]
        self._ended(identity, is_done=not changing.cancelled() and changing.exception() is None)

    @staticmethod
    async def _change(name: str, step: LinkStep, change: Callable[[str], Awaitable[None]]) -> None:
        try:
            await change(name)
        except TimeoutError as late:
            raise InterfaceLost(late.strerror or "it took too long") from None
        except FileNotFoundError as error:  # it is not on USB
            raise NotSupported(str(error)) from None
        except OSError as error:
            raise BackendUnavailable(f"the kernel refuses the step: {error.strerror}") from None
        except WifimgrdError:
            raise
        except Exception as crash:  # a bug must not block an adapter forever
            _log.exception("recovery_step_crashed", interface=name, step=step.value)
            raise InternalError("the step ended with an internal error") from crash

    # -- on accused adapters

    def look(self, _: object = None) -> None:
        """An adapter may be idle now, or was accused: start the steps that are due, soon."""
        if not self._is_due and self._records.value.adapters:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._start_due)

    def _start_due(self) -> None:
        self._is_due = False
        if self._backend.status.state is not BackendState.READY:
            return
        named = self._state.allocator.named
        idle = {
            one: name for one in self._records.value.adapters for name in named(one) if self._is_idle(name)
        }
        due = self._records.value.due(self._records.now(), idle, self._recording())
        for identity, step in due:
            if self._is_idle(idle[identity]):  # else the step before has its USB device
                self._start(idle[identity], identity, step)

    def _recording(self) -> Collection[DeviceId]:
        entries = self._state.entries
        return {one for one, entry in entries.items() if entry.may_record_unseen}

    def _is_idle(self, name: str) -> bool:
        """Whether nobody uses an interface, nor its USB device; a step of that is an obstacle to it."""
        status = self._state.allocator.status(name)
        return status.state is InterfaceState.AVAILABLE and self.is_usb_device_idle(name)

    def is_usb_device_idle(self, name: str, *, but: str = "") -> bool:
        """Whether neither the hub nor another program uses any interface of an interface's USB device, or any
        `but` one."""
        allocator = self._state.allocator
        return not any(
            one in allocator.holders or allocator.interfaces[one].adapter.is_active or one in self._airtime
            for one in allocator.of_usb_device(name) - {but}
        )

    def _start(self, name: str, identity: AdapterIdentity, step: LinkStep) -> None:
        self._records.set(self._records.value.port_started(identity, step, self._records.now()))
        self._state.publish(AdapterRecovery(name, step))
        _log.warning("adapter_recovery", interface=name, step=step.value, reason=str(Symptom.DEAD_LINK))
        self.begun.notify(identity)
        task = self._tasks.start(step.value, self._take_logged(name, identity, step))
        # It may be cancelled before its first step.
        task.add_done_callback(lambda _: self.end(identity, is_done=False))

    async def _take_logged(self, name: str, identity: AdapterIdentity, step: LinkStep) -> None:
        try:
            await self.take(name, step)
        except WifimgrdError as error:
            _log.warning("recovery_step_failed", interface=name, step=step.value, reason=error.message)
        else:
            self.end(identity, is_done=True)

    async def stop(self) -> None:
        """End all steps."""
        await self._tasks.stop()
