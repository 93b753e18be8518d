"""Adapters that stop working: evidence gathered, and what the pure `Ladder` decides done.

Evidence costs a search only after a join failed for want of its network: another idle adapter looks whether
it is in the air. Nothing is polled, and an adapter that a device has is never touched.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.domain.adapter import AdapterIdentity, Band
from wifimgrd.domain.device import Device, DeviceId
from wifimgrd.domain.errors import DeviceNotReachable, WifimgrdError
from wifimgrd.domain.events import AdapterRecovery, BackendState
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.network import HeardPoint
from wifimgrd.domain.recovery import Ladder, RecoveryRules, RecoveryStep
from wifimgrd.manager.connections import AttemptEnd, Connections
from wifimgrd.manager.reconnecting import Reconnecting
from wifimgrd.manager.scans import ScanReport
from wifimgrd.manager.state import HubState
from wifimgrd.ports import AdapterSource, Backend
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_LOOK_S: Final = 20.0
_STEP_S: Final = 30.0
"""What a step may take, a replugged adapter's return included."""


class Recovering:
    """Has the ladder, its clock and its tasks."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        reconnecting: Reconnecting,
        backend: Backend,
        adapters: AdapterSource,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._reconnecting = reconnecting
        self._backend = backend
        self._adapters = adapters
        self._ladder = Ladder(state.settings.recovery)
        self._looks: dict[str, asyncio.Task[None]] = {}
        """Searches that run, by the interface that searches."""
        self._returned: dict[AdapterIdentity, asyncio.Event] = {}
        """Adapters that are being plugged in anew."""
        self._unseen: Counter[DeviceId] = Counter()
        """How often the network of a lost device was not found."""
        self._tasks = tasks
        self._timer: asyncio.TimerHandle | None = None
        connections.on_attempt_over = self._attempt_over
        reconnecting.on_unseen = self._unseen_by
        state.on_interface.append(self._interface_changed)

    def follow(self, rules: RecoveryRules) -> None:
        """Other rules from here on; what runs ends, and a quarantine stays."""
        self._ladder = replace(self._ladder, rules=rules)

    async def stop(self) -> None:
        """Do nothing more."""
        self._ladder = Ladder(RecoveryRules(frozenset()))
        self._arm()
        await self._tasks.stop()

    # -- evidence

    def _attempt_over(self, end: AttemptEnd) -> None:
        identity = self._identity(end.interface)
        if identity is None or not self._ladder.rules.steps:
            return
        if end.error is None:
            self._unseen.pop(end.device.id, None)
            self._ladder = self._ladder.joined(identity, end.device.ssid, self._now())
            self._go_on()
        elif isinstance(end.error, DeviceNotReachable):
            self._tasks.start("verify", self._verify(end.device, end.interface, identity))

    def _unseen_by(self, device: Device, interface: str) -> None:
        """A lost device's network was not found. Mostly the camera is off; so it is asked ever more rarely
        whether it is the adapter."""
        identity = self._identity(interface)
        for removed in self._unseen.keys() - self._state.entries.keys():
            del self._unseen[removed]
        self._unseen[device.id] += 1
        looks = self._unseen[device.id]
        if identity is not None and self._ladder.rules.steps and looks > 1 and looks.bit_count() == 1:
            self._tasks.start("verify", self._verify(device, interface, identity))

    async def _verify(self, device: Device, interface: str, identity: AdapterIdentity) -> None:
        """Count the failure where another adapter finds the network in the air."""
        other = next((name for name in self._idle() if name != interface and name not in self._looks), None)
        if other is None:
            return
        look = self._tasks.start("look", self._look(device, interface, identity, other))
        self._looks[other] = look
        try:
            await look
        except asyncio.CancelledError:
            if not look.cancelled():  # it is we who are to stop
                look.cancel()
                raise
        finally:
            del self._looks[other]

    async def _look(self, device: Device, interface: str, identity: AdapterIdentity, other: str) -> None:
        try:
            async with asyncio.timeout(_LOOK_S):
                seen = await self._backend.look(other, device.ssid, device.sightings)
            points = await self._backend.heard() if seen else ()
        except (WifimgrdError, TimeoutError):
            return
        found = [point for point in points if point.ssid == device.ssid and point.interface == other]
        if any(self._can_hear(interface, point) for point in found):
            _log.info("join_failed_in_the_air", device=device.id, interface=interface, seen_by=other)
            self._ladder = self._ladder.join_failed(identity, device.ssid, self._now())
            self._go_on()
            if self._unseen.pop(device.id, 0):
                self._reconnecting.heard({device.ssid})

    async def scanned(self, report: ScanReport) -> None:
        """A scan is over: who heard nothing, where somebody else did?"""
        names = [*report.scanned, *report.failed]
        if len(names) < 2 or not self._ladder.rules.steps:
            return
        try:
            heard = [one for one in await self._backend.heard() if one.interface in report.scanned]
        except WifimgrdError:
            return
        hearing = {point.interface for point in heard}
        for name in names:
            identity = self._identity(name)
            if identity is not None and name in hearing:
                self._ladder = self._ladder.heard(identity)
            elif identity is not None and any(self._can_hear(name, point) for point in heard):
                _log.info("scan_heard_nothing", interface=name)
                self._ladder = self._ladder.silent(identity, self._now())
        self._go_on()

    def _can_hear(self, interface: str, point: HeardPoint) -> bool:
        """Whether an adapter has the band that an access point was heard on."""
        known = self._state.allocator.interfaces.get(interface)
        bands = frozenset() if known is None else known.facts.bands
        return known is not None and (not bands or Band.of_frequency(point.sighting.frequency_mhz) in bands)

    def firmware_failed(self, interface: str) -> None:
        """The firmware of an adapter crashed, by its driver's word."""
        identity = self._identity(interface)
        if identity is None:
            return
        _log.warning("adapter_firmware_failed", interface=interface)
        if self._ladder.rules.steps:
            self._ladder = self._ladder.firmware_failed(identity, self._now())
            self._go_on()

    def present(self, interface: str) -> None:
        """An adapter appeared, and is listed."""
        identity = self._identity(interface)
        if identity is not None:
            if identity in self._returned:
                self._ladder = self._ladder.ended(identity)
                self._returned[identity].set()
            self._show(interface)

    def gone(self, identity: AdapterIdentity) -> None:
        """An adapter was pulled out, maybe by us."""
        self._ladder = self._ladder.gone(identity)
        self._arm()

    # -- going on

    def _interface_changed(self, name: str) -> None:
        if name in self._looks and name in self._state.allocator.holders:
            self._looks[name].cancel()  # it is needed
        if self._ladder.records:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """Do what is due, show what changed, and wait for the end of a quarantine."""
        now_s = self._now()
        self._ladder = self._ladder.expired(now_s)
        if self._backend.status.state is BackendState.READY:
            idle = {identity: name for name in self._idle() if (identity := self._identity(name))}
            for identity, step in self._ladder.due(now_s, idle):
                self._take(idle[identity], identity, step)
        for name in list(self._state.allocator.interfaces):
            self._show(name)
        self._arm()

    def _take(self, name: str, identity: AdapterIdentity, step: RecoveryStep) -> None:
        self._ladder = self._ladder.begun(identity, step, self._now())
        self._state.publish(AdapterRecovery(name, step))
        why = self._ladder.records[identity].why
        if step is RecoveryStep.QUARANTINE:
            _log.error("adapter_quarantined", interface=name, reason=why)
        else:
            _log.warning("adapter_recovery", interface=name, step=step.value, reason=why)
            self._tasks.start(step.value, self._carry_out(name, identity, step))

    async def _carry_out(self, name: str, identity: AdapterIdentity, step: RecoveryStep) -> None:
        returned = self._returned[identity] = asyncio.Event()
        try:
            async with asyncio.timeout(_STEP_S):
                if step is RecoveryStep.REPLUG:
                    await self._adapters.replug(name)
                    await returned.wait()
                else:
                    await self._backend.recover(name, step)
        except (WifimgrdError, OSError) as error:  # TimeoutError is an OSError
            reason = str(error) or "it took too long"
            _log.warning("recovery_step_failed", interface=name, step=step.value, reason=reason)
        except Exception:  # noqa: BLE001 - a backend's bug must not keep an adapter for ever
            _log.exception("recovery_step_crashed", interface=name, step=step.value)
        finally:
            del self._returned[identity]
            self._ladder = self._ladder.ended(identity)
        self._go_on()

    def _show(self, name: str) -> None:
        """Let the allocator, and so the clients, know what is held against an adapter."""
        state, identity = self._state, self._identity(name)
        if identity is None:
            return
        before = state.allocator
        trouble, suspect = self._ladder.obstacle(identity), self._ladder.is_suspect(identity)
        state.allocator = before.mark(name, trouble, suspect=suspect)
        if (
            state.allocator is not before
            and state.allocator.status(name).reason != before.status(name).reason
        ):
            state.publish_interface(name)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_s = self._ladder.next_s()
        if next_s is not None:
            delay_s = max(0.0, next_s - self._now())
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._go_on)

    def _idle(self) -> Iterator[str]:
        """The interfaces that nobody uses, those that are not suspect first."""
        statuses = [
            status
            for status in self._state.interface_statuses()
            if status.state is InterfaceState.AVAILABLE
            and not self._reconnecting.looks_on(status.interface.name)
        ]
        return (one.interface.name for one in sorted(statuses, key=lambda one: one.interface.suspect))

    def _identity(self, name: str) -> AdapterIdentity | None:
        interface = self._state.allocator.interfaces.get(name)
        return None if interface is None else interface.adapter.identity

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
