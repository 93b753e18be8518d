"""Adapters that stop working, and the recovery steps for each: a pure state machine.

`AdapterHealth` is a value; each operation returns a new one. Times are seconds on a monotonic clock. The
evidence against an adapter is that a join fails on it while another adapter finds the network, that its scans
have no results for minutes while other adapters have some, and that its driver reports a firmware crash.
Invariants, tested as a rule-based state machine:

- a step is only taken on an idle adapter, and again only after WINDOW_S, unless it was unplugged meanwhile
  (one that a client commands counts for nothing here);
- steps are taken in the order of RecoveryStep, each after new evidence;
- a single camera never brings an adapter into quarantine, unless another adapter joins it; a camera that
  fails on two adapters counts against neither; and an adapter on which a join has succeeded since the first
  step is not quarantined;
- a step that is switched off is never taken, and with none left nothing happens;
- an adapter has a clean record after it was unplugged, after its quarantine, and WINDOW_S after the last
  evidence against it or step, if no step is due.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Literal

from wifimgrd.domain._frozen import Frozen, empty, minus, plus
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.link_steps import LinkStep

WINDOW_S: Final = 3600.0
"""Each step is taken once in this time on one adapter; older evidence is ignored."""
QUARANTINE_S: Final = 3600.0
SILENCE_S: Final = 120.0
"""How long an adapter's scans must have had no results while others had some."""
FAILURES: Final = 2
"""How many joins of one network must have failed."""


class RecoveryStep(StrEnum):
    """A recovery step, from the least to the most intrusive.

    `Backend.recover` carries out a BackendStep (`daemon/manager/_recovering.py`), `AdapterSource.reset_port`
    REPLUG (`daemon/manager/_port_steps.py`).
    """

    RESCAN = "rescan"
    """Abort its scan, flush its scan results, scan all channels."""
    RESTART = "restart"
    """Give it back to NetworkManager or wpa_supplicant and take it again, with its link taken down and up."""
    REPLUG = "replug"
    """Reset its USB port, as LinkStep.RESET_PORT does: one counts as the other."""
    QUARANTINE = "quarantine"
    """Do not use it."""


RECOVERY_STEPS: Final[tuple[str, ...]] = (*RecoveryStep, *LinkStep)
"""All recovery steps, those of adapters first: as they are switched on, and counted."""
USB_DEVICE_STEPS: Final = frozenset({RecoveryStep.RESTART, RecoveryStep.REPLUG})
"""The steps that may end links of other interfaces of the adapter's USB device."""
BackendStep = Literal[RecoveryStep.RESCAN, RecoveryStep.RESTART]
"""A step of a backend."""


@dataclass(frozen=True, slots=True)
class RecoveryRules:
    """The steps that the configuration allows."""

    steps: frozenset[RecoveryStep] = frozenset(RecoveryStep)


class Health(StrEnum):
    """The health of an adapter, for clients."""

    SUSPECT = "suspect"
    """There is evidence against it, or a step was taken on it and it has not worked since."""
    RECOVERING = "recovering"
    """A step runs."""
    QUARANTINED = "quarantined"
    GOOD = "good"
    """It has received something, and there is no evidence against it."""


class Symptom(StrEnum):
    """The symptom of an adapter that does not work, as a predicate ("wlan0 ...")."""

    CRASHED = "had a firmware crash"
    FAILS_TO_JOIN = "fails to join networks that are in range"
    SILENT = "receives nothing while other adapters do"
    DEAD_LINK = "had a link that was up and dead"
    """That is in no record here, see `link_recovery.py`."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The health of an adapter, and why."""

    health: Health | None = None
    """None until it has received anything."""
    symptom: Symptom | None = None
    """None if nothing is wrong with it."""
    since_s: float = 0.0
    """Since when there is evidence for the symptom, or of the crash."""
    step: RecoveryStep | LinkStep | None = None
    """The step that runs, or the last one that was taken."""
    until_s: float = 0.0
    """When its quarantine ends."""


@dataclass(frozen=True, slots=True)
class Record:
    """The evidence against one adapter, and the steps that were taken on it."""

    failures: Frozen[Ssid, tuple[float, ...]] = field(default_factory=empty)
    """When joins of each network failed."""
    convicted: bool = False
    """A network that failed on it was joined by another adapter after that."""
    silent_since_s: float | None = None
    silent_last_s: float = 0.0
    crashed_s: float | None = None
    """When its driver reported a firmware crash."""
    last_step_s: Frozen[RecoveryStep, float] = field(default_factory=empty)
    running: RecoveryStep | None = None
    worked_s: float = -WINDOW_S
    """When a join last succeeded on it."""
    quarantined_s: float | None = None
    """Until when it is in quarantine."""
    why: Symptom | None = None
    """The symptom that led to the last step, until the adapter works again."""
    why_since_s: float = 0.0
    """Since when there was evidence for it."""

    @property
    def silent(self) -> bool:
        """Whether its scans had no results for SILENCE_S."""
        return self.silent_since_s is not None and self.silent_last_s - self.silent_since_s >= SILENCE_S

    @property
    def suspect(self) -> bool:
        """Whether there is any evidence against it."""
        return bool(self.failures) or self.is_certain

    @property
    def is_certain(self) -> bool:
        """Whether the evidence excludes a fault of one camera."""
        return self.convicted or self.silent or self.crashed_s is not None or len(self.failures) > 1

    @property
    def is_due(self) -> bool:
        """Whether there is enough evidence for a step."""
        return self.is_certain or any(len(times) >= FAILURES for times in self.failures.values())

    @property
    def symptom(self) -> Symptom:
        """The symptom that the evidence is for."""
        if self.crashed_s is not None:
            return Symptom.CRASHED
        return Symptom.FAILS_TO_JOIN if self.failures or self.convicted else Symptom.SILENT

    @property
    def since_s(self) -> float:
        """Since when there is evidence for the symptom."""
        began = {
            Symptom.CRASHED: self.crashed_s,
            Symptom.FAILS_TO_JOIN: min((times[0] for times in self.failures.values()), default=None),
            Symptom.SILENT: self.silent_since_s,
        }[self.symptom]
        return self.why_since_s if began is None else began

    @property
    def last_step(self) -> RecoveryStep | None:
        """The step that was taken last."""
        return max(self.last_step_s, key=self.last_step_s.__getitem__, default=None)

    @property
    def condition(self) -> Condition:
        """The condition of its adapter that clients are told; the default if they are told nothing."""
        if self.quarantined_s is not None:
            until_s = self.quarantined_s
            return Condition(Health.QUARANTINED, self.why, self.why_since_s, self.last_step, until_s)
        if self.running is not None:
            return Condition(Health.RECOVERING, self.why, self.why_since_s, self.running)
        if self.suspect:
            return Condition(Health.SUSPECT, self.symptom, self.since_s, self.last_step)
        if self.why is not None:
            return Condition(Health.SUSPECT, self.why, self.why_since_s, self.last_step)
        return Condition()

    @property
    def expires_s(self) -> float | None:
        """When it no longer matters; None while a step runs or is due."""
        if self.quarantined_s is not None:
            return self.quarantined_s
        if self.running is not None or self.is_due:
            return None
        times = (
            self.silent_last_s if self.silent_since_s is not None else 0.0,
            *(times[-1] for times in self.failures.values()),
            *self.last_step_s.values(),
        )
        return max(times) + WINDOW_S


@dataclass(frozen=True, slots=True)
class AdapterHealth:
    """The records of all adapters that have one, and which adapters work."""

    rules: RecoveryRules = RecoveryRules()
    records: Frozen[AdapterIdentity, Record] = field(default_factory=empty)
    receiving: frozenset[AdapterIdentity] = frozenset()
    """The adapters that have received something since the last evidence against them."""

    def join_failed(self, adapter: AdapterIdentity, network: Ssid, now_s: float) -> AdapterHealth:
        """A join failed on an adapter although another adapter finds the network."""
        if self._is_busy(adapter, now_s):
            return self
        others = [one for one in self.records if one != adapter and network in self.records[one].failures]
        if others:  # then the camera is at fault
            return self._network_cleared(network)
        record = self.records.get(adapter, Record())
        times = (*(one for one in record.failures.get(network, ()) if now_s - one < WINDOW_S), now_s)
        recent = {name: old for name, old in record.failures.items() if now_s - old[-1] < WINDOW_S}
        return self._accused(adapter, replace(record, failures=Frozen({**recent, network: times})))

    def joined(self, adapter: AdapterIdentity, network: Ssid, now_s: float) -> AdapterHealth:
        """A join succeeded: this adapter works, and adapters on which the same network failed do not."""
        after = self
        for one, record in self.records.items():
            if one != adapter and network in record.failures:
                after = after._with(one, replace(record, convicted=True, why_since_s=record.since_s))
        after = replace(after, receiving=after.receiving | {adapter})
        record = after.records.get(adapter, Record())
        if not record.last_step_s and record.running is None:  # the success only matters after earlier steps
            return after._without(adapter)
        return after._with(
            adapter, Record(last_step_s=record.last_step_s, running=record.running, worked_s=now_s)
        )

    def received(self, adapter: AdapterIdentity) -> AdapterHealth:
        """A scan of an adapter had results, or it has a link."""
        after = self
        if adapter not in self.receiving:
            after = replace(self, receiving=self.receiving | {adapter})
        record = self.records.get(adapter)
        if record is None:
            return after
        is_over = record.why is not Symptom.FAILS_TO_JOIN and record.running is None
        why = None if is_over and record.quarantined_s is None else record.why
        heard = replace(record, silent_since_s=None, why=why)
        return after if heard == record else after._with(adapter, heard)

    def silent(self, adapter: AdapterIdentity, now_s: float) -> AdapterHealth:
        """A scan of an adapter had no results, or failed, while another adapter had some."""
        if self._is_busy(adapter, now_s):
            return self
        record = self.records.get(adapter, Record())
        since_s = record.silent_since_s
        if since_s is None or now_s - record.silent_last_s > WINDOW_S:
            since_s = now_s
        return self._accused(adapter, replace(record, silent_since_s=since_s, silent_last_s=now_s))

    def firmware_failed(self, adapter: AdapterIdentity, now_s: float) -> AdapterHealth:
        """The firmware of an adapter crashed, which is never a camera's fault."""
        if self._is_busy(adapter, now_s):  # the step may have caused the crash
            return self
        return self._accused(adapter, replace(self.records.get(adapter, Record()), crashed_s=now_s))

    def removed(self, adapter: AdapterIdentity) -> AdapterHealth:
        """An adapter was unplugged; one that a replug step has removed keeps its record."""
        after = self
        if adapter in self.receiving:
            after = replace(self, receiving=self.receiving - {adapter})
        record = self.records.get(adapter)
        if record is None or record.running is RecoveryStep.REPLUG:
            return after
        return after._without(adapter)

    def due(
        self, now_s: float, idle: Container[AdapterIdentity]
    ) -> list[tuple[AdapterIdentity, RecoveryStep]]:
        """The steps that are due, at most one per adapter and only for `idle` adapters."""
        found = []
        for adapter, record in self.records.items():
            if adapter in idle and record.is_due and not self._is_busy(adapter, now_s):
                step = self._next(record, now_s)
                if step is not None:
                    found.append((adapter, step))
        return found

    def started(self, adapter: AdapterIdentity, step: RecoveryStep, now_s: float) -> AdapterHealth:
        """A step was started: the evidence that led to it is cleared."""
        record = self.records.get(adapter, Record())
        is_last = step is RecoveryStep.QUARANTINE
        return self._with(
            adapter,
            Record(
                last_step_s=plus(record.last_step_s, {step: now_s}),
                running=None if is_last else step,
                worked_s=record.worked_s,
                quarantined_s=now_s + QUARANTINE_S if is_last else None,
                why=record.symptom,
                why_since_s=record.since_s,
            ),
        )

    def commanded(self, adapter: AdapterIdentity, step: RecoveryStep) -> AdapterHealth:
        """A client has a step carried out on an adapter, which no step runs on: that says nothing about the
        adapter, and counts as none of the steps that evidence leads to."""
        return self._with(adapter, replace(self.records.get(adapter, Record()), running=step))

    def port_reset(self, adapter: AdapterIdentity, now_s: float) -> AdapterHealth:
        """The USB port of an adapter, which no step runs on, is reset because of a dead link: that is a
        REPLUG, also for its limit, and says nothing else about the adapter."""
        record = self.records.get(adapter, Record())
        taken = plus(record.last_step_s, {RecoveryStep.REPLUG: now_s})
        return self._with(adapter, replace(record, running=RecoveryStep.REPLUG, last_step_s=taken))

    def ended(self, adapter: AdapterIdentity) -> AdapterHealth:
        """The running step has ended, successfully or not."""
        record = self.records.get(adapter)
        if record is None:
            return self
        after = replace(record, running=None)
        return self._without(adapter) if after == Record() else self._with(adapter, after)

    def expired(self, now_s: float) -> AdapterHealth:
        """Remove the records that no longer matter, as after a quarantine."""
        after = self
        for adapter, record in self.records.items():
            if (expires_s := record.expires_s) is not None and expires_s <= now_s:
                after = after._without(adapter)
        return after

    def next_s(self) -> float | None:
        """When the next record expires; None where none does."""
        times = (one.expires_s for one in self.records.values())
        return min((one for one in times if one is not None), default=None)

    def obstacle(self, adapter: AdapterIdentity) -> str:
        """Why an adapter must not be used now, as a predicate; empty where it may."""
        record = self.records.get(adapter)
        if record is None:
            return ""
        if record.quarantined_s is not None:
            return f"in quarantine for an hour, or until it is replugged: it {record.why}"
        if record.running is not None:
            return f"being recovered ({record.running}): " + (
                "by command" if record.why is None else f"it {record.why}"
            )
        return ""

    def port_obstacle(self, port: str) -> str:
        """The same of any adapter of the USB device in a port, by a step that may end a link of any."""
        running = (
            self.obstacle(one)
            for one, record in self.records.items()
            if one.usb_port == port and record.running in USB_DEVICE_STEPS
        )
        return next(running, "")

    def condition(self, adapter: AdapterIdentity) -> Condition:
        """The condition of an adapter that clients are told."""
        record = self.records.get(adapter)
        told = Condition() if record is None else record.condition
        return Condition(Health.GOOD) if told.health is None and adapter in self.receiving else told

    def is_suspect(self, adapter: AdapterIdentity) -> bool:
        """Whether other adapters are to be preferred."""
        record = self.records.get(adapter)
        return record is not None and record.suspect

    def _next(self, record: Record, now_s: float) -> RecoveryStep | None:
        for step in RecoveryStep:
            taken_s = record.last_step_s.get(step)
            if step not in self.rules.steps or (taken_s is not None and now_s - taken_s < WINDOW_S):
                continue
            if step is RecoveryStep.QUARANTINE:
                tried = [record.last_step_s[one] for one in RecoveryStep if one in self.rules.steps - {step}]
                if not record.is_certain or any(one < record.worked_s for one in tried):
                    return None
            return step
        return None

    def _is_busy(self, adapter: AdapterIdentity, now_s: float) -> bool:
        """Whether a step runs or the adapter is in quarantine; evidence is ignored then."""
        record = self.records.get(adapter)
        if record is None:
            return False
        quarantined = record.quarantined_s is not None and now_s < record.quarantined_s
        return record.running is not None or quarantined

    def _network_cleared(self, network: Ssid) -> AdapterHealth:
        after = self
        for adapter, record in self.records.items():
            if network in record.failures:
                after = after._with(adapter, replace(record, failures=minus(record.failures, network)))
        return after

    def _accused(self, adapter: AdapterIdentity, record: Record) -> AdapterHealth:
        """There is evidence against an adapter."""
        return replace(self, receiving=self.receiving - {adapter})._with(adapter, record)

    def _with(self, adapter: AdapterIdentity, record: Record) -> AdapterHealth:
        if record == Record():
            return self._without(adapter)
        return replace(self, records=plus(self.records, {adapter: record}))

    def _without(self, adapter: AdapterIdentity) -> AdapterHealth:
        return replace(self, records=minus(self.records, adapter)) if adapter in self.records else self


def worst(conditions: Iterable[Condition]) -> Condition:
    """The condition of a radio, by those that are known under the identities of its interfaces."""
    order = (Health.QUARANTINED, Health.RECOVERING, Health.SUSPECT, Health.GOOD, None)
    return min(conditions, key=lambda one: order.index(one.health))
