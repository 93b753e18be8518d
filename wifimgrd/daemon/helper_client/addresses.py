"""Keep the helper up to date with the connected cameras and their addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from ipaddress import IPv4Network
from types import MappingProxyType
from typing import Final, NamedTuple

import structlog

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange
from wifimgrd.bus.values import typed
from wifimgrd.domain.device import DeviceStatus
from wifimgrd.domain.events import Event, InterfaceAdded, InterfaceChanged, InterfaceRemoved, SignalChanged
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.runtime.tasks import Backoff, Kept, Tasks
from wifimgrd.wire import helper_calls as calls

_log = structlog.get_logger()

_BACKOFF: Final = Backoff(first_s=1.0, last_s=60.0)
_ANSWER_S: Final = 20.0
_LATER_S: Final = 0.002
"""From an event to the call, so that clients get the event first: the helper's call takes milliseconds."""

_REST_S: Final = 1.0
"""From the helper's end to the call that starts it again: systemd may not be done with stopping it, and a
start then cancels that. It restarts one that has crashed after as long."""

Statuses = Callable[[], Iterable[DeviceStatus]]
PlannedCameras = tuple[calls.CameraEntry, ...]


class _Planned(NamedTuple):
    """A state for the helper."""

    cameras: PlannedCameras
    plugged: int
    """How often adapters had been plugged in or pulled out."""


class _NotApplied(Exception):
    """The helper did not apply the state."""


class CameraAddresses:
    """An EventSink and AddressRoutes that keep the helper up to date from `start` on.

    The helper always gets the complete state, so nothing is lost when it or the daemon is restarted. Its
    process is started with the first adapter. An adapter is closed as long as the hub can use it, so that
    nothing is to be done for that when a link comes up.
    """

    def __init__(
        self,
        connection: BusConnection,
        network: IPv4Network | None,
        tasks: Tasks,
    ) -> None:
        """`network` is that of the addresses; without one the cameras are confined, and have none."""
        self._connection = connection
        self._network = "" if network is None else str(network)
        self._statuses: Statuses = tuple
        self._adapters: set[str] = set()
        """The interfaces that the hub can use, or uses."""
        self._plugged = 0
        """How often adapters were plugged in or pulled out: another one may have the name of one before."""
        self._applied: _Planned | None = None
        """The state that the helper has applied; None where that is not known."""
        self._helper_wanted = False
        """The helper is running, or is needed."""
        self._conflict = ""
        self._trouble = ""
        """Why the last call failed; empty if it succeeded."""
        self._rest: asyncio.TimerHandle | None = None
        self._is_rested = asyncio.Event()
        """Not set for a while after the helper's end."""
        self._is_rested.set()
        self._due = asyncio.Event()
        self._unpublished: dict[tuple[str, str, str], asyncio.Future[bool]] = {}
        """The cameras whose links are up and not published yet."""
        self._tasks = tasks
        self._apply_task: Kept | None = None

    async def start(self, statuses: Statuses) -> None:
        """Send the cameras of `statuses` to the helper, now and after each event. `statuses` must return all
        devices that are not DISCONNECTED, and may return others."""
        self._statuses = statuses
        await self._connection.watch_owner(self._helper_came_or_went, calls.BUS_NAME)
        await self._connection.watch(
            lambda signal: self._conflict_changed(*typed(tuple[str], signal.body)),
            sender=calls.BUS_NAME,
            path=calls.PATH,
            interface=calls.BUS_NAME,
            member=calls.CONFLICT_CHANGED.name,
        )
        # A helper that is still running from an earlier daemon gets the state even if it is empty.
        self._helper_wanted = await self._connection.name_owner(calls.BUS_NAME) is not None
        self._due.set()
        self._apply_task = self._tasks.keep(
            "apply", self._apply_changes, _BACKOFF, expected=(_NotApplied,), quiet=True
        )

    async def stop(self) -> None:
        """Stop updating; the helper decides how long its state is kept."""
        if self._rest is not None:
            self._rest.cancel()
        await self._tasks.stop()

    def publish(self, event: Event) -> None:
        """See EventSink."""
        match event:
            case InterfaceAdded(status) | InterfaceChanged(status):
                is_ours = status.state is not InterfaceState.UNAVAILABLE
                (self._adapters.add if is_ours else self._adapters.discard)(status.interface.name)
            case InterfaceRemoved(name):
                self._adapters.discard(name)
        if isinstance(event, InterfaceAdded | InterfaceRemoved):
            self._plugged += 1
        if isinstance(event, InterfaceAdded):
            self._tasks.start("start-helper", self._start_helper())
        if not isinstance(event, SignalChanged):
            asyncio.get_running_loop().call_later(_LATER_S, self._apply_soon)

    async def lead(self, address: str, interface: str, camera_address: str) -> bool:
        """See AddressRoutes."""
        camera = (address, interface, camera_address)
        is_leading: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._unpublished[camera] = is_leading
        self._apply_soon()
        try:
            return await is_leading
        finally:
            if self._unpublished.get(camera) is is_leading:
                del self._unpublished[camera]

    async def _start_helper(self) -> None:
        """Start the helper, which takes seconds on a slow host, before a camera needs it."""
        await self._is_rested.wait()
        try:
            await self._connection.call_bus("StartServiceByName", "su", [calls.BUS_NAME, 0])
        except (BusError, BusClosed, TimeoutError) as error:
            _log.debug("helper_not_started", reason=str(error))  # the first call warns
        else:  # its first state takes longest
            self._helper_wanted = True
            self._apply_soon()

    def _apply_soon(self) -> None:
        self._due.set()
        if self._apply_task is not None:
            self._apply_task.retry_now()

    async def _apply_changes(self) -> None:
        while True:
            await self._due.wait()
            await self._is_rested.wait()
            self._due.clear()
            statuses = tuple(self._statuses())
            cameras = planned_cameras(
                statuses,
                self._adapters,
                {(address, interface): own for address, interface, own in self._unpublished},
                with_addresses=bool(self._network),
            )
            self._helper_wanted = self._helper_wanted or bool(cameras)
            planned = _Planned(cameras, self._plugged)
            if planned == self._applied:
                self._settle(cameras)
                continue
            if not self._helper_wanted:
                continue
            try:
                [conflict] = await self._connection.call(
                    calls.BUS_NAME,
                    calls.PATH,
                    calls.BUS_NAME,
                    calls.APPLY.name,
                    calls.APPLY.signature,
                    [self._network, [list(one) for one in cameras]],
                    timeout_s=_ANSWER_S,
                    on_reply=partial(self._note_applied, planned),
                )
            except (BusError, BusClosed, TimeoutError) as error:
                reason = str(error) or "wifimgrd-net does not answer"
                if self._trouble != reason:
                    _log.warning("addresses_unavailable", reason=reason)
                if self._trouble:
                    self._settle(cameras, is_leading=False)  # not for the first time, so nobody waits for it
                self._trouble, self._applied = reason, None
                self._due.set()
                raise _NotApplied(reason) from None
            self._trouble = ""
            self._conflict_changed(typed(str, conflict))
            self._settle(cameras)

    def _settle(self, cameras: PlannedCameras, *, is_leading: bool = True) -> None:
        """The addresses of these cameras lead to them, or do not."""
        applied = {camera[1:4] for camera in cameras}
        for camera, future in self._unpublished.items():
            if camera in applied and not future.done():
                future.set_result(is_leading and not self._conflict)

    def _note_applied(self, planned: _Planned, reply: list[object]) -> None:
        """Runs in the order of the bus: the signal of the helper's exit may follow right after its reply."""
        del reply
        self._applied = planned

    def _helper_came_or_went(self, change: OwnerChange) -> None:
        self._applied = None
        self._helper_wanted = bool(change.after)  # one that was killed has left its tables
        if self._rest is not None:
            self._rest.cancel()
        if change.after:
            self._is_rested.set()
        else:
            self._is_rested.clear()
            self._rest = asyncio.get_running_loop().call_later(_REST_S, self._is_rested.set)
        self._apply_soon()  # the call starts the helper again, where it is needed

    def _conflict_changed(self, conflict: str) -> None:
        if conflict != self._conflict:
            self._conflict = conflict
            if conflict:
                _log.error("addresses_conflict", reason=conflict)
            else:
                _log.info("addresses_conflict_over", network=self._network)


def planned_cameras(
    statuses: Iterable[DeviceStatus],
    adapters: Iterable[str] = (),
    unpublished: Mapping[tuple[str, str], str] = MappingProxyType({}),
    *,
    with_addresses: bool = True,
) -> PlannedCameras:
    """The devices that have a link or had one, those in `unpublished` too, which has the cameras' own
    addresses by their addresses here and their interfaces; then the other interfaces, which are only
    closed."""
    linked: list[calls.CameraEntry] = []
    others = set(adapters)
    for status in statuses:
        if not status.interface:
            continue
        address = status.address if with_addresses else ""
        own = unpublished.get((address, status.interface))
        if own is None and status.link is None and not status.lost_us:
            others.add(status.interface)
            continue
        if own is None:
            own = status.link.camera_address if status.link else ""
        linked.append(
            calls.CameraEntry(status.device.id, address, status.interface, own, status.device.codename)
        )
    used = {one.interface for one in linked}
    return (*linked, *(calls.CameraEntry(0, "", one, "", "") for one in sorted(others - used)))
