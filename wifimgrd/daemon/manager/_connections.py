"""Connecting and disconnecting: commands, attempts, links that are interrupted and restored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from wifimgrd.daemon.manager._arrivals import Arrival, Arrivals
from wifimgrd.daemon.manager._claims import claim_of, with_band_hint
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import PULL_S, HubState
from wifimgrd.daemon.manager._turns import Turns, require_no_disconnect
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.daemon.ports import Backend, JoinRequest
from wifimgrd.domain.allocator import Claim
from wifimgrd.domain.device import Device, DeviceId, DeviceState, Link
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Cancelled,
    DeviceNotReachable,
    InterfaceLost,
    InternalError,
    NoInterfaceAvailable,
    WifimgrdError,
)
from wifimgrd.domain.events import BackendState, DeviceStateChanged, DeviceUpdated
from wifimgrd.domain.lifecycle import (
    ConnectMeans,
    DisconnectMeans,
    Phase,
    Step,
    connect_means,
    disconnect_means,
)
from wifimgrd.domain.power import supported
from wifimgrd.domain.time_limits import ATTEMPT_END_S, LEAVE_S
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_GUARD_S: Final = 2.0
"""The time by which a backend may exceed an attempt's limit before it is cancelled."""


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """The result of an attempt that was not cancelled."""

    device: Device
    interface: str
    error: WifimgrdError | None
    """None if it succeeded."""


class Connections:
    """The connections of the devices, and their changes."""

    def __init__(
        self,
        state: HubState,
        backend: Backend,
        arrivals: Arrivals,
        waking: Waking,
        turns: Turns,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._turns = turns
        self._backend = backend
        self._waking = waking
        self._arrivals = arrivals
        self._tasks = tasks
        self.device_commanded = Notice[DeviceEntry]()
        """A client is about to have a device connected or disconnected."""
        self.device_waits = Notice[DeviceEntry]()
        """A device is to be connected as soon as an interface is free."""
        self.attempt_started = Notice[DeviceEntry]()
        """A device has an interface for an attempt; it is not published yet."""
        self.attempt_over = Notice[AttemptEnd]()
        """An attempt ended, and that was published."""
        self.released = Notice[DeviceEntry]()
        """A command is about to end a device's attempt, its link, or a recovery step."""

    # -- commands

    async def connect(
        self,
        device_id: DeviceId,
        *,
        wait: bool,
        when_free: bool = False,
        wake: bool = False,
        is_first: bool = False,
    ) -> None:
        """Connect a device; returns when an attempt runs, with `wait` when it has ended.

        With `when_free` a device for which no interface is free waits for one, and this returns at once. With
        `wake` the camera is woken if its network is not on the air. A new device whose first attempt
        (`is_first`) is refused is not expected to be connected. Raises DeviceNotFound, Busy,
        NoInterfaceAvailable, BackendUnavailable, NotSupported (`wake`), and with `wait` the error that made
        the attempt fail, or Cancelled.
        """
        entry = self._state.entry_to_change(device_id)
        if wake:
            supported(self._state.model(entry.device))
        with self._turns.wanted(entry):
            await self._have_room(entry)
            is_waiting = self._begin(entry, when_free=when_free, wake=wake, is_first=is_first)
        if is_waiting:
            await self._until_stored(entry)
        elif wait and entry.work.outcome is not None:
            await asyncio.shield(entry.work.outcome)

    def _begin(self, entry: DeviceEntry, *, when_free: bool, wake: bool, is_first: bool) -> bool:
        """Start an attempt, join the one that runs, or let the device wait for an interface; returns whether
        it waits. Raises as `start_attempt`, and Busy."""
        means = connect_means(entry.state)
        self._state.expect(entry, connected=True, state_follows=means is ConnectMeans.START)
        match means:
            case ConnectMeans.START:
                self.device_commanded.notify(entry)
                self._waking.ask(entry, wake=wake)
                if when_free and self._must_wait(entry):
                    self._start_waiting(entry)
                    return True
                self.start_attempt(entry, is_first=is_first)
            case ConnectMeans.JOIN if not entry.work.is_commanded:
                self._prepare(entry)
                entry.work.ask(automatic=False)
        return False

    def _must_wait(self, entry: DeviceEntry) -> bool:
        """Whether no interface is free for a device, while the backend could join."""
        is_ready = self._backend.status.state is BackendState.READY
        return is_ready and self._state.allocator.would_get(self.claim(entry.device)) is None

    async def _until_stored(self, entry: DeviceEntry) -> None:
        """A caller is answered once it is on disk that a device waits. Raises what the store raises."""
        since_us = entry.device.waiting_since_us
        try:
            await self._state.store.flush()
        except WifimgrdError:
            if (
                entry.device.waiting_since_us == since_us
            ):  # else it was connected, or waits by another command
                self._state.end_waiting(entry)
            raise

    def _start_waiting(self, entry: DeviceEntry) -> None:
        state, device = self._state, entry.device
        if not device.waiting_since_us:
            _log.info("waiting_for_interface", device=device.id)
            state.record(entry, replace(device, waiting_since_us=state.clock()), at_once=True)
        state.publish(DeviceStateChanged(state.status(entry)))
        self.device_waits.notify(entry)

    async def _have_room(self, entry: DeviceEntry) -> None:
        """If no interface is left for a device, cancel an automatic attempt, whose radio the device is
        promised: a command takes precedence. Returns once nothing is being freed for the device, which may be
        in any state then; raises Cancelled if a disconnect came meanwhile, DeviceNotFound, Busy."""
        disconnects = entry.disconnects
        while True:
            claim = self.claim(entry.device)
            if entry.turns:
                await asyncio.shield(entry.turns[-1])
            elif (
                connect_means(entry.state) is ConnectMeans.START
                and self._state.allocator.would_get(claim) is None
                and (unasked := self._in_the_way(claim))
            ):
                other = min(unasked, key=lambda other: (other.device.priority, -other.device.id))
                await self._free_for(entry, other)
            else:
                return
            self._state.entry_to_change(entry.device.id)
            require_no_disconnect(entry, disconnects)

    async def _free_for(self, entry: DeviceEntry, other: DeviceEntry) -> None:
        """Cancel the automatic attempt of another device for a device."""
        turn = self._turns.begin(entry, self._state.allocator.assignments[other.device.id])
        try:
            await self.release(other)
        finally:
            self._turns.end(entry, turn)

    def _in_the_way(self, claim: Claim) -> list[DeviceEntry]:
        """The automatic attempts of which each has an interface that would serve a claim."""
        return [
            other
            for other in self._state.entries.values()
            if other.work.automatic
            and self._state.allocator.release(other.device.id).would_get(claim) is not None
        ]

    def may_begin(self, device: Device) -> bool:
        """Whether a command to connect a device would begin an attempt now."""
        claim, is_ready = self.claim(device), self._backend.status.state is BackendState.READY
        would_get = self._state.allocator.would_get(claim) is not None
        return is_ready and (would_get or bool(self._in_the_way(claim)))

    async def disconnect(self, device_id: DeviceId, *, wait: bool = True) -> None:
        """Disconnect a device and return when that is done, or has begun; raises DeviceNotFound, Busy."""
        entry = self._state.entry_to_change(device_id)
        entry.disconnects += 1
        before, is_released = entry.device, disconnect_means(entry.state) is DisconnectMeans.RELEASE
        was_waiting = bool(before.waiting_since_us)
        # One write, so that a crash keeps all of the command, or nothing.
        told = replace(before, expected=False, wanted=False, waiting_since_us=0)
        self._state.record(entry, told, at_once=True)
        if was_waiting:
            self._state.waiting_over.notify(entry)
        elif before.expected and not is_released:
            self._state.publish(DeviceUpdated(self._state.status(entry)))
        if entry.state is DeviceState.DISCONNECTED:
            self._prepare(entry)
            if was_waiting:
                self._state.publish(DeviceStateChanged(self._state.status(entry)))
        else:
            self.device_commanded.notify(entry)
        await self.release(entry, wait=wait)

    def _prepare(self, entry: DeviceEntry) -> None:
        """Prepare for a command; if this ends an automatic reconnection with no state change, publish it."""
        before = self._state.status(entry)
        self.device_commanded.notify(entry)
        if self._state.status(entry).lost_us != before.lost_us:
            self._state.publish(DeviceUpdated(self._state.status(entry)))

    async def release(self, entry: DeviceEntry, *, wait: bool = True) -> None:
        """Disconnect a device, whatever its state."""
        if disconnect_means(entry.state) is DisconnectMeans.RELEASE:
            self._start_release(entry)
        if wait and entry.work.leaving is not None:
            await asyncio.shield(entry.work.leaving)

    def claim(self, device: Device) -> Claim:
        """A device's request for an interface."""
        return claim_of(self._state, device)

    def start_attempt(self, entry: DeviceEntry, *, automatic: bool = False, is_first: bool = False) -> None:
        """Assign an interface and start an attempt; a refusal is published and raised."""
        state, device = self._state, entry.device
        entry.work.ask(automatic=automatic)
        try:
            self._backend.status.require_ready(self._backend.name)
            state.allocator, name = state.allocator.assign(self.claim(entry.device), state.device_name)
        except (NoInterfaceAvailable, BackendUnavailable) as refusal:
            is_expected, now_us = device.expected and not is_first, state.clock()
            state.record(entry, replace(device, expected=is_expected, last_attempt_us=now_us))
            _log.warning(
                "connection_refused",
                device=device.id,
                device_name=device.name,
                code=refusal.code,
                reason=refusal.message,
            )
            state.fail(entry, refusal)
            raise
        entry.work.open_outcome()
        self.begin(entry, name)

    def begin(self, entry: DeviceEntry, name: str) -> None:
        """Begin an attempt on the interface that was assigned to a device: its first one, or one to bring its
        link back, which is connecting already."""
        state, is_connecting = self._state, entry.state is DeviceState.CONNECTING
        identity = state.allocator.interfaces[name].adapter.identity
        state.step(entry, Step.BEGIN)
        device = replace(entry.device, last_attempt_us=state.clock(), last_adapter=identity)
        state.record(entry, device)
        self.attempt_started.notify(entry)
        state.publish_interface(name)
        status = state.status(entry)
        state.publish(DeviceUpdated(status) if is_connecting else DeviceStateChanged(status))
        attempt = self._ending(entry, partial(self._attempt, entry, name))
        entry.work.join(self._tasks.start("attempt", attempt))

    # -- attempts

    async def _attempt(self, entry: DeviceEntry, interface: str) -> None:
        device = entry.device
        _log.info("connecting", device=device.id, interface=interface, automatic=entry.work.automatic)
        timeout_s = self._state.settings.attempt_timeout_s
        error: WifimgrdError
        try:
            passphrase = await self._state.store.passphrase(device.id)
            model = self._state.model(device)
            request = JoinRequest(
                device.id,
                interface,
                device.ssid,
                passphrase,
                timeout_s,
                device.sightings,
                self._state.registry.cameras_of_others(device),
                hidden=model.hidden,
                local_address=model.local_address,
            )

            async def join() -> Link:
                async with asyncio.timeout(timeout_s + _GUARD_S):
                    return await self._backend.join(request)

            link = await self._waking.join(entry, interface, join)
        except InterfaceLost as failure:
            # If the adapter was unplugged, the adapter source reports it soon, which cancels this task here.
            await asyncio.sleep(PULL_S if self._state.may_be_pulled(interface, failure) else 0)
            error = failure
        except DeviceNotReachable as failure:
            error = with_band_hint(self._state, failure, device.sightings, interface)
        except WifimgrdError as failure:
            error = failure
        except TimeoutError:
            _log.error("join_overran", device=device.id, interface=interface)
            error = DeviceNotReachable(f"no link came up within {timeout_s:g} seconds")
        except Exception:  # noqa: BLE001 - a backend's bug must not leave a device connecting for ever
            _log.exception("join_crashed", device=device.id, interface=interface)
            error = InternalError("the attempt ended with an internal error")
        else:
            arrival = None
            if entry.work.is_joining_here:
                self._state.step(entry, Step.ARRIVE)
                arrival = self._arrivals.begin(entry, interface, link)
            await self._arrive(entry, interface, link, arrival, device)
            return
        if entry.work.is_joining_here:
            entry.work.joined()
            _log.log(
                logging.INFO if entry.work.automatic else logging.WARNING,
                "connection_failed",
                device=device.id,
                device_name=device.name,
                interface=interface,
                code=error.code,
                reason=error.message,
                automatic=entry.work.automatic,
            )
            if entry.work.is_again:
                self._state.lose(entry, error)
            else:
                self._state.step(entry, Step.FAIL)
                self._state.free(entry)
                self._state.end_waiting(entry)
                self._state.fail(entry, error)
            self.attempt_over.notify(AttemptEnd(device, interface, error))

    def start_arrival(self, arrival: Arrival, link: Link) -> None:
        """A link that was interrupted is up again."""
        entry = arrival.entry
        self._state.step(entry, Step.ARRIVE)
        arrive = partial(self._arrive, entry, arrival.interface, link, arrival, None)
        task = self._tasks.start("arrive", self._ending(entry, arrive))
        # Also where it is cancelled before its first step.
        task.add_done_callback(lambda _: self._arrivals.end(arrival))
        entry.work.join(task)

    async def _arrive(
        self, entry: DeviceEntry, interface: str, link: Link, arrival: Arrival | None, joined: Device | None
    ) -> None:
        """Publish a link, of an attempt if it has `joined` the device, once the device's address leads to the
        camera.

        A cancellation does not end the task as cancelled, since the link is up: who cancelled takes it down.
        """
        try:
            if arrival is not None:
                await self._arrivals.wait(arrival)
        except asyncio.CancelledError:
            return
        if entry.work.is_joining_here:
            entry.work.joined()
            self._state.establish(entry, link)
            if joined is not None:
                self.attempt_over.notify(AttemptEnd(joined, interface, None))
        self._arrivals.replay(entry, interface)

    # -- endings

    def _start_release(self, entry: DeviceEntry) -> None:
        self.released.notify(entry)
        self._start_leaving(entry, Step.RELEASE, None)
        entry.work.resolve(Cancelled("the attempt was cancelled by a disconnect or a removal"))
        self._state.publish(DeviceStateChanged(self._state.status(entry)))

    def give_up(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        """Let the backend take the link down, which is lost then."""
        self._start_leaving(entry, Step.GIVE_UP, error)

    def _start_leaving(self, entry: DeviceEntry, step: Step, error: WifimgrdError | None) -> None:
        """Let the backend take the link down, then free the interface; with `error`, the link is lost."""
        is_joining = entry.phase is Phase.JOINING
        self._state.step(entry, step)
        task = entry.work.cancel_join()
        before = [one for one in (task, entry.work.leaving) if one is not None]
        join = task if is_joining else None
        leaving = partial(self._leave_and_free, entry, join, before, error)
        entry.work.leave(self._tasks.start("leave", self._ending(entry, leaving)))

    async def _leave_and_free(
        self,
        entry: DeviceEntry,
        join: asyncio.Task[None] | None,
        before: Sequence[asyncio.Task[None]],
        error: WifimgrdError | None,
    ) -> None:
        name = self._state.interface_of(entry)
        if before:
            await asyncio.wait(before, timeout=ATTEMPT_END_S)
        if name is not None and (join is None or not join.cancelled()):
            await self.leave(name)  # a cancelled join has no link left
        if not entry.work.is_leaving_here:
            return  # the adapter was unplugged meanwhile, which ended the link
        entry.work.left()
        if error is not None:
            self._state.lose(entry, error)
            return
        _log.info("disconnected", device=entry.device.id, interface=name)
        self._state.step(entry, Step.RELEASED)
        entry.work.over()
        self._state.free(entry)
        self._state.publish(DeviceStateChanged(self._state.status(entry)))

    async def _ending(self, entry: DeviceEntry, work: Callable[[], Awaitable[None]]) -> None:
        """Run an attempt or a disconnect; a bug in it leaves the device disconnected, not in a state that
        nothing ends."""
        try:
            await work()
        except Exception:
            if self._is_stuck(entry, asyncio.current_task()):
                entry.work.joined()
                entry.work.left()
                if (name := self._state.interface_of(entry)) is not None:
                    await self.leave(name)
                if self._is_stuck(entry, None):
                    self._state.lose(entry, InternalError("the connection was ended by an internal error"))
            raise

    @staticmethod
    def _is_stuck(entry: DeviceEntry, ended: asyncio.Task[None] | None) -> bool:
        """Whether nothing but the task that has ended would end the device's state."""
        waits = entry.state in (DeviceState.CONNECTING, DeviceState.DISCONNECTING)
        return waits and {entry.work.joining, entry.work.leaving} <= {None, ended}

    async def leave(self, interface: str) -> None:
        """Let the backend take a link down; its errors are only logged."""
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._backend.leave(interface)
        except TimeoutError:
            _log.error("leave_overran", interface=interface)
        except Exception:  # noqa: BLE001 - a backend's bug must not keep an interface for ever
            _log.exception("leave_crashed", interface=interface)

    async def stop(self) -> None:
        """Cancel running attempts; links that are up stay up."""
        running: list[asyncio.Task[None]] = []
        for entry in self._state.entries.values():
            ending = (entry.work.cancel_join(), entry.work.leaving)
            running.extend(task for task in ending if task is not None)
            entry.stop_timer()
            entry.work.resolve(BackendUnavailable("wifimgrd is stopping"))
        if running:
            await asyncio.wait(running, timeout=ATTEMPT_END_S)
