"""Carries out the recovery steps of connected cameras.

A step takes the link down first, whatever it is, then changes something, joins again, and ends once the
camera was seen to answer, or not to answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from wifimgrd.daemon.manager._camera_steps import CameraSteps
from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry, Operation
from wifimgrd.daemon.manager._link_records import LinkRecords
from wifimgrd.daemon.manager._operations import Operations
from wifimgrd.daemon.manager._port_steps import PortSteps
from wifimgrd.daemon.manager._rejoining import Rejoining
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._turns import Turns
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.commands import RECOVER
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import BackendUnavailable, Cancelled, DeviceNotReachable, WifimgrdError
from wifimgrd.domain.events import DeviceUpdated, LinkStepEnded, LinkStepStarted
from wifimgrd.domain.lifecycle import Phase
from wifimgrd.domain.link_steps import CAMERA_STEPS, PORT_STEPS, LinkStep, Situation, StepResult
from wifimgrd.domain.time_limits import RESULT_S

_log = structlog.get_logger()

_USABLE_S: Final = 15.0
"""How long an adapter that is present again may take until the backend can use it."""


@dataclass(slots=True)
class _Running:
    """A step that runs for a camera."""

    entry: DeviceEntry
    step: LinkStep
    adapter: AdapterIdentity
    """That of the dead link."""
    result: StepResult = StepResult.NOT_KNOWN
    answered: asyncio.Future[StepResult] | None = None
    """Whether the camera answers, once it is connected again."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """An interface has changed."""
    failure: WifimgrdError | None = None
    """Why it could not be carried out."""


class LinkSteps:
    """The steps that run, at most one for each camera."""

    def __init__(
        self,
        state: HubState,
        records: LinkRecords,
        connections: Connections,
        rejoining: Rejoining,
        turns: Turns,
        ports: PortSteps,
        cameras: CameraSteps,
        operations: Operations,
    ) -> None:
        self._state = state
        self._records = records
        self._connections = connections
        self._rejoining = rejoining
        self._turns = turns
        self._ports = ports
        self._cameras = cameras
        self._operations = operations
        self._running: dict[DeviceId, _Running] = {}
        self._is_stopped = False

    def begin(
        self, entry: DeviceEntry, step: LinkStep, situation: Situation, why: str, *, commanded: bool
    ) -> Operation:
        """Start a step of a device whose link is up; raises BackendUnavailable if the hub is stopping."""
        if self._is_stopped:
            raise BackendUnavailable("wifimgrd is stopping")
        device, records, state = entry.device, self._records, self._state
        interface = state.interface_of(entry) or ""
        running = self._running[device.id] = _Running(entry, step, situation.adapter)
        entry.recovery_step = step
        _log.warning(
            "link_recovery",
            device=device.id,
            device_name=device.name,
            interface=interface,
            step=step.value,
            reason=why,
        )
        state.publish(LinkStepStarted(device.id, interface, step, why))
        records.set(records.value.started(device.id, step, situation, records.now()))
        if step in PORT_STEPS:
            self._ports.begun.notify(situation.adapter)
        if step is LinkStep.OTHER_ADAPTER:
            self._promise(entry, state.allocator.elsewhere(self._connections.claim(device)))
        operation = self._operations.start(
            entry, RECOVER.name, partial(self._take, entry, running, interface), commanded=commanded
        )
        operation.task.add_done_callback(lambda _: self._over(entry, running))
        self._rejoining.take_down(entry, commanded=commanded)
        return operation

    async def _take(self, entry: DeviceEntry, running: _Running, interface: str) -> None:
        """Carry a step out once the link is down, join again, and wait for the camera's answer."""
        try:
            await self._rejoining.until_down(entry)
            await self._change(entry, running, interface)
            self._rejoining.join(entry, elsewhere=running.step is LinkStep.OTHER_ADAPTER)
            await self._rejoining.until_joined(entry)
            running.result = await self._result(entry, running)
        except Cancelled:
            raise
        except WifimgrdError:
            running.result = StepResult.DID_NOT
            raise
        if running.failure is not None and running.result is not StepResult.CAME_BACK:
            raise running.failure
        if running.result is StepResult.DID_NOT:
            raise DeviceNotReachable("the camera is connected and does not answer")

    async def _change(self, entry: DeviceEntry, running: _Running, interface: str) -> None:
        """Do what is to bring the camera back, while its link is down, as far as that is possible."""
        try:
            if running.step in PORT_STEPS:
                await self._change_port(entry, running, interface)
            elif running.step in CAMERA_STEPS:
                await self._cameras.take(entry, running.step, interface)
        except WifimgrdError as error:
            _log.warning(
                "recovery_step_failed", interface=interface, step=running.step.value, reason=error.message
            )
            running.failure = error

    async def _change_port(self, entry: DeviceEntry, running: _Running, interface: str) -> None:
        self._rejoining.give_back(entry)
        is_done = False
        try:
            await self._ports.take(interface, running.step)
            is_done = True
        finally:
            names = self._state.allocator.named(running.adapter)
            self._promise(entry, names[0] if names else None)
            self._ports.end(running.adapter, is_done=is_done)
        claim, allocator = self._connections.claim(entry.device), self._state.allocator
        try:
            async with asyncio.timeout(_USABLE_S):
                while all(
                    allocator.refusal(claim, allocator.interfaces[name])
                    for name in allocator.named(running.adapter)
                ):
                    running.changed.clear()
                    await running.changed.wait()
                    allocator = self._state.allocator
        except TimeoutError:
            pass  # it joins through any other one

    def _promise(self, entry: DeviceEntry, name: str | None) -> None:
        """Keep an adapter for a device until its step is over, or it has one."""
        if name is not None:
            self._state.allocator = self._state.allocator.promise(entry.device.id, name)

    @staticmethod
    async def _result(entry: DeviceEntry, running: _Running) -> StepResult:
        """Whether a camera that is connected again answers."""
        if entry.phase is not Phase.UP:
            return StepResult.DID_NOT
        running.answered = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(RESULT_S):
                return await running.answered
        except TimeoutError:
            return StepResult.NOT_KNOWN

    def _over(self, entry: DeviceEntry, running: _Running) -> None:
        """A step has ended, or was cancelled, even before it began."""
        device, records, state = entry.device, self._records, self._state
        del self._running[device.id]
        if running.step in PORT_STEPS:
            self._ports.end(running.adapter, is_done=False)
        if running.step in CAMERA_STEPS and entry.phase is not Phase.UP:
            self._cameras.release(entry)
        adapter = self._state.adapter_of(entry) if entry.phase is Phase.UP else None
        records.set(records.value.ended(device.id, running.result, adapter, records.now()))
        is_known = state.entries.get(device.id) is entry
        if is_known and not self._is_stopped:
            self._rejoining.abandon(entry)
        before, entry.recovery_step = state.status(entry), None
        self._turns.end_promise(entry)
        is_back = running.result is StepResult.CAME_BACK
        (_log.info if is_back else _log.warning)(
            "link_recovery_over",
            device=device.id,
            device_name=device.name,
            step=running.step.value,
            result=running.result.value,
        )
        failure = "" if running.failure is None else running.failure.message
        state.publish(LinkStepEnded(device.id, running.step, running.result, failure))
        if is_known and state.status(entry) != before:
            state.publish(DeviceUpdated(state.status(entry)))

    # -- what happens meanwhile

    def interface_changed(self, _: str) -> None:
        """An interface may be usable now."""
        for running in self._running.values():
            running.changed.set()

    def expired(self, _: None) -> None:
        """End the steps that have taken too long."""
        known = self._records.value.cameras
        for device_id, running in list(self._running.items()):
            if (record := known.get(device_id)) is None or record.running is None:
                self.cancel(running.entry)

    def cancel(self, entry: DeviceEntry) -> None:
        """End the step of a device, if one runs."""
        operation = entry.operation
        if entry.device.id in self._running and operation is not None:
            operation.task.cancel()

    def tell(self, entry: DeviceEntry, result: StepResult) -> None:
        """Tell the step of a device whether its camera answers, if it waits for that."""
        running = self._running.get(entry.device.id)
        if running is not None and running.answered is not None and not running.answered.done():
            running.answered.set_result(result)

    async def stop(self) -> None:
        """End all steps; a link that one has taken down is joined again by the next start."""
        self._is_stopped = True
        for running in list(self._running.values()):
            if (operation := running.entry.operation) is not None:
                await self._operations.end(operation)
