"""Links that are up and not published yet: each until the device's address leads to its camera."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import AddressRoutes
from wifimgrd.domain.device import Link

_log = structlog.get_logger()

ADDRESS_S: Final = 1.0
"""How long a link that is up may stay unpublished."""


@dataclass(slots=True)
class Arrival:
    """A link that is up and not published yet."""

    entry: DeviceEntry
    interface: str
    address: str
    """The device's own, which has to lead to the camera."""
    camera: str
    """The camera's address on its link."""
    limit: asyncio.Timeout | None = None
    """Of the wait, once that has begun."""
    events: list[Callable[[], None]] = field(default_factory=list)
    """The events of the link that the backend has reported meanwhile, in order."""
    is_over: bool = False
    """The link was interrupted or has ended meanwhile."""


class Arrivals:
    """Delays the publication of links, and what the backend reports of them meanwhile."""

    def __init__(self, state: HubState, routes: AddressRoutes | None) -> None:
        """Without `routes` no link is delayed."""
        self._state = state
        self._routes = routes
        self._arrivals: dict[str, Arrival] = {}

    def begin(self, entry: DeviceEntry, interface: str, link: Link) -> Arrival | None:
        """A link is up; None if nothing delays its publication, since the device has no address that can lead
        to the camera. The events of the link are kept until `replay` or `end`."""
        address, camera = self._state.address(entry), self._state.completed(link, entry.device).camera_address
        if self._routes is None or not address or not camera:
            return None
        arrival = self._arrivals[interface] = Arrival(entry, interface, address, camera)
        return arrival

    def end(self, arrival: Arrival) -> None:
        """The link is not to be published: forget its events."""
        if self._arrivals.get(arrival.interface) is arrival:
            del self._arrivals[arrival.interface]

    async def wait(self, arrival: Arrival) -> None:
        """Return when the device's address leads to the camera.

        Also returns, with a warning in the log, where it does not within `ADDRESS_S`, and at once where the
        link is interrupted or ends. The caller publishes the link before it awaits anything, and calls
        `replay`.
        """
        if self._routes is None or arrival.is_over:
            return
        is_leading = False
        arrival.limit = asyncio.timeout(ADDRESS_S)
        try:
            async with arrival.limit:
                is_leading = await self._routes.lead(arrival.address, arrival.interface, arrival.camera)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self.end(arrival)
            raise
        if not is_leading and not arrival.is_over:
            _log.warning(
                "address_late",
                device=arrival.entry.device.id,
                interface=arrival.interface,
                address=arrival.address,
            )

    def hold(self, interface: str, event: Callable[[], None], *, is_end: bool) -> bool:
        """Keep an event of a link that is not published yet for `replay`; returns False where there is no
        such link. With `is_end` the link is interrupted or has ended, so that the wait ends, too."""
        arrival = self._arrivals.get(interface)
        if arrival is None:
            return False
        arrival.events.append(event)
        arrival.is_over = arrival.is_over or is_end
        if is_end and arrival.limit is not None and not arrival.limit.expired():
            arrival.limit.reschedule(asyncio.get_running_loop().time())
        return True

    def replay(self, entry: DeviceEntry, interface: str) -> None:
        """Process the events that were kept, now that the link of a device is published."""
        arrival = self._arrivals.get(interface)
        if arrival is None or arrival.entry is not entry:  # the interface has another device's link meanwhile
            return
        del self._arrivals[interface]
        for event in arrival.events:
            event()
