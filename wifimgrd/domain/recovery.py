"""Adapters that stop working, and what is tried with each: a pure state machine.

A `Ladder` is a value; each operation returns the next one. Times are seconds on any clock that only goes
forward. What counts against an adapter is that a join fails on it while its network is in the air, that it
hears nothing for minutes where other adapters hear something, and that its driver tells of a firmware crash.
Invariants, tested as a rule-based state machine:

- a step is taken on an idle adapter alone, and again only after WINDOW_S, unless it was plugged in anew;
- steps come in the order of the rules, each after new evidence;
- no single camera brings an adapter into quarantine, unless another adapter joins it: one that fails on
  two adapters counts against none; nor does an adapter that worked since the first step was taken;
- a step that is switched off is never taken, and with none left nothing ever happens;
- an adapter that was pulled out has a clean record, and so has one whose quarantine is over.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.device import Ssid

WINDOW_S: Final = 3600.0
"""Each step once in this time on one adapter; older evidence counts no more."""
QUARANTINE_S: Final = 3600.0
SILENCE_S: Final = 120.0
"""How long an adapter must have heard nothing where others hear something."""
FAILURES: Final = 2
"""How many joins of one network must have failed."""


class RecoveryStep(StrEnum):
    """A rung of the ladder, from the gentlest to the last."""

    RESCAN = "rescan"
    """End what it does, forget what it heard, search all channels."""
    RESTART = "restart"
    """Let go of it and take it again, its link down and up."""
    REPLUG = "replug"
    """Take it off the USB bus and give it back."""
    QUARANTINE = "quarantine"
    """Do not use it."""


@dataclass(frozen=True, slots=True)
class RecoveryRules:
    """What the configuration says; in the order of RecoveryStep."""

    steps: frozenset[RecoveryStep] = frozenset(RecoveryStep)


@dataclass(frozen=True, slots=True)
class Record:
    """What is held against one adapter, and what was tried with it."""

    failures: Mapping[Ssid, tuple[float, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """When joins of each network failed."""
    convicted: bool = False
    """A network that failed here was joined by another adapter after that."""
    silent_since_s: float | None = None
    silent_last_s: float = 0.0
    crashed: bool = False
    """Its firmware did, by its driver's word."""
    taken_s: Mapping[RecoveryStep, float] = field(default_factory=lambda: MappingProxyType({}))
    running: RecoveryStep | None = None
    worked_s: float = -WINDOW_S
    """When a join last succeeded on it."""
    quarantined_s: float | None = None
    """Until when it is in quarantine."""
    why: str = ""
    """Of the last step."""

    @property
    def silent(self) -> bool:
        """Whether it heard nothing for long enough."""
        return self.silent_since_s is not None and self.silent_last_s - self.silent_since_s >= SILENCE_S

    @property
    def suspect(self) -> bool:
        """Whether anything is held against it."""
        return bool(self.failures) or self.beyond_doubt

    @property
    def beyond_doubt(self) -> bool:
        """Whether it cannot be the fault of one camera."""
        return self.convicted or self.silent or self.crashed or len(self.failures) > 1

    @property
    def ripe(self) -> bool:
        """Whether there is enough for a step."""
        return self.beyond_doubt or any(len(times) >= FAILURES for times in self.failures.values())

    @property
    def symptom(self) -> str:
        """As the end of a sentence ("wlan0 ...")."""
        if self.crashed:
            return "had a firmware crash"
        if self.failures or self.convicted:
            return "fails to join networks that are in the air"
        return "hears nothing where other adapters do"


@dataclass(frozen=True, slots=True)
class Ladder:
    """The records of all adapters that have one."""

    rules: RecoveryRules = RecoveryRules()
    records: Mapping[AdapterIdentity, Record] = field(default_factory=lambda: MappingProxyType({}))

    def join_failed(self, adapter: AdapterIdentity, network: Ssid, now_s: float) -> Ladder:
        """A join failed on an adapter, of a network that is in the air."""
        if self._is_busy(adapter, now_s):
            return self
        others = [one for one in self.records if one != adapter and network in self.records[one].failures]
        if others:  # then it is the camera
            return self._acquitted(network)
        record = self.records.get(adapter, Record())
        times = (*(one for one in record.failures.get(network, ()) if now_s - one < WINDOW_S), now_s)
        recent = {name: old for name, old in record.failures.items() if now_s - old[-1] < WINDOW_S}
        failures = MappingProxyType({**recent, network: times})
        return self._with(adapter, replace(record, failures=failures))

    def joined(self, adapter: AdapterIdentity, network: Ssid, now_s: float) -> Ladder:
        """A join succeeded: that adapter works, and any on which the same network failed does not."""
        after = self
        for one, record in self.records.items():
            if one != adapter and network in record.failures:
                after = after._with(one, replace(record, convicted=True))
        record = after.records.get(adapter, Record())
        if record == Record():
            return after
        return after._with(adapter, Record(taken_s=record.taken_s, running=record.running, worked_s=now_s))

    def heard(self, adapter: AdapterIdentity) -> Ladder:
        """A scan of an adapter showed something."""
        record = self.records.get(adapter)
        if record is None or record.silent_since_s is None:
            return self
        return self._with(adapter, replace(record, silent_since_s=None))

    def silent(self, adapter: AdapterIdentity, now_s: float) -> Ladder:
        """A scan of an adapter showed nothing, or failed, where another adapter heard something."""
        if self._is_busy(adapter, now_s):
            return self
        record = self.records.get(adapter, Record())
        since_s = record.silent_since_s
        if since_s is None or now_s - record.silent_last_s > WINDOW_S:
            since_s = now_s
        return self._with(adapter, replace(record, silent_since_s=since_s, silent_last_s=now_s))

    def firmware_failed(self, adapter: AdapterIdentity, now_s: float) -> Ladder:
        """The firmware of an adapter crashed: whatever a camera does, that is no fault of its."""
        if self._is_busy(adapter, now_s):  # a step may be what crashed it
            return self
        return self._with(adapter, replace(self.records.get(adapter, Record()), crashed=True))

    def gone(self, adapter: AdapterIdentity) -> Ladder:
        """An adapter was pulled out; one that is being taken off the bus by us keeps its record."""
        record = self.records.get(adapter)
        if record is None or record.running is RecoveryStep.REPLUG:
            return self
        return self._without(adapter)

    def due(
        self, now_s: float, idle: Container[AdapterIdentity]
    ) -> list[tuple[AdapterIdentity, RecoveryStep]]:
        """What to do now, at most one step an adapter; nothing with adapters that are not `idle`."""
        found = []
        for adapter, record in self.records.items():
            if adapter in idle and record.ripe and not self._is_busy(adapter, now_s):
                step = self._next(record, now_s)
                if step is not None:
                    found.append((adapter, step))
        return found

    def begun(self, adapter: AdapterIdentity, step: RecoveryStep, now_s: float) -> Ladder:
        """A step is taken: what was held against the adapter is settled with that."""
        record = self.records.get(adapter, Record())
        is_last = step is RecoveryStep.QUARANTINE
        return self._with(
            adapter,
            Record(
                taken_s=MappingProxyType({**record.taken_s, step: now_s}),
                running=None if is_last else step,
                worked_s=record.worked_s,
                quarantined_s=now_s + QUARANTINE_S if is_last else None,
                why=record.symptom,
            ),
        )

    def ended(self, adapter: AdapterIdentity) -> Ladder:
        """The step that ran is over, well or not."""
        record = self.records.get(adapter)
        return self if record is None else self._with(adapter, replace(record, running=None))

    def expired(self, now_s: float) -> Ladder:
        """Quarantines that are over are forgotten, with all that led to them."""
        after = self
        for adapter, record in self.records.items():
            if record.quarantined_s is not None and record.quarantined_s <= now_s:
                after = after._without(adapter)
        return after

    def next_s(self) -> float | None:
        """When the next quarantine is over; None where there is none."""
        return min(
            (one.quarantined_s for one in self.records.values() if one.quarantined_s is not None),
            default=None,
        )

    def obstacle(self, adapter: AdapterIdentity) -> str:
        """Why an adapter must not be used now, as the end of a sentence; empty where it may."""
        record = self.records.get(adapter)
        if record is None:
            return ""
        if record.quarantined_s is not None:
            return f"in quarantine until it is plugged in anew, an hour at most: it {record.why}"
        if record.running is not None:
            return f"being recovered ({record.running}): it {record.why}"
        return ""

    def is_suspect(self, adapter: AdapterIdentity) -> bool:
        """Whether another adapter is to be preferred."""
        record = self.records.get(adapter)
        return record is not None and record.suspect

    def _next(self, record: Record, now_s: float) -> RecoveryStep | None:
        for step in RecoveryStep:
            taken_s = record.taken_s.get(step)
            if step not in self.rules.steps or (taken_s is not None and now_s - taken_s < WINDOW_S):
                continue
            if step is RecoveryStep.QUARANTINE:
                tried = [record.taken_s[one] for one in RecoveryStep if one in self.rules.steps - {step}]
                if not record.beyond_doubt or any(one < record.worked_s for one in tried):
                    return None
            return step
        return None

    def _is_busy(self, adapter: AdapterIdentity, now_s: float) -> bool:
        """Whether a step runs, or the adapter is in quarantine: then nothing counts."""
        record = self.records.get(adapter)
        if record is None:
            return False
        quarantined = record.quarantined_s is not None and now_s < record.quarantined_s
        return record.running is not None or quarantined

    def _acquitted(self, network: Ssid) -> Ladder:
        after = self
        for adapter, record in self.records.items():
            if network in record.failures:
                rest = {name: times for name, times in record.failures.items() if name != network}
                after = after._with(adapter, replace(record, failures=MappingProxyType(rest)))
        return after

    def _with(self, adapter: AdapterIdentity, record: Record) -> Ladder:
        if record == Record():
            return self._without(adapter)
        return replace(self, records=MappingProxyType({**self.records, adapter: record}))

    def _without(self, adapter: AdapterIdentity) -> Ladder:
        if adapter not in self.records:
            return self
        rest = {key: record for key, record in self.records.items() if key != adapter}
        return replace(self, records=MappingProxyType(rest))
