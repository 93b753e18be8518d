"""A D-Bus client without manners: it writes what it likes, and reads only where it is asked to."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import Any, Final, Self

from dbus_next.constants import MessageFlag, MessageType
from dbus_next.message import Message

from wifimgrd.wire import names

_BUS: Final = "org.freedesktop.DBus"
_PATIENCE_S: Final = 60.0


def bytes_of(message: Message) -> bytes:
    """As it is sent."""
    return bytes(message._marshall(False))  # type: ignore[no-untyped-call]


class RudeClient:
    """A socket to a message bus that is authenticated and has a name, and nothing else."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._serial = 0

    @classmethod
    async def on(cls, address: str) -> Self:
        """Connect to a bus at a Unix socket."""
        return await asyncio.to_thread(cls._connect, address)

    @classmethod
    def _connect(cls, address: str) -> Self:
        options = dict(part.split("=", 1) for part in address.removeprefix("unix:").split(","))
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connected.settimeout(_PATIENCE_S)
        connected.connect(options.get("path") or "\0" + options["abstract"])
        connected.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert connected.recv(100).startswith(b"OK ")
        connected.sendall(b"BEGIN\r\n")
        client = cls(connected)
        hello = client.call(_BUS, "/org/freedesktop/DBus", _BUS, "Hello", no_reply=False)
        connected.sendall(hello)
        assert connected.recv(4096), "the bus did not greet"
        return client

    def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        *,
        no_reply: bool = True,
    ) -> bytes:
        """A call as bytes; without an answer the bus has no limit of how many there may be."""
        self._serial += 1
        message = Message(
            destination=destination,
            path=path,
            interface=interface,
            member=member,
            signature=signature,
            body=list(body),
            serial=self._serial,
            message_type=MessageType.METHOD_CALL,
            flags=MessageFlag.NO_REPLY_EXPECTED if no_reply else MessageFlag.NONE,
        )
        return bytes_of(message)

    def ask(self, path: str, interface: str, member: str, signature: str = "", *body: Any) -> bytes:
        """A call of the daemon whose answer is wanted, and not read."""
        return self.call(names.BUS_NAME, path, interface, member, signature, body, no_reply=False)

    def order(self, path: str, interface: str, member: str, signature: str = "", *body: Any) -> bytes:
        """A call of the daemon without answer."""
        return self.call(names.BUS_NAME, path, interface, member, signature, body)

    def signal(self, destination: str, path: str, interface: str, member: str) -> bytes:
        """A signal to one client, which need not have asked for it."""
        self._serial += 1
        message = Message(
            destination=destination,
            path=path,
            interface=interface,
            member=member,
            serial=self._serial,
            message_type=MessageType.SIGNAL,
        )
        return bytes_of(message)

    async def send(self, data: bytes, times: int = 1) -> None:
        """Write bytes as they are, as often; raises OSError where the bus has thrown us out."""

        def write() -> None:
            for _ in range(times):
                self._socket.sendall(data)

        await asyncio.to_thread(write)

    async def listen_to_everything(self) -> None:
        """Subscribe to all that the daemon sends; it is not going to be read."""
        rule = f"type='signal',sender='{names.BUS_NAME}'"
        await self.send(self.call(_BUS, "/org/freedesktop/DBus", _BUS, "AddMatch", "s", [rule]))

    def close(self) -> None:
        """Go."""
        self._socket.close()
