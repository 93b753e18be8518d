"""The daemon's side: tells the helper which cameras are connected, as often as that changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from ipaddress import IPv4Network
from typing import Final

import structlog

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Signal
from wifimgrd.domain.device import DeviceState, DeviceStatus
from wifimgrd.domain.events import Event, SignalChanged
from wifimgrd.ports import EventSink
from wifimgrd.runtime.tasks import Backoff, Kept, Tasks

_log = structlog.get_logger()

_BACKOFF: Final = Backoff(first_s=1.0, last_s=60.0)
_ANSWER_S: Final = 20.0
_LATER_S: Final = 0.002
"""Whoever asked for the change hears of it first: the helper is busy for some milliseconds."""

Statuses = Callable[[], Iterable[DeviceStatus]]
Led = tuple[tuple[str, str, str], ...]
"""Of each connected camera its address, its interface and its own address there."""


class _NotApplied(Exception):
    """The helper did not take the state in."""


class AddressTeller:
    """An EventSink that passes every event on, and keeps the helper up to date from `start` on.

    The helper gets the whole state, so that nothing is lost where it, or the daemon, begins anew.
    """

    def __init__(
        self,
        sink: EventSink,
        connection: BusConnection,
        network: IPv4Network,
        share: Sequence[str],
        tasks: Tasks,
    ) -> None:
        """`share` are the networks whose hosts reach the cameras, too."""
        self._sink = sink
        self._connection = connection
        self._network = str(network)
        self._share = list(share)
        self._statuses: Statuses = tuple
        self._told: Led | None = None
        """What the helper has; None where that is not known."""
        self._awake = False
        """The helper is there, or has been called for."""
        self._conflict = ""
        self._trouble = ""
        """Why the last call failed, where it did."""
        self._due = asyncio.Event()
        self._tasks = tasks
        self._telling: Kept | None = None

    async def start(self, statuses: Statuses) -> None:
        """Tell the helper of the devices that `statuses` gives, now and after each event."""
        self._statuses = statuses
        await self._connection.watch(
            self._helper_came_or_went,
            sender=names.BUS_DAEMON,
            member="NameOwnerChanged",
            arg0=names.NET_BUS_NAME,
        )
        await self._connection.watch(
            lambda signal: self._hear_conflict(signal.body[0]),
            sender=names.NET_BUS_NAME,
            path=names.NET_PATH,
            interface=names.NET,
            member="ConflictChanged",
        )
        # A helper that outlived an earlier daemon is told even that there is nothing.
        self._awake = await self._connection.name_owner(names.NET_BUS_NAME) is not None
        self._due.set()
        self._telling = self._tasks.keep("apply", self._tell, _BACKOFF, expected=(_NotApplied,), quiet=True)

    async def stop(self) -> None:
        """Tell nothing more; the helper decides how long what stands is kept."""
        await self._tasks.stop()

    def publish(self, event: Event) -> None:
        """Pass one event on."""
        self._sink.publish(event)
        if not isinstance(event, SignalChanged):
            asyncio.get_running_loop().call_later(_LATER_S, self._tell_soon)

    def _tell_soon(self) -> None:
        self._due.set()
        if self._telling is not None:
            self._telling.retry_now()

    async def _tell(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            statuses = tuple(self._statuses())
            led = led_to(statuses)
            # It is called for while the first camera is joined, so that it is there once the link is.
            self._awake = self._awake or any(
                status.state is not DeviceState.DISCONNECTED for status in statuses
            )
            if led == self._told or not self._awake:
                continue
            try:
                [conflict] = await self._connection.call(
                    names.NET_BUS_NAME,
                    names.NET_PATH,
                    names.NET,
                    "Apply",
                    "s" + names.NET_CAMERAS + "as",
                    [self._network, [list(one) for one in led], self._share],
                    timeout_s=_ANSWER_S,
                    on_reply=partial(self._applied, led),
                )
            except (BusError, BusClosed, TimeoutError) as error:
                reason = str(error) or "wifimgrd-net does not answer"
                if self._trouble != reason:
                    _log.warning("addresses_unavailable", reason=reason)
                self._trouble, self._told = reason, None
                self._due.set()
                raise _NotApplied(reason) from None
            self._trouble = ""
            self._hear_conflict(conflict)

    def _applied(self, led: Led, reply: list[object]) -> None:
        """Noted in the order of the bus: that the helper went may come right behind its answer."""
        del reply
        self._told = led

    def _helper_came_or_went(self, signal: Signal) -> None:
        self._told = None
        self._awake = self._awake and bool(signal.body[2])
        self._tell_soon()  # one that went is started again by the call, where it is needed

    def _hear_conflict(self, conflict: str) -> None:
        if conflict != self._conflict:
            self._conflict = conflict
            if conflict:
                _log.error("addresses_conflict", reason=conflict)
            else:
                _log.info("addresses_conflict_over", network=self._network)


def led_to(statuses: Iterable[DeviceStatus]) -> Led:
    """The cameras that can be led to."""
    return tuple(
        (status.address, status.interface, status.link.camera_address)
        for status in statuses
        if status.address and status.interface and status.link is not None and status.link.camera_address
    )
