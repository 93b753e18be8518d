"""Adapters that stop working: collect evidence, and carry out what the pure `AdapterHealth` decides.

A scan for evidence runs only after a join failed because its network was not found: another idle adapter
then scans for it. Nothing is polled, and an adapter that is assigned to a device is never touched.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

import structlog

from wifimgrd.daemon.manager._airtime import Airtime, Listened
from wifimgrd.daemon.manager._connections import AttemptEnd
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._link_records import LinkRecords
from wifimgrd.daemon.manager._port_steps import PortSteps
from wifimgrd.daemon.manager._reconnecting import FailedSearch, Reconnecting
from wifimgrd.daemon.manager._scans import ScanReport
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain import sentences
from wifimgrd.domain.adapter import AdapterIdentity, Band
from wifimgrd.domain.allocator import Allocator
from wifimgrd.domain.device import Device, DeviceId
from wifimgrd.domain.errors import (
    Busy,
    DeviceNotReachable,
    InterfaceLost,
    InterfaceNotFound,
    InternalError,
    InvalidRequest,
    WifimgrdError,
)
from wifimgrd.domain.events import AdapterRecovery, BackendState, DeviceUpdated
from wifimgrd.domain.interface import InterfaceState, InterfaceStatus
from wifimgrd.domain.link_steps import LinkStep, port_hindrance
from wifimgrd.domain.network import ScanResult
from wifimgrd.domain.recovery import (
    USB_DEVICE_STEPS,
    AdapterHealth,
    BackendStep,
    Health,
    RecoveryRules,
    RecoveryStep,
    worst,
)
from wifimgrd.domain.time_limits import LOST_SEARCH_S, STEP_S
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_GOOD_NEWS_S: Final = 3.0
"""An adapter that has received something for the first time is told to be good with another change, or after
so long: the messages of a connect or a scan come first."""
_MOST_WRITTEN: Final = 256
_Done = BackendStep | Literal[RecoveryStep.REPLUG, LinkStep.POWER_PORT]
"""A step that does something."""
_OF_USB_DEVICE: Final = USB_DEVICE_STEPS | {LinkStep.POWER_PORT}


class Recovering:
    """Runs the recovery steps: has the adapters' health records, the clock and the tasks."""

    def __init__(
        self,
        state: HubState,
        reconnecting: Reconnecting,
        airtime: Airtime,
        backend: Backend,
        ports: PortSteps,
        links: LinkRecords,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._reconnecting = reconnecting
        self._airtime = airtime
        self._backend = backend
        self._ports = ports
        self._links = links
        """The records of adapters by dead links: an accused one is suspect, too."""
        self._health = AdapterHealth(state.settings.recovery)
        self._shown = self._health
        """The health for which the allocator is up to date."""
        self._written: dict[float, str] = {}
        """The times of day in sentences, by the loop's clock: the host's may be set later."""
        self._changed: set[str] = set()
        """Interfaces that changed since then: they may belong to another adapter now."""
        self._verifications: dict[str, asyncio.Task[None]] = {}
        """Running scans for evidence, by the interface that scans."""
        self._unseen: Counter[DeviceId] = Counter()
        """How often the network of a lost device was not found."""
        self._tasks = tasks
        self._timer: asyncio.TimerHandle | None = None

    def reconfigure(self, rules: RecoveryRules) -> None:
        """Replace the rules; a running step is completed, and a quarantine stays."""
        self._health = replace(self._health, rules=rules)

    async def stop(self) -> None:
        """Stop all tasks and the timer."""
        self._health = AdapterHealth(RecoveryRules(frozenset()))
        self._arm()
        await self._tasks.stop()

    # -- evidence

    def attempt_over(self, end: AttemptEnd) -> None:
        """An attempt succeeded, or failed: then the adapter may be the reason."""
        identity = self._identity(end.interface)
        if identity is None:
            return
        if end.error is None:
            self._unseen.pop(end.device.id, None)
            self._health = self._health.joined(identity, end.device.ssid, self._now())
            self._run_due_steps()
        elif isinstance(end.error, DeviceNotReachable) and self._health.rules.steps:
            self._tasks.start("verify", self._verify(end.device, end.interface, identity, end.error))

    def connected(self, entry: DeviceEntry) -> None:
        """A device has a link, also one that was found at the start: its adapter receives."""
        interface = self._state.interface_of(entry)
        identity = None if interface is None else self._identity(interface)
        if identity is not None:
            self._health = self._health.received(identity)
            self._run_due_steps()

    def network_not_found(self, search: FailedSearch) -> None:
        """A lost device's network was not found. Mostly the camera is off, so the adapter is verified less
        and less often: after 2, 4, 8 ... failures."""
        device, identity = search.device, self._identity(search.interface)
        self._unseen[device.id] += 1
        failures = self._unseen[device.id]
        if identity is not None and self._health.rules.steps and failures > 1 and failures.bit_count() == 1:
            self._tasks.start("verify", self._verify(device, search.interface, identity))

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed."""
        self._unseen.pop(entry.device.id, None)

    async def _verify(
        self,
        device: Device,
        interface: str,
        identity: AdapterIdentity,
        error: DeviceNotReachable | None = None,
    ) -> None:
        """Count the failure where another adapter finds the network; `error` is what clients were told."""
        other = next((name for name in self._idle() if name != interface), None)
        if other is None:
            return
        verification = self._tasks.start(
            "verify", self._verify_with(device, interface, identity, other, error)
        )
        self._verifications[other] = verification
        self._airtime.begin(other, verification, device.id)
        try:
            await verification
        except asyncio.CancelledError:
            if not verification.cancelled():  # this task was cancelled, not the verification
                verification.cancel()
                raise
        finally:
            if self._verifications.get(other) is verification:  # else a later one has the adapter
                del self._verifications[other]
            self._airtime.end(other, verification)

    async def _verify_with(
        self,
        device: Device,
        interface: str,
        identity: AdapterIdentity,
        other: str,
        error: DeviceNotReachable | None,
    ) -> None:
        try:
            async with asyncio.timeout(LOST_SEARCH_S):
                others = self._state.registry.cameras_of_others(device)
                seen = await self._backend.is_visible(other, device.ssid, device.sightings, others)
            points = await self._backend.recent_scan_results(other) if seen else ()
        except (WifimgrdError, TimeoutError):
            return
        found = [point for point in points if point.ssid == device.ssid and point.interface == other]
        if any(self._can_receive(interface, point) for point in found):
            _log.info("join_failed_in_range", device=device.id, interface=interface, seen_by=other)
            self._health = self._health.join_failed(identity, device.ssid, self._now())
            self._correct(device, error, sentences.found_by_another(device.ssid, interface, other))
            self._run_due_steps()
            if self._unseen.pop(device.id, 0):
                self._reconnecting.seen({device.ssid})

    def _correct(self, device: Device, error: DeviceNotReachable | None, message: str) -> None:
        """Replace what clients were told of a failed attempt, if it is still the last failure."""
        entry = self._state.entries.get(device.id)
        failure = None if entry is None else entry.device.failure
        if entry is None or failure is None or error is None or failure.message != error.message:
            return
        self._state.record(entry, replace(entry.device, failure=replace(failure, message=message)))
        self._state.publish(DeviceUpdated(self._state.status(entry)))

    async def scanned(self, report: ScanReport) -> None:
        """Evaluate a finished scan: which adapters receive, and which have no results where others have
        some."""
        names = [*report.scanned, *report.failed]
        try:
            results = [
                one for one in await self._backend.recent_scan_results() if one.interface in report.scanned
            ]
        except WifimgrdError:
            return
        receiving = {point.interface for point in results}
        for name in names:
            identity = self._identity(name)
            if identity is not None and name in receiving:
                self._health = self._health.received(identity)
            elif (
                identity is not None
                and self._health.rules.steps
                and any(self._can_receive(name, point) for point in results)
            ):
                _log.info("scan_without_results", interface=name)
                self._health = self._health.silent(identity, self._now())
        self._run_due_steps()

    def _can_receive(self, interface: str, point: ScanResult) -> bool:
        """Whether an adapter supports the band of an access point."""
        known = self._state.allocator.interfaces.get(interface)
        bands = frozenset() if known is None else known.facts.bands
        return known is not None and (not bands or Band.of_frequency(point.sighting.frequency_mhz) in bands)

    def firmware_failed(self, interface: str) -> None:
        """The driver of an adapter reported a crash of its firmware."""
        identity = self._identity(interface)
        if identity is None:
            return
        _log.warning("adapter_firmware_failed", interface=interface)
        if self._health.rules.steps:
            self._health = self._health.firmware_failed(identity, self._now())
            self._run_due_steps()

    def present(self, interface: str) -> None:
        """A listed adapter appeared."""
        identity = self._identity(interface)
        if identity is not None:
            self._show(interface)
            self._arm()

    def removed_adapter(self, identity: AdapterIdentity) -> None:
        """An adapter was unplugged, or is gone because of a step of its port."""
        self._health = self._health.removed(identity)
        if not self._ports.is_changing(identity):
            self._links.set(self._links.value.adapter_removed(identity))
        self._arm()

    # -- steps

    def interface_changed(self, name: str) -> None:
        """An interface may be idle now, or may be assigned to a device."""
        self._changed.add(name)
        if name in self._verifications and name in self._state.allocator.holders:
            self._verifications[name].cancel()  # its interface was assigned to a device
        if self._health.records:
            asyncio.get_running_loop().call_soon(self._run_due_steps)

    def listened(self, _: Listened) -> None:
        """An adapter scans no longer, and may be idle now."""
        if self._health.records:
            asyncio.get_running_loop().call_soon(self._run_due_steps)

    def port_begun(self, identity: AdapterIdentity) -> None:
        """The USB port of an adapter is being reset because of a dead link."""
        self._health = self._health.port_reset(identity, self._now())
        self._show_changed()

    def port_over(self, identity: AdapterIdentity) -> None:
        """That has ended, or a step of the port that was over before."""
        self._health = self._health.ended(identity)
        self._changed.update(self._concerned(identity))
        self._run_due_steps()

    def links_changed(self, adapters: frozenset[AdapterIdentity]) -> None:
        """Something else is known of adapters by dead links."""
        for identity in adapters:
            self._changed.update(self._concerned(identity))
        self._show_changed()

    def _run_due_steps(self) -> None:
        """Start due steps, publish what changed, and set the timer for the end of a quarantine."""
        now_s = self._now()
        self._health = self._health.expired(now_s)
        if self._backend.status.state is BackendState.READY:
            names = {identity: self._state.allocator.named(identity) for identity in self._health.records}
            idle = {identity: name for identity in names for name in names[identity] if self._is_idle(name)}
            for identity, step in self._health.due(now_s, idle):
                if step not in _OF_USB_DEVICE or self._ports.is_usb_device_idle(idle[identity]):
                    self._start_step(idle[identity], identity, step)
        self._show_changed()
        self._arm()

    def _show_changed(self) -> None:
        """Publish the interfaces of the adapters whose health changed, in the allocator's order."""
        allocator, shown = self._state.allocator, self._shown
        before, after = shown.records, self._health.records
        names, self._changed, self._shown = self._changed, set(), self._health
        changed = {one for one in before.keys() | after.keys() if before.get(one) is not after.get(one)}
        for identity in changed | (self._health.receiving ^ shown.receiving):
            names.update(self._concerned(identity))
        stale = [name for name in names if self._marked(name) is not allocator]
        if len(stale) > 1:
            stale = [name for name in allocator.interfaces if name in stale]
        for name in stale:
            is_first = allocator.interfaces[name].health is None
            if is_first and self._marked(name).interfaces[name].health is Health.GOOD:
                asyncio.get_running_loop().call_later(_GOOD_NEWS_S, self._show, name)
            else:
                self._show(name)

    def _concerned(self, identity: AdapterIdentity) -> Iterator[str]:
        """The interfaces whose marks depend on the records of an adapter: also those of its USB device."""
        allocator = self._state.allocator
        yield from allocator.named(identity)
        yield from allocator.in_usb_port(identity.usb_port)

    def _start_step(self, name: str, identity: AdapterIdentity, step: RecoveryStep) -> None:
        self._health = self._health.started(identity, step, self._now())
        self._state.publish(AdapterRecovery(name, step))
        why = str(self._health.records[identity].why)
        if step is RecoveryStep.QUARANTINE:
            _log.error("adapter_quarantined", interface=name, reason=why)
        else:
            _log.warning("adapter_recovery", interface=name, step=step.value, reason=why)
            self._tasks.start(step.value, self._carry_out(name, identity, step))

    async def recover(self, name: str, step: RecoveryStep | Literal[LinkStep.POWER_PORT]) -> None:
        """Carry a step out on an idle interface, by a client's command; returns when it is done.

        Raises InterfaceNotFound, Busy, InvalidRequest for QUARANTINE and for a USB port that is not named,
        and why the step has failed: InterfaceLost if the adapter has not come back, BackendUnavailable,
        NotSupported.
        """
        identity = self._identity(name)
        if identity is None:
            raise InterfaceNotFound.of(name)
        if step is RecoveryStep.QUARANTINE:
            raise InvalidRequest("step: a quarantine follows from evidence, not from a command")
        rules = self._state.settings.link_recovery
        if step is LinkStep.POWER_PORT and (error := port_hindrance(step, identity, rules)) is not None:
            raise error
        status = self._state.allocator.status(name)
        if not self._is_idle(name):
            why = f": {status.reason}" if status.reason else ""
            raise Busy(f"{name} is {status.state.replace('-', ' ')}{why}")
        if step in _OF_USB_DEVICE and not self._ports.is_usb_device_idle(name):
            raise Busy(f"another interface of the USB device of {name} is in use")
        _log.info("adapter_recovery", interface=name, step=step.value, reason="by command")
        self._health = self._health.commanded(
            identity, RecoveryStep.REPLUG if step is LinkStep.POWER_PORT else step
        )
        self._show_changed()
        task = self._tasks.start(step.value, self._carry_out(name, identity, step))
        if (failure := await asyncio.shield(task)) is not None:
            raise failure

    async def _carry_out(self, name: str, identity: AdapterIdentity, step: _Done) -> WifimgrdError | None:
        """Carry a step out; returns why it has failed, if it has."""
        failed: WifimgrdError | None = None
        try:
            await self._take(name, identity, step)
        except WifimgrdError as error:
            failed = error
            _log.warning("recovery_step_failed", interface=name, step=step.value, reason=error.message)
        self._run_due_steps()
        return failed

    async def _take(self, name: str, identity: AdapterIdentity, step: _Done) -> None:
        """Carry a step out; raises why it has failed."""
        try:
            if step is RecoveryStep.REPLUG or step is LinkStep.POWER_PORT:
                at_port = LinkStep.RESET_PORT if step is RecoveryStep.REPLUG else step
                self._links.set(self._links.value.port_taken(identity, at_port, self._now()))
                await self._ports.take(name, at_port)
                self._links.set(self._links.value.port_ended(identity, is_done=True))
            else:
                async with asyncio.timeout(STEP_S):
                    await self._backend.recover(name, step)
        except TimeoutError:
            raise InterfaceLost(f"it took longer than {STEP_S:g} s") from None
        except WifimgrdError:
            raise
        except Exception as crash:  # a backend's bug must not block an adapter forever
            _log.exception("recovery_step_crashed", interface=name, step=step.value)
            raise InternalError("the step ended with an internal error") from crash
        finally:
            if not self._ports.is_changing(identity):  # else `port_over` follows
                self._health = self._health.ended(identity)

    def _show(self, name: str) -> None:
        """Copy an adapter's health into the allocator, and publish the interface if clients see a change."""
        state, before = self._state, self._state.allocator
        state.allocator = self._marked(name)
        if state.allocator is not before and _seen(state.allocator.status(name)) != _seen(
            before.status(name)
        ):
            state.publish_interface(name)

    def _marked(self, name: str) -> Allocator:
        """The allocator with the current health of an interface's radio, and what is done to its USB device;
        the same object where nothing changes."""
        allocator, health, links = self._state.allocator, self._health, self._links.value
        if name not in allocator.interfaces:
            return allocator
        sharers = sorted(allocator.of_radio(name))
        identities = [allocator.interfaces[one].adapter.identity for one in sharers]
        port = allocator.interfaces[name].adapter.identity.usb_port
        obstacles = [*map(links.obstacle, identities), *map(health.obstacle, identities)]
        if port:
            obstacles += links.port_obstacle(port), health.port_obstacle(port), self._ports.obstacle(port)
        condition = worst((*map(links.condition, identities), *map(health.condition, identities)))
        return allocator.mark(
            name,
            next(filter(None, obstacles), ""),
            suspect=any(map(health.is_suspect, identities)) or any(map(links.is_suspect, identities)),
            health=condition.health,
            health_reason=sentences.adapter_condition(condition, self._time_of_day),
        )

    def _time_of_day(self, at_s: float) -> str:
        """A time of the loop's clock, as people read it on this host."""
        if at_s not in self._written:
            if len(self._written) >= _MOST_WRITTEN:
                del self._written[next(iter(self._written))]
            seconds = self._state.clock() / 1e6 + at_s - self._now()
            self._written[at_s] = datetime.fromtimestamp(seconds).astimezone().strftime("%H:%M")
        return self._written[at_s]

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_s = self._health.next_s()
        if next_s is not None:
            delay_s = max(0.0, next_s - self._now())
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._run_due_steps)

    def _idle(self) -> Iterator[str]:
        """The idle interfaces, those that are not suspect first."""
        allocator = self._state.allocator
        for suspect in (False, True):
            for name in allocator.available:
                if allocator.interfaces[name].suspect is suspect and self._is_idle(name):
                    yield name

    def _is_idle(self, name: str) -> bool:
        """Whether an interface is neither assigned nor scanning."""
        status = self._state.allocator.status(name)
        return status.state is InterfaceState.AVAILABLE and name not in self._airtime

    def _identity(self, name: str) -> AdapterIdentity | None:
        interface = self._state.allocator.interfaces.get(name)
        return None if interface is None else interface.adapter.identity

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _seen(status: InterfaceStatus) -> tuple[object, ...]:
    """The part of an adapter's health that clients see."""
    return status.reason, status.interface.health, status.interface.health_reason
