"""Cameras that are connected and do not answer: collect evidence, and begin what the pure `LinkRecovery`
decides, or a client commands.

The steps of cameras are carried out in `_link_steps.py`, those of idle adapters that a link accuses in
`_port_steps.py`.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from wifimgrd.daemon.manager._camera_steps import CameraSteps
from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry, Operation
from wifimgrd.daemon.manager._link_evidence import LinkObserver, Silence
from wifimgrd.daemon.manager._link_records import LinkRecords
from wifimgrd.daemon.manager._link_steps import LinkSteps
from wifimgrd.daemon.manager._operations import Operations
from wifimgrd.daemon.manager._port_steps import PortSteps
from wifimgrd.daemon.manager._state import HubState, LinkEnd
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain import sentences
from wifimgrd.domain.dead_links import Evidence
from wifimgrd.domain.device import DeviceId, PowerState
from wifimgrd.domain.errors import (
    Busy,
    InvalidRequest,
    NotConnected,
)
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.lifecycle import Phase
from wifimgrd.domain.link_steps import CAMERA_STEPS, LinkStep, Situation, StepResult
from wifimgrd.domain.reachability import SILENCES
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_LOOK_S: Final = 10.0
"""The pause between two looks at a link, until it has been silent for long enough."""
_LATER_S: Final = 60.0
"""The same from then on: the next step may be due in an hour."""


class DeadLinks:
    """Decides on the recovery steps of cameras: has their silences and the clock."""

    def __init__(
        self,
        state: HubState,
        records: LinkRecords,
        observer: LinkObserver,
        connections: Connections,
        ports: PortSteps,
        cameras: CameraSteps,
        steps: LinkSteps,
        operations: Operations,
        backend: Backend,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._records = records
        self._observer = observer
        self._connections = connections
        self._ports = ports
        self._cameras = cameras
        self._steps = steps
        self._operations = operations
        self._backend = backend
        self._tasks = tasks
        self._silences: dict[DeviceId, Silence] = {}
        self._is_stopped = False

    # -- what happens to links

    def probed(self, entry: DeviceEntry) -> None:
        """A connected camera has answered a probe, or has not."""
        if not entry.reachability.silences:
            entry.has_answered = True
            self.answered(entry)
        elif not _is_asleep(entry):  # such a camera is silent by nature
            self._unanswered(entry)
        elif entry.recovery_step is None:
            self._rest(entry)

    def answered(self, entry: DeviceEntry) -> None:
        """A connected camera has answered anything through its link."""
        adapter = self._state.adapter_of(entry)
        if adapter is None:
            return
        self._records.set(self._records.value.answered(entry.device.id, adapter))
        self._forget_silence(entry)
        self._steps.tell(entry, StepResult.CAME_BACK)

    def _unanswered(self, entry: DeviceEntry) -> None:
        device_id, records = entry.device.id, self._records
        records.set(records.value.unanswered(device_id, records.now()))
        if entry.recovery_step is not None:
            if entry.reachability.silences >= SILENCES:
                self._steps.tell(entry, StepResult.DID_NOT)
            return
        interface = self._state.interface_of(entry)
        is_on = records.value.rules.silent_link_s and not self._is_stopped
        if device_id not in self._silences and interface is not None and is_on:
            silence = self._silences[device_id] = self._observer.begin(entry, interface)
            silence.task = self._tasks.start("observe", self._observe(silence))

    def link_ended(self, end: LinkEnd) -> None:
        """A device is no longer connected."""
        self._rest(end.entry)
        self._steps.tell(end.entry, StepResult.DID_NOT)

    def released(self, entry: DeviceEntry) -> None:
        """A command ends the link of a device, or the step that runs for it."""
        self._records.set(self._records.value.disconnected(entry.device.id))
        self._steps.cancel(entry)

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed."""
        self._records.set(self._records.value.removed(entry.device.id))

    @staticmethod
    def model_changed(entry: DeviceEntry) -> None:
        """A device has another model, whose probe may not fit the camera."""
        entry.has_answered = False

    # -- silences

    def _rest(self, entry: DeviceEntry) -> None:
        """A device has no link, or a camera that is asleep: that it is silent says nothing."""
        self._records.set(self._records.value.link_ended(entry.device.id))
        self._forget_silence(entry)

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
        while records.value.rules.silent_link_s:
            await self._observer.look(silence)
            if self._take_due(silence):
                return
            is_silent = records.value.is_silent(device_id, records.now())
            await asyncio.sleep(_LATER_S if is_silent else _LOOK_S)
        del self._silences[device_id]  # it is switched off

    def _take_due(self, silence: Silence) -> bool:
        """Take the step that is due for a silent camera; returns whether there is one."""
        entry, records, now_s = silence.entry, self._records, self._records.now()
        situation = self._situation(entry, silence.evidence)
        if situation is None or entry.removing or entry.phase is not Phase.UP or _is_asleep(entry):
            return False
        records.set(records.value.judged(entry.device.id, situation, now_s))
        step = records.value.next_step(entry.device.id, situation, now_s)
        is_able = self._backend.status.state is BackendState.READY and not self._is_busy(entry)
        if step is None or not is_able or not self._state.is_brought_back(entry.device):
            return False
        finding = records.value.finding(entry.device.id, situation)
        self._steps.begin(entry, step, situation, finding.value, commanded=False)
        return True

    def _situation(self, entry: DeviceEntry, evidence: Evidence) -> Situation | None:
        """The facts about a connected camera; None if it has no adapter."""
        name, adapter = self._state.interface_of(entry), self._state.adapter_of(entry)
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

    # -- the command

    async def recover(self, device_id: DeviceId, *, wait: bool = False, step: str | None = None) -> None:
        """Take a recovery step for a connected camera, by a client's command: `step`, or the next one.

        Returns when it runs, with `wait` when it has ended, and the camera answers or could not be asked.
        Raises DeviceNotFound, NotConnected, Busy, InvalidRequest, NotSupported, NotPaired,
        BluetoothUnavailable, BackendUnavailable, CameraBusy; with `wait` also why the camera has not come
        back, or Cancelled.
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
        operation, running = entry.operation, entry.recovery_step
        if operation is None or not self._is_busy(entry):
            return None
        if running is None:
            raise Busy(f"another command of the device runs: {operation.name}")
        if wanted not in (None, running):
            raise Busy(f"a recovery step runs: {running}")
        operation.commanded = True
        entry.work.ask(automatic=False)
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
        return self._steps.begin(entry, step, situation, why, commanded=True)

    @staticmethod
    def _is_busy(entry: DeviceEntry) -> bool:
        return entry.operation is not None and not entry.operation.task.done()

    @staticmethod
    def _require_up(entry: DeviceEntry) -> None:
        if entry.phase is not Phase.UP:
            raise NotConnected(f"the camera is {entry.state.value}")

    async def stop(self) -> None:
        """End all steps; a link that one has taken down is joined again by the next start."""
        self._is_stopped = True
        await self._tasks.stop()  # first: who observes a silence begins steps
        await self._steps.stop()
        self._records.stop()
        await self._observer.stop()
        await self._cameras.stop()
        await self._ports.stop()


def _is_asleep(entry: DeviceEntry) -> bool:
    return entry.sleep.sight.state is PowerState.ASLEEP


def _parsed(step: str) -> LinkStep:
    try:
        return LinkStep(step)
    except ValueError:
        raise InvalidRequest(f"step: one of {', '.join(LinkStep)}") from None
