"""Connects the devices of a group in one step, and frees the adapters of other devices for them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import structlog

from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._turns import Turn, Turns, require_no_disconnect
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain import sentences
from wifimgrd.domain.device import DeviceId, DeviceState, PowerState
from wifimgrd.domain.device_names import members_of, unknown_of
from wifimgrd.domain.errors import (
    BackendUnavailable,
    Busy,
    Cancelled,
    DeviceNotReachable,
    GroupNotFound,
    InternalError,
    WifimgrdError,
)
from wifimgrd.domain.events import GroupsChanged
from wifimgrd.domain.group import GroupPlan, Holder, Member, plan_group
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_LONGEST_ECHO: Final = 64
"""Characters of a name that is repeated in a refusal."""

Ends = Mapping[DeviceId, WifimgrdError | None]
"""Why each member is not connected; None where it is."""
Begun = asyncio.Future[None] | WifimgrdError | None
"""The outcome of an attempt that runs, or why there is none; None where the device is connected."""


class Groups:
    """The groups of the configuration, and the command for one."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        waking: Waking,
        backend: Backend,
        turns: Turns,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._turns = turns
        self._connections = connections
        self._waking = waking
        self._backend = backend
        self._tasks = tasks
        self.all: Mapping[str, tuple[DeviceId, ...]] = MappingProxyType({})
        """The registered devices of each group."""
        self.missing: Mapping[str, tuple[str, ...]] = MappingProxyType({})
        """The devices of each group that are not registered: a name, or an id in digits."""
        self._unknown: set[tuple[str, DeviceId | str]] = set()
        """The same, as it was resolved last."""
        self._is_reloaded = False
        self._deciding = asyncio.Lock()
        """Held until each member has its adapter: of two commands the later one finds what the first has
        done."""

    # -- the groups

    def forget_unknown(self) -> None:
        """The configuration is read again: what it names that is not registered is logged again."""
        self._unknown.clear()
        self._is_reloaded = True

    def resolve(self, settings: HubSettings) -> None:
        """The configuration, or the devices or their names, may have changed."""
        names = self._state.registry.named(device for one in settings.groups for device in one.devices)
        unknown = {(one.name, device) for one in settings.groups for device in unknown_of(one.devices, names)}
        if self._state.entries or self._is_reloaded:  # else nothing is registered yet
            for group, device in sorted(unknown - self._unknown, key=str):
                _log.warning("group_device_unknown", reason=sentences.not_in_group(group, device))
        self._unknown, self._is_reloaded = unknown, False
        found = {one.name: members_of(one.devices, names) for one in settings.groups}
        lacking = {one.name: tuple(map(str, unknown_of(one.devices, names))) for one in settings.groups}
        missing = {name: those for name, those in lacking.items() if those}
        if (found, missing) != (self.all, self.missing):
            self.all, self.missing = MappingProxyType(found), MappingProxyType(missing)
            self._state.publish(GroupsChanged(self.all, self.missing))

    def members(self, name: str) -> tuple[DeviceId, ...]:
        """The registered devices of a group; raises GroupNotFound."""
        if name not in self.all:
            raise GroupNotFound(f'there is no group "{name[:_LONGEST_ECHO]}"')
        return self.all[name]

    # -- the command

    async def connect(self, name: str, *, partial: bool = False) -> Ends:
        """Connect the devices of a group, and disconnect others that have the adapters for that; returns when
        each attempt has ended.

        Unless `partial`, nothing is changed where not every member can have an adapter now. Raises
        GroupNotFound, BackendUnavailable, NoInterfaceAvailable, and where a member cannot be connected for
        another reason, Busy or DeviceNotReachable.
        """
        disconnects = {one: self._state.entries[one].disconnects for one in self.all.get(name, ())}
        async with self._deciding:
            try:
                entries = [self._state.entries[one] for one in self.members(name)]
                ended = self._disconnected(entries, disconnects)
                wanted = [one for one in entries if one.device.id not in ended]
                unable = self._unable(wanted, partial=partial)
                plan = self._plan([one for one in wanted if one.device.id not in unable], partial=partial)
            except WifimgrdError as refusal:
                _log.warning("group_refused", group=name, code=refusal.code, reason=refusal.message)
                raise
            refused = {**unable, **plan.refusals}
            for device_id in refused:
                self._state.expect(self._state.entries[device_id], connected=True)
            begun = await self._begin(name, entries, plan, {**refused, **ended})
        ends: dict[DeviceId, WifimgrdError | None] = {}
        for device_id, end in begun.items():
            ends[device_id] = await _end(end) if isinstance(end, asyncio.Future) else end
        connected = sum(why is None for why in ends.values())
        _log.info("group_connected", group=name, connected=connected, devices=len(ends))
        return ends

    @staticmethod
    def _disconnected(
        entries: Sequence[DeviceEntry], disconnects: Mapping[DeviceId, int]
    ) -> dict[DeviceId, WifimgrdError]:
        """The members that were disconnected while the command waited for another one."""
        ended: dict[DeviceId, WifimgrdError] = {}
        for entry in entries:
            try:
                require_no_disconnect(entry, disconnects.get(entry.device.id, entry.disconnects))
            except Cancelled as end:
                ended[entry.device.id] = end
        return ended

    def _unable(self, entries: Sequence[DeviceEntry], *, partial: bool) -> dict[DeviceId, WifimgrdError]:
        """The members that no adapter would help; raises the error of the first unless `partial`."""
        unable: dict[DeviceId, WifimgrdError] = {}
        for entry in entries:
            whose = sentences.title(entry.device.id, entry.device.name)
            if entry.removing:
                unable[entry.device.id] = Busy(f"{whose} is being removed")
            elif self._sleeps_on(entry):
                reason = f"{whose}: {sentences.asleep(entry.device.id)}"
                unable[entry.device.id] = DeviceNotReachable(reason)
        if unable and not partial:
            raise next(iter(unable.values()))
        return unable

    def _sleeps_on(self, entry: DeviceEntry) -> bool:
        """Whether a camera is known to sleep, and its attempt would not wake it."""
        is_asleep = entry.state is DeviceState.DISCONNECTED and entry.sleep.sight.state is PowerState.ASLEEP
        return is_asleep and not self._waking.may_wake(entry, is_commanded=True)

    def _plan(self, entries: Sequence[DeviceEntry], *, partial: bool) -> GroupPlan:
        state = self._state
        seeking = [one for one in entries if one.state is DeviceState.DISCONNECTED or _is_leaving(one)]
        if not seeking:
            return GroupPlan()
        self._backend.status.require_ready(self._backend.name)
        staying = {one.device.id for one in entries} - {one.device.id for one in seeking}
        holders = [
            Holder(
                one,
                entry.device.priority,
                is_commanded=not entry.work.automatic,
                is_leaving=_is_leaving(entry),
            )
            for one in state.allocator.assignments
            if one not in staying and (entry := state.entries.get(one)) is not None
        ]
        members = [Member(self._connections.claim(one.device), one.device.priority) for one in seeking]
        return plan_group(state.allocator, members, holders, state.device_name, partial=partial)

    async def _begin(
        self,
        name: str,
        entries: Sequence[DeviceEntry],
        plan: GroupPlan,
        refused: Mapping[DeviceId, WifimgrdError],
    ) -> Mapping[DeviceId, Begun]:
        """Free the adapters, and begin each attempt as soon as its adapter is free."""
        state = self._state
        disconnects = {entry.device.id: entry.disconnects for entry in entries}
        turns = {one: self._turns.begin(state.entries[one], name) for one, name in plan.interfaces.items()}
        tasks: dict[DeviceId, asyncio.Task[asyncio.Future[None] | None]] = {}
        try:
            for device_id in plan.freed:
                await self._free(name, state.entries[device_id])
            for entry in entries:
                if (one := entry.device.id) not in refused:
                    in_the_way = self._in_the_way(entry, plan)
                    work = self._attempt(entry, in_the_way, turns.get(one), disconnects[one])
                    tasks[one] = self._tasks.start("attempt", work, expected=(WifimgrdError,))
            if tasks:
                await asyncio.wait(tasks.values())
        finally:
            for entry in entries:
                if (turn := turns.get(entry.device.id)) is not None:
                    self._turns.end(entry, turn)
                    self._turns.end_promise(entry)
        return {
            device_id: _result(tasks[device_id]) if device_id in tasks else refused[device_id]
            for device_id in (entry.device.id for entry in entries)
        }

    async def _free(self, name: str, entry: DeviceEntry) -> None:
        """Begin to disconnect a device that is not in the group. One that was lost is still looked for, as it
        is when `connect` takes the adapter of its attempt."""
        device = entry.device
        _log.info("freed_for_group", device=device.id, device_name=device.name, group=name)
        if entry.work.automatic:
            await self._connections.release(entry, wait=False)
        else:
            await self._connections.disconnect(device.id, wait=False)

    def _in_the_way(self, entry: DeviceEntry, plan: GroupPlan) -> list[asyncio.Task[None]]:
        """The releases that a member's attempt waits for: its own, and those on the radio that it gets."""
        state, interface = self._state, plan.interfaces.get(entry.device.id)
        radio = () if interface is None else state.allocator.of_radio(interface)
        holders = [holder for name in radio if (holder := state.holder(name)) is not None]
        return [leaving for one in (entry, *holders) if (leaving := one.work.leaving) is not None]

    async def _attempt(
        self,
        entry: DeviceEntry,
        in_the_way: Sequence[asyncio.Task[None]],
        turn: Turn | None,
        disconnects: int,
    ) -> asyncio.Future[None] | None:
        """Connect a member once its adapter is free; returns the outcome, None where it is connected. Raises
        Cancelled if it was disconnected meanwhile."""
        if in_the_way:
            await asyncio.wait(in_the_way)
        if turn is not None:
            self._turns.end(entry, turn)  # `connect` does not wait for it
        require_no_disconnect(entry, disconnects)
        await self._connections.connect(entry.device.id, wait=False)
        return entry.work.outcome

    async def stop(self) -> None:
        """End what waits for adapters."""
        await self._tasks.stop()


async def _end(outcome: asyncio.Future[None]) -> WifimgrdError | None:
    try:
        await asyncio.shield(outcome)
    except WifimgrdError as error:
        return error
    return None


def _is_leaving(entry: DeviceEntry) -> bool:
    """Whether its link is being taken down."""
    return entry.phase.is_ending


def _result(task: asyncio.Task[asyncio.Future[None] | None]) -> Begun:
    """The result of a task, or the error by which it ended; one that is not expected was logged."""
    if task.cancelled():
        return BackendUnavailable("wifimgrd is stopping")
    error = task.exception()
    if error is None:
        return task.result()
    return error if isinstance(error, WifimgrdError) else InternalError("the attempt could not begin")
