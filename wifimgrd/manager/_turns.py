"""Adapters that are being freed, each for a device: nobody else gets it meanwhile, and a disconnect of the
device ends its wait."""

from __future__ import annotations

import asyncio

from wifimgrd.domain.errors import Cancelled
from wifimgrd.manager._entry import DeviceEntry
from wifimgrd.manager._state import HubState

Turn = asyncio.Future[bool]
"""See DeviceEntry.turn."""


class Turns:
    """Whose adapters are being freed."""

    def __init__(self, state: HubState) -> None:
        self._state = state

    def begin(self, entry: DeviceEntry, interface: str) -> Turn:
        """The radio of an interface is about to be freed for a device, which is promised it."""
        turn = entry.turn = asyncio.get_running_loop().create_future()
        self._state.allocator = self._state.allocator.promise(entry.device.id, interface)
        return turn

    @staticmethod
    def disconnected(entry: DeviceEntry) -> None:
        """A client has the device disconnected: it is not connected with what is being freed for it."""
        if entry.turn is not None and not entry.turn.done():
            entry.turn.set_result(False)

    @staticmethod
    def end(entry: DeviceEntry, turn: Turn) -> bool:
        """Nothing is being freed for the device any more, with or without success; returns whether it may be
        connected, since no disconnect came. The promise lasts until `end_promise`, or until the device has an
        interface."""
        if entry.turn is turn:
            entry.turn = None
        if not turn.done():
            turn.set_result(True)
        return turn.result()

    def end_promise(self, entry: DeviceEntry) -> None:
        """The device does not need what was freed for it any more: others get it, unless more is being
        freed."""
        if entry.turn is not None:
            return
        state, before = self._state, self._state.allocator
        state.allocator = before.without_promise(entry.device.id)
        for radio in before.promises.keys() - state.allocator.promises.keys():
            for name in before.index.by_radio.get(radio, ()):
                state.interface_may_be_free.notify(name)


def disconnected_meanwhile() -> Cancelled:
    """Why a device for which an adapter was freed is not connected."""
    return Cancelled("the attempt was cancelled by a disconnect")
