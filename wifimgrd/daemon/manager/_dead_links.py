"""Cameras that are connected and do not answer: collect evidence, and carry out what the pure `LinkRecovery`
decides.

A step takes the link down first, whatever it is, and ends once the camera was seen to answer after that, or
not to answer. Steps on idle adapters that a link accuses are those of `_port_steps.py`.
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
from wifimgrd.daemon.manager._link_evidence import LinkObserver, Silence
from wifimgrd.daemon.manager._link_records import LinkRecords
from wifimgrd.daemon.manager._operations import Operations
from wifimgrd.daemon.manager._port_steps import PortSteps
from wifimgrd.daemon.manager._rejoining import Rejoining
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._turns import Turns
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain import sentences
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.commands import RECOVER
from wifimgrd.domain.dead_links import Evidence
from wifimgrd.domain.device import DeviceId, PowerState
from wifimgrd.domain.errors import (
    Busy,
    Cancelled,
    DeviceNotReachable,
    InvalidRequest,
    NotConnected,
    WifimgrdError,
)
from wifimgrd.domain.events import BackendState, DeviceUpdated, LinkStepEnded, LinkStepStarted
from wifimgrd.domain.lifecycle import Phase
from wifimgrd.domain.link_steps import CAMERA_STEPS, PORT_STEPS, LinkStep, Situation, StepResult
from wifimgrd.domain.reachability import SILENCES
from wifimgrd.domain.time_limits import RESULT_S
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_LOOK_S: Final = 10.0
"""The pause between two looks at a link, until it has been silent for long enough."""
_LATER_S: Final = 60.0
"""The same from then on: the next step may be due in an hour."""
_USABLE_S: Final = 15.0
"""How long an adapter that is present again may take until the backend can use it."""


@dataclass(slots=True)
class _Running:
    """A step that runs for a camera."""

    step: LinkStep
    adapter: AdapterIdentity
    """That of the dead link."""
    result: StepResult = StepResult.NOT_KNOWN
    answered: asyncio.Future[StepResult] | None = None
    """Whether the camera answers, once it is connected again."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """An interface has changed."""


class DeadLinks:
    """Runs the recovery steps of cameras: has their records, the clock and the tasks."""

    def __init__(
        self,
        state: HubState,
        records: LinkRecords,
        observer: LinkObserver,
        connections: Connections,
        rejoining: Rejoining,
        turns: Turns,
        ports: PortSteps,
        cameras: CameraSteps,
        operations: Operations,
        backend: Backend,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._records = records
        self._observer = observer
        self._connections = connections
        self._rejoining = rejoining
        self._turns = turns
        self._ports = ports
        self._cameras = cameras
        self._operations = operations
        self._backend = backend
        self._tasks = tasks
        self._silences: dict[DeviceId, Silence] = {}
        self._running: dict[DeviceId, _Running] = {}
        self._is_stopped = False

    # -- what happens to links

    def probed(self, entry: DeviceEntry) -> None:
        """A connected camera has answered a probe, or has not."""
        if not entry.reachability.silences:
            entry.has_answered = True
            self.answered(entry)
        elif entry.sleep.sight.state is not PowerState.ASLEEP:  # such a camera is silent by nature
            self._unanswered(entry)

    def answered(self, entry: DeviceEntry) -> None:
        """A connected camera has answered anything through its link."""
        adapter = self._adapter_of(entry)
        if adapter is None:
            return
        self._records.set(self._records.value.answered(entry.device.id, adapter))
        self._forget_silence(entry)
        self._tell(entry, StepResult.CAME_BACK)

    def _unanswered(self, entry: DeviceEntry) -> None:
        device_id, records = entry.device.id, self._records
        records.set(records.value.unanswered(device_id, records.now()))
        if device_id in self._running:
            if entry.reachability.silences >= SILENCES:
                self._tell(entry, StepResult.DID_NOT)
            return
        interface = self._state.interface_of(entry)
        if device_id not in self._silences and interface is not None and records.value.rules.silent_link_s:
            silence = self._silences[device_id] = self._observer.begin(entry, interface)
            silence.task = self._tasks.start("observe", self._observe(silence))

    def link_ended(self, entry: DeviceEntry) -> None:
        """A device is no longer connected."""
        self._records.set(self._records.value.link_ended(entry.device.id))
        self._forget_silence(entry)
        self._tell(entry, StepResult.DID_NOT)

    def released(self, entry: DeviceEntry) -> None:
        """A command ends the link of a device, or the step that runs for it."""
        self._records.set(self._records.value.disconnected(entry.device.id))
        self._cancel(entry)

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed."""
        self._records.set(self._records.value.removed(entry.device.id))

    @staticmethod
    def model_changed(entry: DeviceEntry) -> None:
        """A device has another model, whose probe may not fit the camera."""
        entry.has_answered = False

    def interface_changed(self, _: str) -> None:
        """An interface may be usable now."""
        for running in self._running.values():
            running.changed.set()

    def expired(self, _: None) -> None:
        """End the steps that have taken too long."""
        known = self._records.value.cameras
        for device_id in list(self._running):
            if (record := known.get(device_id)) is None or record.running is None:
                self._cancel(self._state.entries[device_id])

    def _cancel(self, entry: DeviceEntry) -> None:
        operation = entry.operation
        if entry.device.id in self._running and operation is not None:
            operation.task.cancel()

    def _tell(self, entry: DeviceEntry, result: StepResult) -> None:
        """A step waits for that, maybe."""
        running = self._running.get(entry.device.id)
        if running is not None and running.answered is not None and not running.answered.done():
            running.answered.set_result(result)

    # -- silences

    def _forget_silence(self, entry: DeviceEntry) -> None:
        silence = self._silences.pop(entry.device.id, None)
        if silence is not None and silence.task is not None:
            silence.task.cancel()

    async def _observe(self, silence: Silence) -> None:
        """Collect evidence in the second half of the time after which a step is due, and take that."""
        records, device_id = self._records, silence.entry.device.id
        await self._observer.count(silence)
        while True:
            half_s = silence.since_s + records.value.rules.silent_link_s / 2 - records.now()
            if half_s <= 0:
                break
            await asyncio.sleep(half_s)
        while True:
            await self._observer.look(silence)
            if self._take_due(silence):
                return
            is_silent = records.value.is_silent(device_id, records.now())
            await asyncio.sleep(_LATER_S if is_silent else _LOOK_S)

    def _take_due(self, silence: Silence) -> bool:
        """Take the step that is due for a silent camera; returns whether there is one."""
        entry, records, now_s = silence.entry, self._records, self._records.now()
        situation = self._situation(entry, silence.evidence)
        if situation is None or entry.removing or entry.phase is not Phase.UP:
            return False
        records.set(records.value.judged(entry.device.id, situation, now_s))
        step = records.value.next_step(entry.device.id, situation, now_s)
        is_able = self._backend.status.state is BackendState.READY and not self._is_busy(entry)
        if step is None or not is_able or not self._state.is_brought_back(entry.device):
            return False
        finding = records.value.finding(entry.device.id, situation)
        self._begin(entry, step, situation, finding.value, commanded=False)
        return True

    def _situation(self, entry: DeviceEntry, evidence: Evidence) -> Situation | None:
        """The facts about a connected camera; None if it has no adapter."""
        name, adapter = self._state.interface_of(entry), self._adapter_of(entry)
        if name is None or adapter is None:
            return None
        elsewhere = self._state.allocator.elsewhere(self._connections.claim(entry.device))
        return Situation(
            adapter,
            evidence,
            has_answered=entry.has_answered,
            may_record=entry.may_record_unseen,
            has_other_adapter=elsewhere is not None,
            is_port_shared=not self._ports.is_usb_device_idle(name, but=name),
            can=self._cameras.possible(entry),
        )

    def _adapter_of(self, entry: DeviceEntry) -> AdapterIdentity | None:
        """The adapter of the interface that a device has."""
        name = self._state.interface_of(entry)
        return None if name is None else self._state.allocator.interfaces[name].adapter.identity

    # -- the command

    async def recover(self, device_id: DeviceId, *, wait: bool = False, step: str | None = None) -> None:
        """Take a recovery step for a connected camera, by a client's command: `step`, or the next one.

        Returns when it runs, with `wait` when it has ended. Raises DeviceNotFound, NotConnected, Busy,
        InvalidRequest, NotSupported, NotPaired, BluetoothUnavailable, BackendUnavailable, CameraBusy; with
        `wait` also why the camera has not come back, or Cancelled.
        """
        wanted = None if step is None else _parsed(step)
        entry = self._state.entry_to_change(device_id)
        operation = self._joined(entry, wanted)
        if operation is None:
            self._require_up(entry)
            if wanted in CAMERA_STEPS and not entry.may_record_unseen:
                await self._cameras.require(entry)
                entry = self._state.entry_to_change(device_id)
                operation = self._joined(entry, wanted)
        operation = operation or self._commanded(entry, wanted)
        if wait:
            await self._operations.wait_for(operation)

    def _joined(self, entry: DeviceEntry, wanted: LinkStep | None) -> Operation | None:
        """The step that runs, if it is the wanted one; None if none runs. Raises Busy."""
        operation, running = entry.operation, self._running.get(entry.device.id)
        if operation is None or not self._is_busy(entry):
            return None
        if running is None:
            raise Busy(f"another command of the device runs: {operation.name}")
        if wanted not in (None, running.step):
            raise Busy(f"a recovery step runs: {running.step}")
        operation.commanded = True
        return operation

    def _commanded(self, entry: DeviceEntry, wanted: LinkStep | None) -> Operation:
        self._require_up(entry)
        self._backend.status.require_ready(self._backend.name)
        silence, value = self._silences.get(entry.device.id), self._records.value
        situation = self._situation(entry, Evidence() if silence is None else silence.evidence)
        if situation is None:
            raise NotConnected("the device has no adapter")
        step = value.commanded_step(entry.device.id, situation, self._records.now(), wanted)
        finding = value.finding(entry.device.id, situation)
        why = sentences.step_by_command(finding, is_silent=silence is not None)
        return self._begin(entry, step, situation, why, commanded=True)

    @staticmethod
    def _is_busy(entry: DeviceEntry) -> bool:
        return entry.operation is not None and not entry.operation.task.done()

    @staticmethod
    def _require_up(entry: DeviceEntry) -> None:
        if entry.phase is not Phase.UP:
            raise NotConnected(f"the device is {entry.state.value}")

    # -- steps

    def _begin(
        self, entry: DeviceEntry, step: LinkStep, situation: Situation, why: str, *, commanded: bool
    ) -> Operation:
        """Start a step of a device whose link is up."""
        device, records, state = entry.device, self._records, self._state
        interface = state.interface_of(entry) or ""
        running = self._running[device.id] = _Running(step, situation.adapter)
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
        self._rejoining.take_down(entry)
        return operation

    async def _take(self, entry: DeviceEntry, running: _Running, interface: str) -> None:
        """Carry a step out once the link is down, join again, and wait for the camera's answer."""
        try:
            await self._rejoining.until_down(entry)
            failure = await self._change(entry, running, interface)
            self._rejoining.join(entry, elsewhere=running.step is LinkStep.OTHER_ADAPTER)
            await self._rejoining.until_joined(entry)
            running.result = await self._result(entry, running)
        except Cancelled:
            raise
        except WifimgrdError:
            running.result = StepResult.DID_NOT
            raise
        if failure is not None:
            raise failure
        if running.result is StepResult.DID_NOT:
            raise DeviceNotReachable("the camera is connected and does not answer")

    async def _change(self, entry: DeviceEntry, running: _Running, interface: str) -> WifimgrdError | None:
        """Do what is to bring the camera back, while its link is down; returns why that was not possible."""
        try:
            if running.step in PORT_STEPS:
                await self._change_port(entry, running, interface)
            elif running.step in CAMERA_STEPS:
                await self._cameras.take(entry, running.step, interface)
        except WifimgrdError as error:
            _log.warning(
                "recovery_step_failed", interface=interface, step=running.step.value, reason=error.message
            )
            return error
        return None

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
        adapter = self._adapter_of(entry) if entry.phase is Phase.UP else None
        records.set(records.value.ended(device.id, running.result, adapter, records.now()))
        self._turns.end_promise(entry)
        is_known = state.entries.get(device.id) is entry
        if is_known and not self._is_stopped:
            self._rejoining.abandon(entry)
        before, entry.recovery_step = state.status(entry), None
        is_back = running.result is StepResult.CAME_BACK
        (_log.info if is_back else _log.warning)(
            "link_recovery_over",
            device=device.id,
            device_name=device.name,
            step=running.step.value,
            result=running.result.value,
        )
        state.publish(LinkStepEnded(device.id, running.step, running.result))
        if is_known and state.status(entry) != before:
            state.publish(DeviceUpdated(state.status(entry)))

    async def stop(self) -> None:
        """End all steps; a link that one has taken down is joined again by the next start."""
        self._is_stopped = True
        running = [self._state.entries[one].operation for one in self._running]
        for operation in running:
            if operation is not None:
                await self._operations.end(operation)
        self._records.stop()
        await self._tasks.stop()
        await self._observer.stop()
        await self._cameras.stop()
        await self._ports.stop()


def _parsed(step: str) -> LinkStep:
    try:
        return LinkStep(step)
    except ValueError:
        raise InvalidRequest(f"step: one of {', '.join(LinkStep)}") from None
