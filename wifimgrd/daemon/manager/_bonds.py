"""The bonds that this hub has made: it removes and replaces these, and no others of this host.

Which they are is on disk, before BlueZ is asked to pair: a bond whose making was interrupted is not taken for
another program's later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Set
from typing import Any

import structlog

from wifimgrd.daemon.ports import CameraBluetooth, DeviceStore
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.power import PairedCamera
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


class Bonds:
    """Makes bonds, and removes those that were made here."""

    def __init__(self, store: DeviceStore, bluetooth: CameraBluetooth, tasks: Tasks) -> None:
        self._store = store
        self._bluetooth = bluetooth
        self._tasks = tasks
        self._made: dict[str, str] = {}
        """The addresses of the cameras, also those of pairings that run, and of the adapter of each bond;
        empty if that is not known."""
        self._pairing: set[str] = set()
        self._asked: set[str] = set()
        """The cameras with which a bond was, or may have been, made since their last pairing began."""
        self._ending: dict[str, asyncio.Task[None]] = {}
        """What ends a bond in the background, by address."""

    @property
    def made(self) -> Set[str]:
        """The addresses of the cameras that the hub has bonded with."""
        return self._made.keys()

    async def load(self) -> None:
        """Read from disk which bonds were made."""
        self._made = dict(await self._store.bonds())

    async def stop(self) -> None:
        """End what is under way."""
        await self._tasks.stop()

    async def pair(self, address: str, service: str) -> PairedCamera:
        """Pair with a camera. A bond that is there is used, and replaced only if it is the hub's and provably
        lost; a new one is the hub's, and is removed again if this fails. Raises PairingFailed, Busy,
        BluetoothUnavailable."""
        if (ending := self._ending.get(address)) is not None:
            await asyncio.wait({ending})
        is_own = address in self._made
        is_first = not is_own and not await self._bluetooth.has_bond(address)
        self._pairing.add(address)
        self._asked.discard(address)
        try:
            if is_first:
                await self._remember(address)
            camera = await self._bluetooth.pair(address, service, replaces=is_own)
            if camera.bond_is_new:
                await self._remember(address)
            elif is_first:  # another program has bonded with it meanwhile
                await self._forget(address)
        except BaseException:
            self._end(address, self._undo(address, is_own=is_own))
            raise
        finally:
            self._pairing.discard(address)
        return camera

    def bonding(self, address: str, adapter: str) -> None:
        """A bond with a camera is made now, at the adapter with an address: it is the hub's."""
        self._asked.add(address)
        self._made[address] = adapter
        writing = self._store.remember_bond(address, adapter)
        self._tasks.start("remember-bond", writing, expected=(WifimgrdError,))
        if address not in self._pairing:  # the pairing has ended here before it has there
            self.remove_later(address)

    async def _undo(self, address: str, *, is_own: bool) -> None:
        """Remove what a pairing may have made; a bond of before, or one that another program has made
        meanwhile, stays."""
        if is_own:
            await self.has_bond(address)
        elif address in self._asked:
            await self.remove(address)
        else:
            await self._forget(address)

    async def has_bond(self, address: str) -> bool:
        """Whether this host has a bond with a camera; if not, the hub has none either. Raises
        BluetoothUnavailable: what is not known is not forgotten."""
        has_bond = await self._bluetooth.has_bond(address, self._made.get(address, ""))
        if not has_bond and address not in self._pairing:
            await self._forget(address)
        return has_bond

    async def remove(self, address: str) -> None:
        """Remove the bond with a camera, if the hub has made it, and end what runs with the camera. Raises
        BluetoothUnavailable; the bond is the hub's then as before."""
        if address in self._made:
            await self._bluetooth.unpair(address, self._made[address])
            await self._forget(address)
        else:
            await self._bluetooth.release(address)
            _log.info("bond_kept", address=address, reason="if this host has one, this hub has not made it")

    def remove_later(self, address: str) -> None:
        """As `remove`, without waiting for it; `pair` does."""
        self._end(address, self.remove(address))

    def _end(self, address: str, work: Coroutine[Any, Any, None]) -> None:
        after = self._ending.get(address)
        task = self._tasks.start("end-bond", self._reported(address, work, after))
        self._ending[address] = task
        task.add_done_callback(lambda _: work.close())  # it has not begun if it was cancelled at once
        task.add_done_callback(lambda done: self._ended(address, done))

    async def _reported(
        self, address: str, work: Coroutine[Any, Any, None], after: asyncio.Task[None] | None
    ) -> None:
        if after is not None:
            await asyncio.wait({after})
        try:
            await work
        except WifimgrdError as error:
            _log.warning("keys_left", address=address, reason=error.message)

    def _ended(self, address: str, task: asyncio.Task[None]) -> None:
        if self._ending.get(address) is task:
            del self._ending[address]

    async def _remember(self, address: str) -> None:
        if address not in self._made:
            self._made[address] = ""  # at once: a write goes on if its caller is cancelled
            await self._store.remember_bond(address, "")

    async def _forget(self, address: str) -> None:
        if address in self._made:
            del self._made[address]
            await self._store.forget_bond(address)
