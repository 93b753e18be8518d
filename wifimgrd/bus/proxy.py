"""The base classes of the typed proxies for objects of other services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, Signal, Variant, Watch
from wifimgrd.bus.values import typed

TIMEOUT_S = 25.0
"""How long a service may take to reply, unless the subclass sets less."""

_T = TypeVar("_T")
P = TypeVar("P")
"""The properties of an interface: a TypedDict, whose keys can all be missing."""


class Proxy:
    """One interface of one object. A subclass defines the service and the interface, and has a method for
    each call; every call raises BusError, BusClosed, and TimeoutError. A reply that is not of the declared
    type is a BusError, too."""

    SERVICE: ClassVar[str]
    INTERFACE: ClassVar[str]
    TIMEOUT_S: ClassVar[float] = TIMEOUT_S
    AUTO_START: ClassVar[bool] = True
    """Whether a call starts a service that is not running."""

    def __init__(self, connection: BusConnection, path: str, owner: str = "") -> None:
        """`owner` is the unique name of one run of the service, instead of whichever run there is."""
        self.connection = connection
        self.path = path
        self.service = owner or self.SERVICE
        """Who is called."""

    async def call(
        self,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
        on_reply: Callable[[list[object]], None] | None = None,
    ) -> list[object]:
        """Call a method; `on_reply` as in `BusConnection.call`."""
        return await self.connection.call(
            self.service,
            self.path,
            self.INTERFACE,
            member,
            signature,
            body,
            self.TIMEOUT_S,
            on_reply,
            auto_start=self.AUTO_START,
        )

    async def ask(self, shape: type[_T], member: str, signature: str = "", body: Sequence[object] = ()) -> _T:
        """Call a method whose reply has one argument, of this type."""
        reply = await self.call(member, signature, body)
        return typed(shape, reply[0] if len(reply) == 1 else None)

    async def get(self, name: str, shape: type[_T]) -> _T:
        """Read one property, of this type."""
        value = await self.connection.get(self.service, self.path, self.INTERFACE, name, self.TIMEOUT_S)
        return typed(shape, value)

    async def set(self, name: str, value: Variant) -> None:
        """Write one property."""
        await self.connection.set(
            self.service, self.path, self.INTERFACE, name, value, timeout_s=self.TIMEOUT_S
        )

    async def watch(self, member: str, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to one signal of the interface."""
        return await self.connection.watch(
            handler, sender=self.service, path=self.path, interface=self.INTERFACE, member=member
        )

    async def watch_properties(self, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to changes of the properties."""
        return await self.connection.watch(
            handler,
            sender=self.service,
            path=self.path,
            interface=names.PROPERTIES,
            member="PropertiesChanged",
            arg0=self.INTERFACE,
        )


class ProxyWithProperties(Proxy, Generic[P]):
    """One interface of one object, whose properties are read together."""

    PROPERTIES: type[P]

    async def get_all(self) -> P:
        """Read every property that is declared."""
        values = await self.connection.get_all(self.service, self.path, self.INTERFACE, self.TIMEOUT_S)
        return typed(self.PROPERTIES, values)

    @classmethod
    def changes(cls, body: Sequence[object]) -> P:
        """The changed properties in the body of a PropertiesChanged signal; raises BusError."""
        return typed(cls.PROPERTIES, body[1] if len(body) > 1 else None)
