"""Adapters that are being freed, each for a device: nobody else gets it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain.errors import Cancelled

Turn = asyncio.Future[None]
"""See DeviceEntry.turns."""


class Turns:
    """Whose adapters are being freed."""

    def __init__(self, state: HubState) -> None:
        self._state = state

    def begin(self, entry: DeviceEntry, interface: str) -> Turn:
        """The radio of an interface is about to be freed for a device, which is promised it."""
        turn: Turn = asyncio.get_running_loop().create_future()
        entry.turns.append(turn)
        self._state.allocator = self._state.allocator.promise(entry.device.id, interface)
        return turn

    @staticmethod
    def end(entry: DeviceEntry, turn: Turn) -> None:
        """That adapter is no longer being freed, with or without success. The promise lasts until
        `end_promise`, or until the device has an interface."""
        if not turn.done():
            entry.turns.remove(turn)
            turn.set_result(None)

    @contextmanager
    def wanted(self, entry: DeviceEntry) -> Iterator[None]:
        """A command connects the device: what is freed for it is kept until none does."""
        entry.connects += 1
        try:
            yield
        finally:
            entry.connects -= 1
            self.end_promise(entry)

    def end_promise(self, entry: DeviceEntry) -> None:
        """The device no longer needs what was freed for it, or what a recovery step has kept for it: others
        get it, unless that step runs, another command connects the device, or more is being freed."""
        if entry.turns or entry.connects or entry.recovery_step is not None:
            return
        state, before = self._state, self._state.allocator
        state.allocator = before.without_promise(entry.device.id)
        for radio in before.promises.keys() - state.allocator.promises.keys():
            for name in before.index.by_radio.get(radio, ()):
                state.interface_may_be_free.notify(name)


def require_no_disconnect(entry: DeviceEntry, disconnects: int) -> None:
    """Raises Cancelled if a disconnect came since a command to connect the device, which found that there had
    been so many: the last command counts."""
    if entry.disconnects != disconnects:
        raise Cancelled("the attempt was cancelled by a disconnect")
