"""A connection to a camera: its characteristics read, written and subscribed to, until the link ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, TypeVar

from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.camera._limits import Limits
from wifimgrd.camera._objects import Objects
from wifimgrd.proxies.bluez.objects import Characteristic

_T = TypeVar("_T")


class Trouble(Exception):
    """Why an operation did not succeed, as a sentence; which error that is depends on the operation."""


class LinkLost(Trouble):
    """The link ended."""

    def __init__(self) -> None:
        super().__init__("the Bluetooth connection to the camera was lost")


class Link:
    """The connection to one device."""

    def __init__(self, connection: BusConnection, objects: Objects, path: str, limits: Limits) -> None:
        self._connection = connection
        self._objects = objects
        self.path = path
        self.limits = limits
        self._paths: Mapping[str, str] = {}

    @property
    def is_up(self) -> bool:
        """Whether the device is connected."""
        return self._objects.is_connected(self.path)

    async def until_down(self) -> None:
        """Return once the link has ended."""
        await self._objects.until(lambda: not self.is_up, None)

    async def require(self, uuids: Collection[str]) -> None:
        """Wait until the device has these characteristics; raises Trouble."""

        def found() -> bool:
            self._paths = self._objects.characteristics(self.path)
            return not self.is_up or all(uuid in self._paths for uuid in uuids)

        complete = await self._objects.until(found, self.limits.characteristics_s)
        if not self.is_up:
            raise LinkLost
        if not complete:
            raise Trouble("the camera does not offer what this hub needs: it is another model")

    def has(self, uuid: str) -> bool:
        """Whether the device has a characteristic, once `require` has returned."""
        return uuid in self._paths

    async def read(self, uuid: str) -> bytes:
        """Read a characteristic; raises Trouble."""
        return await self.until_lost(self._of(uuid).read())

    async def write(self, uuid: str, value: bytes) -> None:
        """Write a characteristic, and wait for the acknowledgement; raises Trouble."""
        await self.until_lost(self._of(uuid).write(value))

    async def subscribe(self, uuid: str, handler: Callable[[bytes], None]) -> None:
        """Call `handler` with each notification, until the link ends; raises Trouble."""
        self._objects.watch_value(self._paths[uuid], handler)
        await self.until_lost(self._of(uuid).start_notify())

    def _of(self, uuid: str) -> Characteristic:
        return Characteristic(self._connection, self._paths[uuid])

    async def until_lost(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Await a call to BlueZ, which may leave it unanswered when the link ends, or when the camera hangs;
        raises Trouble."""
        calling = asyncio.ensure_future(call)
        lost = asyncio.ensure_future(self.until_down())
        try:
            await asyncio.wait({calling, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not calling.done():
                await asyncio.wait({calling}, timeout=self.limits.late_s)
            if not calling.done():
                raise LinkLost
            return calling.result()
        except TimeoutError:
            raise Trouble("the camera does not answer") from None
        except BusError as error:
            if not self.is_up:
                raise LinkLost from None
            raise Refused(error.message) from None
        finally:
            calling.cancel()
            lost.cancel()
            await asyncio.gather(calling, lost, return_exceptions=True)


class Refused(Trouble):
    """The camera, or BlueZ for it, has refused an operation."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the camera refused: {reason[:200]}")
