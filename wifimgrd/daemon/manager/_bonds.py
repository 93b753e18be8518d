"""The bonds that this hub has made: it removes and replaces these, and no others of this host.

Which they are is on disk, before BlueZ is asked to pair: a bond whose making was interrupted is not taken for
another program's later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from wifimgrd.daemon.ports import CameraBluetooth, DeviceStore
from wifimgrd.domain.bonds import UNKNOWN, Claim, HostBonds
from wifimgrd.domain.errors import BluetoothUnavailable, WifimgrdError
from wifimgrd.domain.power import PairedCamera
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_NONE = Claim()


@dataclass(eq=False)
class _Pairing:
    """One that runs; addresses of adapters."""

    may_bond: frozenset[str]
    """The adapters without a bond. On disk theirs is the hub's meanwhile, and if they turn out to have none
    later, it never was."""
    bonded: set[str] = field(default_factory=set)
    """Those with which a bond was, or may have been, made."""


class Bonds:
    """Makes bonds, and removes those that were made here."""

    def __init__(self, store: DeviceStore, bluetooth: CameraBluetooth, tasks: Tasks) -> None:
        self._store = store
        self._bluetooth = bluetooth
        self._tasks = tasks
        self._claims: dict[str, Claim] = {}
        """By the camera's address, as all of these; none of them is empty."""
        self._pairing: dict[str, _Pairing] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        """The task that ends a bond in the background."""

    @property
    def made(self) -> Set[str]:
        """The addresses of the cameras that the hub has bonded with."""
        return self._claims.keys()

    async def load(self) -> None:
        """Read from disk which bonds were made."""
        self._claims = {address: claim for address, claim in (await self._store.bonds()).items() if claim.own}

    async def stop(self) -> None:
        """End what is under way."""
        await self._tasks.stop()

    # -- making one

    async def pair(self, address: str, service: str) -> PairedCamera:
        """Pair with a camera. A bond that is there is used, and replaced only if it is the hub's and provably
        lost; a new one is the hub's, and is removed again if this fails. Raises PairingFailed, Busy,
        BluetoothUnavailable."""
        while (ending := self._ending.get(address)) is not None:
            await asyncio.wait({ending})
        host = await self._look(address)
        running = self._pairing[address] = _Pairing(host.adapters - host.bonded)
        try:
            await self._save(address)
            camera = await self._bluetooth.pair(address, service, self._claim(address).placed)
            running.may_bond = frozenset()
            await self._save(address)
        except BaseException:
            self._end(address, partial(self._undo, address, running.bonded))
            raise
        finally:
            del self._pairing[address]
        return camera

    def bonding(self, address: str, adapter: str) -> None:
        """A bond with a camera is made now, at the adapter with an address: it is the hub's."""
        self._claims[address] = self._claim(address).plus({adapter})
        self._tasks.start("remember-bond", self._save(address), expected=(WifimgrdError,))
        if (running := self._pairing.get(address)) is not None:
            running.bonded.add(adapter)
        else:  # the pairing has ended here before it has there
            self._end(address, partial(self._unbond, address, adapter))

    async def _undo(self, address: str, bonded: Collection[str]) -> None:
        """Remove the bonds that a pairing has made, or may have; one of before stays while it is there, and
        so does one that another program has made meanwhile."""
        await self._save(address)
        for adapter in bonded:
            await self._unbond(address, adapter)
        if address in self._claims:
            await self._look(address)

    # -- which there are

    async def has_bond(self, address: str) -> bool:
        """Whether this host has a bond with a camera, by whomever it was made. Raises BluetoothUnavailable if
        that is not known."""
        host = await self._look(address)
        away = self._claim(address).placed - host.adapters
        if away and not host.bonded:
            raise BluetoothUnavailable(f"the Bluetooth adapter {min(away)} is not there")
        return bool(host.bonded)

    async def _look(self, address: str) -> HostBonds:
        """Find out which bonds with a camera there are; raises BluetoothUnavailable. Forget the hub's bonds
        that are no longer there, unless the hub pairs now: it claims a bond before the bond is there."""
        host = await self._bluetooth.bonds(address)
        if address not in self._pairing:
            await self._set(address, self._claim(address).seen(host))
        return host

    # -- ending one

    async def remove(self, address: str) -> None:
        """Remove the bonds with a camera that the hub has made, and end what runs with the camera. Raises
        BluetoothUnavailable; a bond that is left is the hub's as before."""
        if not await self._remove_own(address):
            await self._bluetooth.release(address)
            _log.info("bond_kept", address=address, reason="if this host has one, this hub has not made it")

    def remove_later(self, address: str) -> None:
        """As `remove`, without waiting for it; `pair` does."""
        self._end(address, partial(self.remove, address))

    def bluetooth_ready(self, held: Set[str]) -> None:
        """Remove the bonds that the hub has made with other cameras than these, and find out where those are
        of which that is not known."""
        for address, claim in self._claims.items():
            if address not in held:
                self._end(address, partial(self._remove_own, address))
            elif UNKNOWN in claim.own:
                self._tasks.start("find-bond", self._look(address), expected=(WifimgrdError,))

    async def _remove_own(self, address: str) -> bool:
        """Remove the bonds with a camera that the hub has made; returns whether it had made any. Raises
        BluetoothUnavailable if one is left."""
        if address not in self._claims:
            return False
        host = await self._look(address)
        own = self._claim(address).placed
        for adapter in sorted(own, key=lambda one: one not in host.adapters):  # those that can be, first
            await self._unbond(address, adapter)
        return bool(own)

    async def _unbond(self, address: str, adapter: str) -> None:
        await self._bluetooth.unpair(address, adapter)
        await self._set(address, self._claim(address).minus(adapter))

    def _end(self, address: str, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        task = self._tasks.start("end-bond", self._reported(address, work, self._ending.get(address)))
        self._ending[address] = task
        task.add_done_callback(lambda done: self._ended(address, done))

    async def _reported(
        self,
        address: str,
        work: Callable[[], Coroutine[Any, Any, object]],
        after: asyncio.Task[None] | None,
    ) -> None:
        if after is not None:  # a second one would end the first one's call
            await asyncio.wait({after})
        try:
            await work()
        except WifimgrdError as error:
            _log.warning("keys_left", address=address, reason=error.message)

    def _ended(self, address: str, task: asyncio.Task[None]) -> None:
        if self._ending.get(address) is task:
            del self._ending[address]

    # -- what is remembered

    def _claim(self, address: str) -> Claim:
        return self._claims.get(address, _NONE)

    async def _set(self, address: str, claim: Claim) -> None:
        if claim == self._claim(address):
            return
        if claim.own:
            self._claims[address] = claim
        else:
            del self._claims[address]
        await self._save(address)

    async def _save(self, address: str) -> None:
        """Write what is known now, safe on disk on return."""
        claim = self._claim(address)
        if (running := self._pairing.get(address)) is not None:
            claim = claim.plus(running.may_bond)
        await self._store.keep_bonds(address, claim)
