"""When which recovery step is due for a camera whose link is up and dead: a pure state machine.

`LinkRecovery` is a value; each operation returns a new one. Times are seconds on a monotonic clock. Which
part is at fault is decided in `dead_links.py`, which steps are possible in `link_steps.py`.
Invariants, tested as a rule-based state machine:

- without a command, a step is only taken for a camera that has answered nothing for `silent_link_s`, and at
  least UNANSWERED probes in a row: a weak link that is alive has none;
- without a command, none is taken while a recording was not seen to end, none that is switched off, and none
  twice in WINDOW_S for one camera or one adapter, unless that was unplugged meanwhile; a command counts, too;
- the gentler ones come first; those of a USB port are only taken on an adapter that is accused, once it is
  idle: that of a dead link is not;
- the camera's own steps are never taken while a recording was not seen to end, not even by a command, and
  without one only with `camera_steps`;
- a camera that is silent through two adapters accuses neither;
- rest is always near: an answer, the end of the link or a disconnect ends a silence, and each step ends, by
  itself after LIMIT_S; an accusation ends with an answer through the adapter, a step, or after WINDOW_S.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from wifimgrd.domain._frozen import Frozen, empty, minus, plus
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.dead_links import Asked, Finding, Verdict, judge
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import Busy, NotSupported
from wifimgrd.domain.link_steps import (
    CAMERA_STEPS,
    PORT_STEPS,
    LinkRules,
    LinkStep,
    Situation,
    StepResult,
    hindrance,
    port_hindrance,
)
from wifimgrd.domain.recovery import WINDOW_S, Condition, Health, Symptom
from wifimgrd.domain.time_limits import LINK_STEP_S

UNANSWERED: Final = 5
"""So many probes in a row must not have been answered: no number of seconds replaces them."""
LIMIT_S: Final = LINK_STEP_S
"""A step has ended by then: a camera reboots within two minutes, and an attempt has up to ten."""
_NEVER: Final = float("-inf")


@dataclass(frozen=True, slots=True)
class RunningStep:
    """A step that runs for a camera."""

    step: LinkStep
    since_s: float
    situation: Situation
    """The situation in which it began."""


@dataclass(frozen=True, slots=True)
class CameraRecord:
    """The silence of one camera, and the steps that were taken for it."""

    silent_since_s: float | None = None
    """Since when no probe was answered."""
    unanswered: int = 0
    last_step_s: Frozen[LinkStep, float] = field(default_factory=empty)
    running: RunningStep | None = None
    failed_through: frozenset[AdapterIdentity] = frozenset()
    """The adapters through which it did not answer after a step, in this silence."""

    @property
    def expires_s(self) -> float | None:
        """When its step must have ended, or it no longer matters; None while the camera is silent."""
        if self.running is not None:
            return self.running.since_s + LIMIT_S
        if self.silent_since_s is not None or self.failed_through:
            return None
        return max(self.last_step_s.values(), default=_NEVER) + WINDOW_S


@dataclass(frozen=True, slots=True)
class Accusation:
    """An adapter is at fault, by the link of a camera."""

    by: DeviceId
    finding: Finding
    since_s: float


@dataclass(frozen=True, slots=True)
class AdapterRecord:
    """The accusation of one adapter, and the steps that were taken on it."""

    accusation: Accusation | None = None
    last_step_s: Frozen[LinkStep, float] = field(default_factory=empty)
    running: LinkStep | None = None

    @property
    def expires_s(self) -> float:
        """When its step must have ended, or it no longer matters."""
        if self.running is not None:
            return self.last_step_s[self.running] + LIMIT_S
        since_s = _NEVER if self.accusation is None else self.accusation.since_s
        return max(since_s, *self.last_step_s.values(), _NEVER) + WINDOW_S


@dataclass(frozen=True, slots=True)
class LinkRecovery:
    """The records of all cameras and adapters that have one."""

    rules: LinkRules = field(default_factory=LinkRules)
    cameras: Frozen[DeviceId, CameraRecord] = field(default_factory=empty)
    adapters: Frozen[AdapterIdentity, AdapterRecord] = field(default_factory=empty)

    # -- a camera's silence

    def unanswered(self, device: DeviceId, now_s: float) -> LinkRecovery:
        """A connected camera did not answer a probe; during a step that says nothing."""
        record = self.cameras.get(device, CameraRecord())
        if record.running is not None:
            return self
        since_s = now_s if record.silent_since_s is None else record.silent_since_s
        return self._with(device, replace(record, silent_since_s=since_s, unanswered=record.unanswered + 1))

    def answered(self, device: DeviceId, adapter: AdapterIdentity) -> LinkRecovery:
        """A connected camera has answered anything through an adapter, which therefore works; a step that
        runs goes on."""
        return self._cleared(adapter).link_ended(device)

    def link_ended(self, device: DeviceId) -> LinkRecovery:
        """A camera no longer has a link, or has another one; a step that runs goes on."""
        record = self.cameras.get(device)
        return self if record is None or record.running is not None else self._rests(device)

    def disconnected(self, device: DeviceId) -> LinkRecovery:
        """A client has disconnected a camera: its step ends, without a result."""
        return self._rests(device) if device in self.cameras else self

    def removed(self, device: DeviceId) -> LinkRecovery:
        """A device was removed; it accuses no adapter."""
        after = self._withdrawn(device)
        return replace(after, cameras=minus(after.cameras, device)) if device in after.cameras else after

    def is_silent(self, device: DeviceId, now_s: float) -> bool:
        """Whether a connected camera has answered nothing for long enough, and no step runs for it."""
        record, limit_s = self.cameras.get(device, CameraRecord()), self.rules.silent_link_s
        if record.running is not None or record.silent_since_s is None or not limit_s:
            return False
        return record.unanswered >= UNANSWERED and now_s - record.silent_since_s >= limit_s

    # -- a camera's steps

    def finding(self, device: DeviceId, situation: Situation) -> Finding:
        """Which part is at fault, by the evidence and by the steps so far."""
        failed = self.cameras.get(device, CameraRecord()).failed_through
        evidence = situation.evidence
        if failed - {situation.adapter}:
            evidence = replace(evidence, elsewhere=Asked.SILENT)
        return judge(evidence)

    def judged(self, device: DeviceId, situation: Situation, now_s: float) -> LinkRecovery:
        """The verdict about a silent camera counts: its adapter is accused, or it accuses none."""
        if not self.is_silent(device, now_s) or situation.may_record:
            return self
        finding = self.finding(device, situation)
        if finding.verdict is Verdict.ADAPTER:
            return self._accused(situation.adapter, Accusation(device, finding, now_s))
        return self if finding.verdict is Verdict.NOT_KNOWN else self._withdrawn(device)

    def next_step(self, device: DeviceId, situation: Situation, now_s: float) -> LinkStep | None:
        """The step that is due for a camera without a command. Those of a port are not among them: they wait
        until the adapter is idle, see `due`."""
        if not self.is_silent(device, now_s) or situation.may_record:
            return None
        if self.finding(device, situation).verdict is Verdict.SERVICE and not situation.has_answered:
            return None
        barred = PORT_STEPS if self.rules.camera_steps else PORT_STEPS | CAMERA_STEPS
        for step in self._serving(device, situation):
            if step not in barred and now_s - self._taken_s(device, step, situation) >= WINDOW_S:
                return step
        return None

    def commanded_step(
        self, device: DeviceId, situation: Situation, now_s: float, wanted: LinkStep | None = None
    ) -> LinkStep:
        """The step that a client's command means: `wanted`, or the next one. Neither WINDOW_S nor the
        evidence bars a command; if all steps were taken, the next one is that of the longest ago.

        Raises Busy, CameraBusy, InvalidRequest, NotSupported.
        """
        record = self.cameras.get(device)
        if record is not None and record.running is not None:
            raise Busy(f"a recovery step runs: {record.running.step}")
        if wanted is not None:
            if (error := hindrance(wanted, situation, self.rules)) is not None:
                raise error
            return wanted
        taken = {step: self._taken_s(device, step, situation) for step in self._serving(device, situation)}
        if not taken:
            raise NotSupported(
                "recovery steps are switched off or not possible for this camera; name one, as in"
                f" `wifimgrctl recover {device} --step rejoin`"
            )
        fresh = (step for step, taken_s in taken.items() if now_s - taken_s >= WINDOW_S)
        return next(fresh, min(taken, key=taken.__getitem__))

    def started(self, device: DeviceId, step: LinkStep, situation: Situation, now_s: float) -> LinkRecovery:
        """A step was started for a camera. One of a port runs on its adapter, too, until `port_ended`."""
        record = self.cameras.get(device, CameraRecord())
        record = replace(
            record, running=RunningStep(step, now_s, situation), silent_since_s=None, unanswered=0
        )
        if step in PORT_STEPS:
            return self._with(device, record).port_started(situation.adapter, step, now_s)
        return self._with(device, replace(record, last_step_s=plus(record.last_step_s, {step: now_s})))

    def ended(
        self, device: DeviceId, result: StepResult, adapter: AdapterIdentity | None, now_s: float
    ) -> LinkRecovery:
        """The step of a camera has ended; `adapter` is that of its link now, None if it has none.

        If it came back through another adapter than the one through which a rejoin had not helped, that one
        is at fault, unless it was seen to receive.
        """
        record = self.cameras.get(device)
        if record is None or (running := record.running) is None:
            return self
        failed, before = record.failed_through, running.situation
        if adapter is None:
            return self._rests(device)
        if result is StepResult.CAME_BACK:
            after = self._cleared(adapter)._rests(device)
            if running.step is LinkStep.OTHER_ADAPTER and before.adapter in failed - {adapter}:
                finding = judge(replace(before.evidence, elsewhere=Asked.ANSWERED))
                return after._accused(before.adapter, Accusation(device, finding, now_s))
            return after
        if result is StepResult.DID_NOT:
            failed |= {adapter}
        after = self._withdrawn(device) if len(failed) > 1 else self
        return after._with(device, replace(record, running=None, failed_through=failed))

    # -- adapters

    def due(
        self,
        now_s: float,
        idle: Container[AdapterIdentity],
        recording: Container[DeviceId] = (),
    ) -> list[tuple[AdapterIdentity, LinkStep]]:
        """The steps that are due on accused adapters, at most one for each. `idle` has those whose USB device
        nobody uses, `recording` the cameras that record or whose recording was not seen to end."""
        found: list[tuple[AdapterIdentity, LinkStep]] = []
        for adapter, record in self.adapters.items():
            if record.accusation is None or record.running is not None or not self.rules.silent_link_s:
                continue
            if adapter in idle and record.accusation.by not in recording:
                possible = (
                    step
                    for step in LinkStep
                    if step in PORT_STEPS & self.rules.steps
                    and now_s - record.last_step_s.get(step, _NEVER) >= WINDOW_S
                    and port_hindrance(step, adapter, self.rules) is None
                )
                found += [(adapter, step) for step in possible][:1]
        return found

    def port_started(self, adapter: AdapterIdentity, step: LinkStep, now_s: float) -> LinkRecovery:
        """A step of a port was started on an adapter."""
        record = self.adapters.get(adapter, AdapterRecord())
        taken = plus(record.last_step_s, {step: now_s})
        return self._with_adapter(adapter, replace(record, last_step_s=taken, running=step))

    def port_ended(self, adapter: AdapterIdentity, *, is_done: bool) -> LinkRecovery:
        """It has ended, or one for another reason. If the adapter is there again, its accusation is settled:
        the next step needs new evidence; otherwise the next step is due."""
        record = self.adapters.get(adapter)
        if record is None:
            return self
        after = self._with_adapter(adapter, replace(record, running=None))
        return after._cleared(adapter) if is_done else after

    def port_taken(self, adapter: AdapterIdentity, step: LinkStep, now_s: float) -> LinkRecovery:
        """A step of a port was started on an adapter for another reason: it counts from its begin, also for
        its limit, whatever comes of it. It is not on record as running: who has started it has that."""
        record = self.adapters.get(adapter, AdapterRecord())
        return self._with_adapter(
            adapter, replace(record, last_step_s=plus(record.last_step_s, {step: now_s}))
        )

    def adapter_removed(self, adapter: AdapterIdentity) -> LinkRecovery:
        """An adapter was unplugged; one that a step has removed keeps its record."""
        record = self.adapters.get(adapter)
        return self if record is None or record.running is not None else self._without(adapter)

    def obstacle(self, adapter: AdapterIdentity) -> str:
        """Why an adapter must not be used now, as a predicate; empty if it may."""
        running = self.adapters.get(adapter, AdapterRecord()).running
        return "" if running is None else f"being recovered ({running})"

    def port_obstacle(self, port: str) -> str:
        """The same of any adapter of the USB device in a port: a step of the port is one of all of them."""
        return next(filter(None, (self.obstacle(one) for one in self.adapters if one.usb_port == port)), "")

    def is_suspect(self, adapter: AdapterIdentity) -> bool:
        """Whether other adapters are to be preferred."""
        return self.adapters.get(adapter, AdapterRecord()).accusation is not None

    def condition(self, adapter: AdapterIdentity) -> Condition:
        """The condition of an adapter that clients are told; the default if they are told nothing."""
        record = self.adapters.get(adapter, AdapterRecord())
        accusation, step = record.accusation, record.running
        if step is not None:
            since_s = record.last_step_s[step] if accusation is None else accusation.since_s
            return Condition(Health.RECOVERING, Symptom.DEAD_LINK, since_s, step)
        if accusation is None:
            return Condition()
        last = max(record.last_step_s, key=record.last_step_s.__getitem__, default=None)
        return Condition(Health.SUSPECT, Symptom.DEAD_LINK, accusation.since_s, last)

    # -- time

    def expired(self, now_s: float) -> LinkRecovery:
        """End the steps that have not ended in time, and remove the records that no longer matter."""
        after = self
        for device, camera in self.cameras.items():
            if camera.expires_s is not None and camera.expires_s <= now_s:
                if camera.running is not None:
                    after = after._rests(device)
                else:
                    after = replace(after, cameras=minus(after.cameras, device))
        for adapter, record in self.adapters.items():
            if record.expires_s <= now_s:
                is_over = record.running is None
                after = after._without(adapter) if is_over else after.port_ended(adapter, is_done=False)
        return after

    def next_s(self) -> float | None:
        """When a step must have ended, or a record no longer matters; None if there is none."""
        times = [one.expires_s for one in self.cameras.values()]
        times += [one.expires_s for one in self.adapters.values()]
        return min((one for one in times if one is not None), default=None)

    # -- parts

    def _serving(self, device: DeviceId, situation: Situation) -> Iterator[LinkStep]:
        """The steps that are switched on and possible, and serve the verdict, in their order."""
        verdict = self.finding(device, situation).verdict
        for step in LinkStep:
            is_on = step in self.rules.steps and step.serves(verdict)
            if is_on and hindrance(step, situation, self.rules) is None:
                yield step

    def _taken_s(self, device: DeviceId, step: LinkStep, situation: Situation) -> float:
        """When a step was taken last for a camera, or on its adapter."""
        if step in PORT_STEPS:
            return self.adapters.get(situation.adapter, AdapterRecord()).last_step_s.get(step, _NEVER)
        return self.cameras.get(device, CameraRecord()).last_step_s.get(step, _NEVER)

    def _rests(self, device: DeviceId) -> LinkRecovery:
        return self._with(device, CameraRecord(last_step_s=self.cameras[device].last_step_s))

    def _accused(self, adapter: AdapterIdentity, accusation: Accusation) -> LinkRecovery:
        record = self.adapters.get(adapter, AdapterRecord())
        is_news = record.accusation is None or record.accusation.by != accusation.by
        if accusation.finding.verdict is not Verdict.ADAPTER or record.running is not None or not is_news:
            return self
        return self._with_adapter(adapter, replace(record, accusation=accusation))

    def _cleared(self, adapter: AdapterIdentity) -> LinkRecovery:
        record = self.adapters.get(adapter)
        if record is None or record.accusation is None:
            return self
        return self._with_adapter(adapter, replace(record, accusation=None))

    def _withdrawn(self, device: DeviceId) -> LinkRecovery:
        after = self
        for adapter, record in self.adapters.items():
            if record.accusation is not None and record.accusation.by == device:
                after = after._cleared(adapter)
        return after

    def _with(self, device: DeviceId, record: CameraRecord) -> LinkRecovery:
        if record == CameraRecord():
            return replace(self, cameras=minus(self.cameras, device)) if device in self.cameras else self
        return replace(self, cameras=plus(self.cameras, {device: record}))

    def _with_adapter(self, adapter: AdapterIdentity, record: AdapterRecord) -> LinkRecovery:
        if record == AdapterRecord():
            return self._without(adapter)
        return replace(self, adapters=plus(self.adapters, {adapter: record}))

    def _without(self, adapter: AdapterIdentity) -> LinkRecovery:
        return replace(self, adapters=minus(self.adapters, adapter)) if adapter in self.adapters else self
