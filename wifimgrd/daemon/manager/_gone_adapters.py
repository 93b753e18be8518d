"""The adapters that were plugged in since the start, and are not now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain.adapter import Adapter, AdapterIdentity, AdapterPin
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.reservation import AbsentAdapter

_KEPT: Final = 32
_USERS_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class _Gone:
    adapter: Adapter
    at_us: int
    user: DeviceId | None


class GoneAdapters:
    """Remembers which adapters have gone, and who used them last."""

    def __init__(self, state: HubState) -> None:
        self._state = state
        self._gone: list[_Gone] = []
        """The one that was unplugged last is the last."""
        self._users: dict[AdapterIdentity, DeviceId] = {}
        """The device that was connected last through each adapter; the newest is the last."""

    def connected(self, entry: DeviceEntry) -> None:
        """A device is connected through an adapter."""
        name = self._state.allocator.assignments.get(entry.device.id)
        if name is not None:
            identity = self._state.allocator.interfaces[name].adapter.identity
            self._users.pop(identity, None)
            self._users[identity] = entry.device.id
            if len(self._users) > _USERS_KEPT:
                del self._users[next(iter(self._users))]

    def unplugged(self, adapter: Adapter) -> None:
        """An adapter has gone."""
        user = self.user(adapter.identity)
        self._gone = [*self._gone[1 - _KEPT :], _Gone(adapter, self._state.clock(), user)]

    def plugged_in(self, adapter: Adapter) -> None:
        """An adapter appeared, which may be one that has gone: the likeliest of them."""
        likely = max(
            self._gone, key=lambda one: one.adapter.identity.match_strength(adapter.identity), default=None
        )
        if likely is not None and likely.adapter.identity.match_strength(adapter.identity):
            self._gone.remove(likely)

    def user(self, identity: AdapterIdentity) -> DeviceId | None:
        """The device that used an adapter last, also before the start; None if that is not known."""
        entries = self._state.entries
        user = self._users.get(identity)
        if user is None:
            users = [one.device for one in entries.values() if one.device.last_adapter == identity]
            last = max(users, key=lambda device: device.last_success_us, default=None)
            user = None if last is None else last.id
        return user if user in entries else None

    def absent(self, kept: Iterator[AdapterPin]) -> Iterator[AbsentAdapter]:
        """Those that have gone, but those that are `kept` for a device by one of these pins."""
        pins = tuple(kept)
        for one in self._gone:
            identity, user = one.adapter.identity, one.user
            if not any(pin.is_of(identity) for pin in pins):
                yield AbsentAdapter(
                    None,
                    AdapterPin(identity.mac, identity.usb_port),
                    one.adapter.name,
                    one.adapter.usb_product,
                    one.at_us,
                    user if user in self._state.entries else None,
                )
