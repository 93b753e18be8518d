"""The guest's system bus for the tests: calls, properties, and signals that a test can wait for.

The lab's own, so that what it reports about NetworkManager and wpa_supplicant owes nothing to the code under
test.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeVar

from dbus_next.aio.message_bus import MessageBus
from dbus_next.constants import BusType, MessageType
from dbus_next.message import Message

from .deadline import DeadlineError

T = TypeVar("T")

_CALL_S = 25.0  # the reference library's own limit
_BUS = "org.freedesktop.DBus"


class BusError(RuntimeError):
    """The other side answered with an error."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class SystemBus:
    """A connection to the system bus; `async with` opens it."""

    def __init__(self) -> None:
        self._bus = MessageBus(bus_type=BusType.SYSTEM)
        self._waiting: set[asyncio.Event] = set()
        """One for each `until`, set when a signal came."""
        self._listeners: list[Callable[[Message], None]] = []

    async def __aenter__(self) -> Self:
        await self._bus.connect()
        self._bus.add_message_handler(self._on_message)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._bus.disconnect()  # type: ignore[no-untyped-call]

    async def call(
        self, name: str, path: str, interface: str, member: str, signature: str = "", *body: Any
    ) -> list[Any]:
        """Call a method and return all values of its answer."""
        message = Message(name, path, interface, member, signature=signature, body=list(body))
        async with asyncio.timeout(_CALL_S):
            answer = await self._bus.call(message)
        assert answer is not None, "a call that expects an answer gets one"
        if answer.message_type is MessageType.ERROR:
            raise BusError(answer.error_name, " ".join(str(value) for value in answer.body))
        return list(answer.body)

    async def read(self, name: str, path: str, interface: str, member: str) -> Any:
        """Read a property."""
        properties = "org.freedesktop.DBus.Properties"
        (value,) = await self.call(name, path, properties, "Get", "ss", interface, member)
        return value.value

    async def listen(
        self, sender: str, interface: str, member: str, on_signal: Callable[[Message], None]
    ) -> None:
        """Call `on_signal` with each such signal from now on."""
        rule = f"type='signal',sender='{sender}',interface='{interface}',member='{member}'"
        await self.call(_BUS, "/org/freedesktop/DBus", _BUS, "AddMatch", "s", rule)

        def listener(message: Message) -> None:
            if (message.interface, message.member) == (interface, member):
                on_signal(message)

        self._listeners.append(listener)

    async def until(self, condition: Callable[[], Awaitable[T | None]], what: str, seconds: float) -> T:
        """Await `condition` after each signal that was listened for, until it answers; return that."""
        received = asyncio.Event()
        self._waiting.add(received)
        try:
            async with asyncio.timeout(seconds):
                while True:
                    received.clear()
                    if (answer := await condition()) is not None:
                        return answer
                    await received.wait()
        except TimeoutError:
            raise DeadlineError(f"after {seconds:g} s still not so: {what}") from None
        finally:
            self._waiting.discard(received)

    def _on_message(self, message: Message) -> None:
        if message.message_type is MessageType.SIGNAL:
            for listener in self._listeners:
                listener(message)
            for received in self._waiting:
                received.set()
