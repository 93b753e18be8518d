"""The D-Bus library: the only module that imports it. It connects, and builds and parses messages.

dbus-next 0.2.3 does the wire format and the authentication, and no more (docs/dbus.md gives the reasons). Set
WIFIMGRD_DBUS_LIBRARY=dbus_fast for its maintained fork.

Private names of the library that are used here, as no public one does the same:

- `_private.unmarshaller.Unmarshaller`: reads a message of octets. The public way reads the socket itself.
- `SignatureTree._get`: the signature of a variant, from the library's cache. The public way parses it again.
- `Message._marshall`: the octets of a message. The public way writes them to the socket itself.
- `MessageBus._sock`, `_negotiate_unix_fd`: the socket after authentication, for `transport.py`.
- `MessageBus._stream`, `_disconnect_future`, `_user_disconnect`, `_finalize`: to close a connection that was
  not set up whole, of which the library keeps the socket.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
import struct
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from wifimgrd.bus.messages import BusClosed, MethodCall, Reply, Signal
from wifimgrd.bus.packing import ROWS_SIGNATURE, PackedRows

LIBRARY: Final = os.environ.get("WIFIMGRD_DBUS_LIBRARY", "dbus_next")
_library: Any = importlib.import_module(LIBRARY)
_aio: Any = importlib.import_module(LIBRARY + ".aio")
introspection: Any = importlib.import_module(LIBRARY + ".introspection")
_constants: Any = importlib.import_module(LIBRARY + ".constants")
_Unmarshaller: Any = importlib.import_module(LIBRARY + "._private.unmarshaller").Unmarshaller
_MessageType: Any = _constants.MessageType
_MessageFlag: Any = _constants.MessageFlag
Message: Any = _library.Message
"""A message to send."""
Variant: Any = _library.Variant
"""`Variant(signature, value)`: a value for `v` in an outgoing body."""


def unpack(value: Any) -> Any:
    """Take every variant out of a value, at any depth; `ay` is bytes."""
    if isinstance(value, Variant):
        return unpack(value.value)
    if isinstance(value, bytearray):  # so dbus-fast before 2.0
        return bytes(value)
    if isinstance(value, list | tuple):
        return [unpack(item) for item in value]
    if isinstance(value, dict):
        return {unpack(key): unpack(item) for key, item in value.items()}
    return value


# -- a connection


async def connect(bus: str, timeout_s: float, *, sockets: bool) -> Any:
    """The library's connection to `system`, `session` or a D-Bus address; raises BusClosed.

    In two steps, because the library opens the socket in the constructor and leaks it there on errors.
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
    except Exception as error:  # noqa: BLE001 - the library raises exceptions of any kind
        _close_sockets(connection)
        raise BusClosed(f"cannot connect to the message bus {bus}: {error}") from None
    return connection


def take_over_socket(connection: Any) -> tuple[socket.socket, bool]:
    """The connection's socket, which the library stops reading, and whether it passes descriptors."""
    taken: socket.socket = connection._sock
    asyncio.get_running_loop().remove_reader(taken.fileno())
    return taken, bool(connection._negotiate_unix_fd)


def disconnect(connection: Any) -> None:
    """Release all that the library holds of a connection."""
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


# -- outgoing messages


def method_call(
    destination: str,
    path: str,
    interface: str,
    member: str,
    signature: str,
    body: Sequence[Any],
    *,
    expects_reply: bool = True,
    interactive: bool = False,
) -> Any:
    """A method call; `interactive` allows the other side to have the user asked for a password."""
    flags = _MessageFlag.NONE if expects_reply else _MessageFlag.NO_REPLY_EXPECTED
    if interactive:
        flags |= _MessageFlag.ALLOW_INTERACTIVE_AUTHORIZATION
    return Message(
        destination=destination,
        path=path,
        interface=interface,
        member=member,
        flags=flags,
        signature=signature,
        body=list(body),
    )


def method_return(
    destination: str, serial: int, signature: str, body: Sequence[Any], descriptors: Sequence[int]
) -> Any:
    """The reply to the call with that serial; in the body, an `h` is the index of one of the descriptors."""
    return Message(
        destination=destination,
        message_type=_MessageType.METHOD_RETURN,
        reply_serial=serial,
        signature=signature,
        body=list(body),
        unix_fds=list(descriptors),
    )


class PackedReturn:
    """The answer to a call, its body packed before."""

    def __init__(self, destination: str, serial: int, body: PackedRows) -> None:
        self.serial = 0
        self._empty = method_return(destination, serial, ROWS_SIGNATURE, [[]], [])
        self._body = body

    def octets(self) -> bytes:
        """The message as it goes over the wire: that of an empty list, with another body."""
        self._empty.serial = self.serial
        whole = bytes(self._empty._marshall(False))
        return b"".join((whole[:4], struct.pack("<I", len(self._body)), whole[8:-4], self._body))


def error(destination: str, serial: int, name: str, signature: str, body: Sequence[Any]) -> Any:
    """The error reply to the call with that serial."""
    return Message(
        destination=destination,
        message_type=_MessageType.ERROR,
        reply_serial=serial,
        error_name=name,
        signature=signature,
        body=list(body),
    )


def signal(path: str, interface: str, member: str, signature: str, body: Sequence[Any]) -> Any:
    """A broadcast signal."""
    return Message(
        path=path,
        interface=interface,
        member=member,
        message_type=_MessageType.SIGNAL,
        signature=signature,
        body=list(body),
    )


def to_octets(message: Any, *, sockets: bool) -> bytes:
    """A message with its serial in the wire format; `sockets` is whether it carries some."""
    return message.octets() if isinstance(message, PackedReturn) else bytes(message._marshall(sockets))


# -- incoming messages


class _DictionaryReader(_Unmarshaller):  # type: ignore[misc]
    """Reads dictionaries of variants some ten times faster; values in a body come without their variants."""

    offset: int
    _is_in_header = False

    def read_variant(self, type_: Any = None) -> Any:
        if self._is_in_header:
            return super().read_variant(type_)
        return self.read_argument(_SignatureTree._get(self.read_signature()).types[0])

    def read_array(self, type_: Any) -> Any:
        if self.offset == _HEADER_FIELDS:
            self._is_in_header = True
            fields = super().read_array(type_)
            self._is_in_header = False
            return fields
        entry = type_.children[0]
        if entry.signature != "{sv}":
            return super().read_array(type_)
        order = "<" if self.endian == _LITTLE_ENDIAN else ">"
        length, buffer = self.read_uint32(), self.buf
        self.align(8)
        offset = self.offset
        end = offset + length
        result: dict[str, Any] = {}
        while offset < end:
            key, offset = _read_text(buffer, offset + (-offset & 7), order)
            kind = chr(buffer[offset + 1]) if buffer[offset] == 1 else ""
            if kind in _TEXTS:
                value, offset = _read_text(buffer, offset + 3 + (-(offset + 3) & 3), order)
            elif kind in _NUMBERS:
                size = _NUMBERS[kind]
                at = offset + 3 + (-(offset + 3) & (size - 1))
                (value,) = struct.unpack_from(order + _LAYOUTS[kind], buffer, at)
                offset = at + size
            else:
                self.offset = offset
                value = self.read_variant()
                offset = self.offset
            result[key] = value
        if offset != end:
            raise ValueError("a dictionary does not end where it says")
        self.offset = end
        return result


_SignatureTree: Any = importlib.import_module(LIBRARY + ".signature").SignatureTree
_LITTLE_ENDIAN: Final = ord("l")
_HEADER_FIELDS: Final = 12
"""Where the header's fields begin in each message, an array of structures with variants."""
_TEXTS: Final = frozenset("so")
_LAYOUTS: Final = {"y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d"}
_NUMBERS: Final = {kind: struct.calcsize("=" + layout) for kind, layout in _LAYOUTS.items()}


def _read_text(buffer: bytearray, offset: int, order: str) -> tuple[str, int]:
    (length,) = struct.unpack_from(order + "I", buffer, offset)
    end = offset + 4 + length
    if end >= len(buffer):
        raise ValueError("a text does not end within the message")
    return buffer[offset + 4 : end].decode(), end + 1


_Reader: Any = _DictionaryReader if LIBRARY == "dbus_next" else _Unmarshaller


def read(octets: bytes) -> Signal | MethodCall | Reply:
    """Parse a complete message; raises ValueError where the library cannot."""
    try:
        message = _Reader(BytesIO(octets)).unmarshall()
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
