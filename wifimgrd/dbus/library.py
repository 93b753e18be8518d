"""The D-Bus library: the only module that knows which one it is. It connects, and makes and reads messages.

dbus-next 0.2.3 does the wire format and the authentication, and no more (`bus.py` says why). Set
WIFIMGRD_DBUS_LIBRARY=dbus_fast for its maintained fork.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from wifimgrd.dbus.traffic import BusClosed, MethodCall, Reply, Signal

LIBRARY: Final = os.environ.get("WIFIMGRD_DBUS_LIBRARY", "dbus_next")
_library: Any = importlib.import_module(LIBRARY)
_aio: Any = importlib.import_module(LIBRARY + ".aio")
introspection: Any = importlib.import_module(LIBRARY + ".introspection")
_constants: Any = importlib.import_module(LIBRARY + ".constants")
_Unmarshaller: Any = importlib.import_module(LIBRARY + "._private.unmarshaller").Unmarshaller
_MessageType: Any = _constants.MessageType
_MessageFlag: Any = _constants.MessageFlag
Message: Any = _library.Message
"""What is to be sent."""
Variant: Any = _library.Variant
"""`Variant(signature, value)`: a value for `v` in an outgoing body."""


def unpack(value: Any) -> Any:
    """Take every variant out of a value, at any depth."""
    if isinstance(value, Variant):
        return unpack(value.value)
    if isinstance(value, list | tuple):
        return [unpack(item) for item in value]
    if isinstance(value, dict):
        return {unpack(key): unpack(item) for key, item in value.items()}
    return value


# -- a connection


async def connect(bus: str, timeout_s: float, *, sockets: bool) -> Any:
    """The library's connection to `system`, `session` or a D-Bus address; raises BusClosed.

    In two steps, because the library connects in the constructor and leaks there.
    """
    connection = _aio.MessageBus.__new__(_aio.MessageBus)
    try:
        if bus in ("system", "session"):
            kind = _constants.BusType.SYSTEM if bus == "system" else _constants.BusType.SESSION
            connection.__init__(bus_type=kind, negotiate_unix_fd=sockets)
        else:
            connection.__init__(bus_address=bus, negotiate_unix_fd=sockets)
        async with asyncio.timeout(timeout_s):
            await connection.connect()
    except asyncio.CancelledError:
        _close_sockets(connection)
        raise
    except Exception as error:  # noqa: BLE001 - the library raises whatever came to it
        _close_sockets(connection)
        raise BusClosed(f"cannot connect to the message bus {bus}: {error}") from None
    return connection


def disconnect(connection: Any) -> None:
    """Let go of all that the library holds of a connection."""
    if not connection._disconnect_future.done():
        connection._user_disconnect = True
        connection._finalize(None)
    _close_sockets(connection)


def _close_sockets(connection: Any) -> None:
    for name in ("_stream", "_sock"):
        closable = getattr(connection, name, None)
        if closable is not None:
            try:
                closable.close()
            except OSError:
                continue


# -- messages that go


def method_call(
    destination: str,
    path: str,
    interface: str,
    member: str,
    signature: str,
    body: Sequence[Any],
    *,
    expects_reply: bool = True,
) -> Any:
    """A call."""
    return Message(
        destination=destination,
        path=path,
        interface=interface,
        member=member,
        flags=_MessageFlag.NONE if expects_reply else _MessageFlag.NO_REPLY_EXPECTED,
        signature=signature,
        body=list(body),
    )


def method_return(
    destination: str, serial: int, signature: str, body: Sequence[Any], descriptors: Sequence[int]
) -> Any:
    """The answer to the call of that serial; in the body, an `h` is the number of one of the descriptors."""
    return Message(
        destination=destination,
        message_type=_MessageType.METHOD_RETURN,
        reply_serial=serial,
        signature=signature,
        body=list(body),
        unix_fds=list(descriptors),
    )


def error(destination: str, serial: int, name: str, signature: str, body: Sequence[Any]) -> Any:
    """The refusal of the call of that serial."""
    return Message(
        destination=destination,
        message_type=_MessageType.ERROR,
        reply_serial=serial,
        error_name=name,
        signature=signature,
        body=list(body),
    )


def signal(path: str, interface: str, member: str, signature: str, body: Sequence[Any]) -> Any:
    """A signal for everybody."""
    return Message(
        path=path,
        interface=interface,
        member=member,
        message_type=_MessageType.SIGNAL,
        signature=signature,
        body=list(body),
    )


def to_octets(message: Any, *, sockets: bool) -> bytes:
    """A message with its serial as it goes over the wire; `sockets` go with it."""
    return bytes(message._marshall(sockets))


# -- messages that come


def read(octets: bytes) -> Signal | MethodCall | Reply:
    """A whole message; raises ValueError where the library does not understand it."""
    try:
        message = _Unmarshaller(BytesIO(octets)).unmarshall()
    except Exception as error:
        raise ValueError("the message cannot be understood") from error
    body = [unpack(argument) for argument in message.body]
    kind = message.message_type
    if kind is _MessageType.SIGNAL:
        return Signal(message.sender or "", message.path, message.interface, message.member, body)
    if kind is _MessageType.METHOD_CALL:
        return MethodCall(
            message.sender or "",
            message.path,
            message.interface or "",
            message.member,
            message.signature,
            body,
            message.serial,
            not message.flags & _MessageFlag.NO_REPLY_EXPECTED,
            bool(message.flags & _MessageFlag.ALLOW_INTERACTIVE_AUTHORIZATION),
        )
    return Reply(message.reply_serial, message.error_name if kind is _MessageType.ERROR else None, body)
