"""Reconnects lost devices, and connects waiting ones, with the clock, the one timer and the tasks.

The pure `ReconnectPolicy` decides which device is due when; this module carries it
out. With nothing pending there is no timer, and with no idle interface none either: then the next
interface that becomes available continues it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from wifimgrd.daemon.manager._airtime import Airtime, Listened
from wifimgrd.daemon.manager._connections import AttemptEnd, Connections
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain.device import Device, DeviceId, DeviceState, Ssid
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.events import BackendState, DeviceUpdated
from wifimgrd.domain.reconnect_policy import ReconnectPolicy
from wifimgrd.domain.time_limits import LOST_SEARCH_S
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_RESULTS_S: Final = 5.0
_CLOCK_US: Final = 1_000_000
"""The times at which networks were received are of whole seconds."""


@dataclass(frozen=True, slots=True)
class FailedSearch:
    """A search that did not find the network of a lost device."""

    device: Device
    interface: str


class Reconnecting:
    """Searches for devices that were lost or wait, until they are connected or a command ends that."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        waking: Waking,
        airtime: Airtime,
        backend: Backend,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._airtime = airtime
        self._tasks = tasks
        self._waking = waking
        self._connections = connections
        self._backend = backend
        self._policy = ReconnectPolicy()
        self._timer: asyncio.TimerHandle | None = None
        self._reconnects: dict[DeviceId, asyncio.Task[None]] = {}
        self._searches: dict[str, tuple[DeviceId, asyncio.Task[None]]] = {}
        """The interfaces on which a search runs; no assignment is made for it."""
        self._going_on = False
        """The start of due searches is scheduled."""
        self.network_not_found = Notice[FailedSearch]()
        self._chance = random.Random()  # noqa: S311 - jitter

    # -- events and commands

    def lost(self, entry: DeviceEntry) -> None:
        """A device is disconnected without a command."""
        device = entry.device
        if self._state.is_brought_back(device):
            if self._state.record_loss(entry):
                self._state.publish(DeviceUpdated(self._state.status(entry)))
            self._policy = self._policy.lost(device.id, device.priority, self._now())
            self._go_on()

    def commanded(self, entry: DeviceEntry) -> None:
        """A client's command for a device: nothing automatic happens to it until it is connected.

        A device that waits for an interface continues to wait."""
        if not entry.device.waiting_since_us:
            self.end(entry)
        self._state.forget_loss(entry)
        self._state.record(entry, replace(entry.device, wanted=False), at_once=entry.device.wanted)

    def waits(self, entry: DeviceEntry) -> None:
        """A device is to be connected as soon as an interface is free, since `waiting_since_us`."""
        device = entry.device
        passed_s = max(0, self._state.clock() - device.waiting_since_us) / 1e6
        self._policy = self._policy.waits(device.id, device.priority, self._now() - passed_s)
        self._go_on_soon()

    def attempt_started(self, entry: DeviceEntry) -> None:
        """An attempt to connect a device begins, by a command or automatically."""
        self._policy = self._policy.started(entry.device.id)

    def end(self, entry: DeviceEntry) -> None:
        """Stop the search for a device: it is connected, removed, or no longer waits."""
        device_id = entry.device.id
        before, self._policy = self._policy, self._policy.ended(device_id)
        task = self._reconnects.get(device_id)
        if task is not None and (device_id, task) in self._searches.values():
            task.cancel()
        if self._policy is not before:
            self._arm()

    def updated(self, entry: DeviceEntry, *, credentials: bool) -> None:
        """A client changed a device: its automatic reconnection, or its network."""
        device = entry.device
        self._policy = self._policy.prioritized(device.id, device.priority)
        if not device.auto_reconnect and not device.waiting_since_us:
            self.end(entry)
        elif device.id in self._policy.all:
            if credentials:
                self._policy = self._policy.retry_allowed(device.id)
            self._go_on()
        elif entry.state is DeviceState.DISCONNECTED:
            self.lost(entry)

    def reconfigured(self) -> None:
        """The setting of automatic reconnection may have changed."""
        for entry in self._state.entries.values():
            if entry.device.waiting_since_us:
                continue
            if not self._state.is_brought_back(entry.device):
                self.end(entry)
            elif entry.state is DeviceState.DISCONNECTED and entry.device.id not in self._policy.all:
                self.lost(entry)

    def backend_ready(self) -> None:
        """The backend is available, for the first time or again, and reconciled."""
        for entry in self._state.entries.values():
            if entry.device.waiting_since_us:
                self.waits(entry)
            elif entry.state is DeviceState.DISCONNECTED and entry.device.id not in self._policy.all:
                self._state.record_unseen_disconnection(entry)
                self.lost(entry)
        self._policy = self._policy.sign_of_life(self._now())
        self._go_on()

    def seen(self, ssids: Collection[Ssid]) -> None:
        """A scan that a client has asked for showed these networks."""
        for device_id in self._policy.all:
            if self._state.entries[device_id].device.ssid in ssids:
                self._policy = self._policy.sign_of_life(self._now(), device_id)
        self._go_on()

    def interface_changed(self, name: str) -> None:
        """An interface may be available now, or unavailable for the search that runs on it."""
        device_id, search = self._searches.get(name, (None, None))
        if search is not None and self._state.allocator.holders.get(name, device_id) != device_id:
            search.cancel()
        self._go_on_soon()

    def listened(self, over: Listened) -> None:
        """An adapter has scanned: it is idle again, and what it has received by the way are signs of life."""
        self._go_on_soon()
        if over.is_complete and len(self._policy.all) > (over.device_id in self._policy.all):
            self._tasks.start("hear", self._hear(over))

    def attempt_over(self, end: AttemptEnd) -> None:
        """An attempt has ended; one that has failed may have scanned all channels."""
        if end.error is not None:
            self.listened(Listened(end.interface, end.device.last_attempt_us, end.device.id))

    async def _hear(self, over: Listened) -> None:
        try:
            async with asyncio.timeout(_RESULTS_S):
                points = await self._backend.recent_scan_results(over.interface)
        except (WifimgrdError, TimeoutError):
            return
        for point in points:
            if 0 < point.last_seen_us < over.since_us - _CLOCK_US:
                continue
            for entry in self._state.registry.sharing(point.ssid):
                device = entry.device
                if device.id == over.device_id or device.id not in self._policy.all:
                    continue
                if point.sighting.bssid not in self._state.registry.cameras_of_others(device):
                    self._policy = self._policy.heard(device.id, self._now())
        self._go_on()

    async def stop(self) -> None:
        """Stop searching."""
        self._policy = ReconnectPolicy()
        self._arm()
        tasks = list(self._reconnects.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._tasks.stop()

    # -- continuing

    def _go_on_soon(self) -> None:
        if self._policy.all and not self._going_on:
            self._going_on = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """Start the searches that are due and possible, and set the timer for the rest."""
        self._going_on = False
        if self._is_ready() and self._has_idle_interface():
            for device_id in self._policy.due(self._now()):
                entry = self._state.entries.get(device_id)
                interface = None if entry is None else self._idle_interface(entry)
                if entry is None or interface is None or entry.state is not DeviceState.DISCONNECTED:
                    continue
                if entry.device.waiting_since_us:
                    self._connect_waiting(entry)
                else:
                    self._policy = self._policy.started(device_id)
                    task = asyncio.create_task(self._reconnect(entry, interface))
                    self._reconnects[device_id] = task
                    self._searches[interface] = device_id, task
                    self._airtime.begin(interface, task, device_id)
                    task.add_done_callback(partial(self._reconnect_over, device_id, interface))
                if not self._has_idle_interface():
                    break
        self._arm()

    def _connect_waiting(self, entry: DeviceEntry) -> None:
        """An interface is free for a device that waits for one: its attempt is as one by a command."""
        if not entry.removing:
            with suppress(WifimgrdError):  # a refusal was published, and the device still waits
                self._connections.start_attempt(entry)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now_s = self._now()
        next_s = self._policy.next_s(now_s)
        if next_s is not None:
            self._timer = asyncio.get_running_loop().call_later(next_s - now_s, self._go_on)

    def _idle_interface(self, entry: DeviceEntry) -> str | None:
        """An interface that the device would be assigned, and on which no search runs, and for a lost device
        nothing else that scans."""
        but = self._searches if entry.device.waiting_since_us else self._airtime
        return self._state.allocator.would_get(self._connections.claim(entry.device), but=but)

    def _has_idle_interface(self) -> bool:
        """Whether any interface is available: if not, the due devices need not be checked."""
        return any(name not in self._searches for name in self._state.allocator.available)

    async def _reconnect(self, entry: DeviceEntry, interface: str) -> None:
        """Search for a device's network, and join it if it is found."""
        device, code, is_woken = entry.device, None, False
        try:
            async with asyncio.timeout(LOST_SEARCH_S):
                others = self._state.registry.cameras_of_others(device)
                seen = await self._backend.is_visible(interface, device.ssid, device.sightings, others)
            is_woken = not seen and self._waking.may_wake(entry, is_commanded=False)  # by the attempt
            if not seen and not is_woken:
                self.network_not_found.notify(FailedSearch(device, interface))
        except (WifimgrdError, TimeoutError) as error:
            _log.info("search_failed", device=device.id, interface=interface, reason=str(error))
            seen = False
        except Exception:  # noqa: BLE001 - a backend's bug must not end the reconnecting
            _log.exception("search_crashed", device=device.id, interface=interface)
            seen = False
        finally:
            self._search_over(interface, asyncio.current_task())
        if (seen or is_woken) and entry.state is DeviceState.DISCONNECTED and not entry.removing:
            if seen:
                _log.info("network_is_back", device=device.id, interface=interface)
            code = await self._try(entry)
        self._failed(device.id, code)

    async def _try(self, entry: DeviceEntry) -> ErrorCode | None:
        """An attempt, to its end; returns its error, or None."""
        try:
            claim = self._connections.claim(entry.device)
            if not self._is_ready() or self._state.allocator.would_get(claim, but=self._searches) is None:
                return None  # removed or assigned meanwhile; a scan that waits for the search comes later
            self._connections.start_attempt(entry, automatic=True)
            if entry.work.outcome is not None:
                await asyncio.shield(entry.work.outcome)
        except WifimgrdError as error:
            return error.code
        return None

    def _reconnect_over(self, device_id: DeviceId, interface: str, task: asyncio.Task[None]) -> None:
        if self._reconnects.get(device_id) is task:
            del self._reconnects[device_id]
        self._search_over(interface, task)  # it may have been cancelled before its start
        if task.cancelled():
            self._policy = self._policy.postponed(device_id)
        elif (error := task.exception()) is not None:
            _log.error("reconnect_crashed", device=device_id, exc_info=error)
            self._failed(device_id)
        self._go_on()

    def _search_over(self, interface: str, task: asyncio.Task[None] | None) -> None:
        if self._searches.get(interface, (None, None))[1] is task:
            self._searches.pop(interface, None)
        self._airtime.end(interface, task)

    def _failed(self, device_id: DeviceId, code: ErrorCode | None = None) -> None:
        """A search, or the attempt after it, ended; this is not the outcome of a wait that started since."""
        if not self._policy.is_waiting(device_id):
            self._policy = self._policy.failed(device_id, self._now(), self._chance.random(), code)

    def _is_ready(self) -> bool:
        return self._backend.status.state is BackendState.READY

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
