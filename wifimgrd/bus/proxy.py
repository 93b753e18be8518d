"""The base class of the typed proxies for objects of other services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, Signal, Variant, Watch

TIMEOUT_S = 25.0
"""How long a service may take to reply, unless the subclass sets less."""


class Proxy:
    """One interface of one object. A subclass defines the service and the interface, and has a method for
    each call; every call raises BusError, BusClosed, and TimeoutError."""

    SERVICE: ClassVar[str]
    INTERFACE: ClassVar[str]
    TIMEOUT_S: ClassVar[float] = TIMEOUT_S

    def __init__(self, connection: BusConnection, path: str) -> None:
        self.connection = connection
        self.path = path

    async def call(
        self,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        """Call a method; `on_reply` as in `BusConnection.call`."""
        return await self.connection.call(
            self.SERVICE, self.path, self.INTERFACE, member, signature, body, self.TIMEOUT_S, on_reply
        )

    async def get(self, name: str) -> Any:
        """Read one property."""
        return await self.connection.get(self.SERVICE, self.path, self.INTERFACE, name)

    async def get_all(self) -> dict[str, Any]:
        """Read every property."""
        return await self.connection.get_all(self.SERVICE, self.path, self.INTERFACE)

    async def set(self, name: str, value: Variant) -> None:
        """Write one property."""
        await self.connection.set(
            self.SERVICE, self.path, self.INTERFACE, name, value, timeout_s=self.TIMEOUT_S
        )

    async def watch(self, member: str, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to one signal of the interface."""
        return await self.connection.watch(
            handler, sender=self.SERVICE, path=self.path, interface=self.INTERFACE, member=member
        )

    async def watch_properties(self, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to changes of the properties, which are the signal's second argument."""
        return await self.connection.watch(
            handler,
            sender=self.SERVICE,
            path=self.path,
            interface=names.PROPERTIES,
            member="PropertiesChanged",
            arg0=self.INTERFACE,
        )
