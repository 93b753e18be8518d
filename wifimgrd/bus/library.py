"""The D-Bus library: the only module that imports it. It connects, and builds and parses messages.

dbus-next 0.2.3 does the wire format and the authentication, and no more (docs/architecture.md says why). Set
WIFIMGRD_DBUS_LIBRARY=dbus_fast for its maintained fork.

This module uses private names of the library where no public name does the same:

- `_private.unmarshaller.Unmarshaller`: reads a message from bytes. The public way reads the socket itself.
- `SignatureTree._get`: the signature of a variant, from the library's cache. The public way parses it again.
- `Message._marshall`: the bytes of a message. The public way writes them to the socket itself.
- `MessageBus._sock`, `_negotiate_unix_fd`: the socket after authentication, for the transport.
- `MessageBus._stream`, `_disconnect_future`, `_user_disconnect`, `_finalize`: to close a connection that was
  only partly set up; the library keeps its socket.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
import struct
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Final, Protocol

from wifimgrd.bus._messages import BusClosed, MethodCall, Reply, Signal
from wifimgrd.bus.packing import PackedBody

LIBRARY: Final = os.environ.get("WIFIMGRD_DBUS_LIBRARY", "dbus_next")
_library = importlib.import_module(LIBRARY)
_aio = importlib.import_module(LIBRARY + ".aio")
introspection = importlib.import_module(LIBRARY + ".introspection")
_constants = importlib.import_module(LIBRARY + ".constants")
_SignatureTree = importlib.import_module(LIBRARY + ".signature").SignatureTree
_MessageType = _constants.MessageType
_MessageFlag = _constants.MessageFlag


class _Type(Protocol):
    """A type of D-Bus in a parsed signature."""

    signature: str
    children: Sequence[_Type]


class _Incoming(Protocol):
    """A message that came."""

    message_type: object
    flags: int
    serial: int
    reply_serial: int
    error_name: str | None
    sender: str | None
    path: str
    interface: str | None
    member: str
    signature: str
    body: list[object]


# The parts of the library's classes that are used here: it ships no types.
if TYPE_CHECKING:

    class Variant:
        """A value for `v` in an outgoing body."""

        signature: str
        value: object

        def __init__(self, signature: str, value: object) -> None: ...

    class _Unmarshaller:
        offset: int
        buf: bytearray
        endian: int

        def __init__(self, stream: BytesIO) -> None: ...
        def unmarshall(self) -> _Incoming: ...

        def align(self, count: int) -> int: ...
        def read_uint32(self) -> int: ...
        def read_signature(self) -> str: ...
        def read_argument(self, type_: _Type) -> object: ...
        def read_array(self, type_: _Type) -> object: ...
        def read_variant(self, type_: _Type | None = None) -> object: ...

else:
    Variant = _library.Variant
    _Unmarshaller = importlib.import_module(LIBRARY + "._private.unmarshaller").Unmarshaller


class Outgoing(Protocol):
    """A message to send."""

    serial: int
    """0 until it is sent."""

    def _marshall(self, negotiate_unix_fd: bool, /) -> bytes | bytearray: ...


class LibraryConnection(Protocol):
    """The library's connection, which has authenticated."""

    unique_name: str | None
    _negotiate_unix_fd: bool
    _sock: socket.socket
    _disconnect_future: asyncio.Future[None]
    _user_disconnect: bool

    def next_serial(self) -> int:
        """A serial that no message of the connection has had."""

    def _finalize(self, error: Exception | None, /) -> None: ...


_WITHOUT_PARTS: Final = frozenset((str, int, bool, float, bytes))


def unpack(value: object) -> object:
    """Take every variant out of a value, at any depth; `ay` is bytes."""
    if type(value) in _WITHOUT_PARTS:  # most are
        return value
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


async def connect(bus: str, timeout_s: float, *, sockets: bool) -> LibraryConnection:
    """The library's connection to `system`, `session` or a D-Bus address; raises BusClosed.

    In two steps, because the library opens the socket in the constructor and leaks it there on errors.
    """
    created = _aio.MessageBus.__new__(_aio.MessageBus)
    connection: LibraryConnection = created
    try:
        if bus in ("system", "session"):
            kind = _constants.BusType.SYSTEM if bus == "system" else _constants.BusType.SESSION
            created.__init__(bus_type=kind, negotiate_unix_fd=sockets)
        else:
            created.__init__(bus_address=bus, negotiate_unix_fd=sockets)
        async with asyncio.timeout(timeout_s):
            await created.connect()
    except asyncio.CancelledError:
        _close_sockets(connection)
        raise
    except Exception as error:  # noqa: BLE001 - the library raises exceptions of any kind
        _close_sockets(connection)
        raise BusClosed(f"cannot connect to the message bus {bus}: {error}") from None
    return connection


def take_over_socket(connection: LibraryConnection) -> tuple[socket.socket, bool]:
    """The connection's socket, which the library stops reading, and whether it passes descriptors."""
    taken = connection._sock
    asyncio.get_running_loop().remove_reader(taken.fileno())
    return taken, connection._negotiate_unix_fd


def disconnect(connection: LibraryConnection) -> None:
    """Release all that the library holds of a connection."""
    if not connection._disconnect_future.done():
        connection._user_disconnect = True
        connection._finalize(None)
    _close_sockets(connection)


def _close_sockets(connection: object) -> None:
    for name in ("_stream", "_sock"):
        closable = getattr(connection, name, None)
        if closable is not None:
            try:
                closable.close()
            except OSError:
                continue


# -- outgoing messages


def _message(**fields: object) -> Outgoing:
    message: Outgoing = _library.Message(**fields)
    return message


def method_call(
    destination: str,
    path: str,
    interface: str,
    member: str,
    signature: str,
    body: Sequence[object],
    descriptors: Sequence[int] = (),
    *,
    expects_reply: bool = True,
    interactive: bool = False,
    auto_start: bool = True,
) -> Outgoing:
    """A method call; in the body, an `h` is the index of one of the descriptors. `interactive` allows the
    other side to have the user asked for a password. Without `auto_start` the bus does not start a service
    that is not running."""
    flags = _MessageFlag.NONE if expects_reply else _MessageFlag.NO_REPLY_EXPECTED
    if interactive:
        flags |= _MessageFlag.ALLOW_INTERACTIVE_AUTHORIZATION
    if not auto_start:
        flags |= _MessageFlag.NO_AUTOSTART
    return _message(
        destination=destination,
        path=path,
        interface=interface,
        member=member,
        flags=flags,
        signature=signature,
        body=list(body),
        unix_fds=list(descriptors),
    )


def method_return(
    destination: str, serial: int, signature: str, body: Sequence[object], descriptors: Sequence[int]
) -> Outgoing:
    """The reply to the call with that serial; in the body, an `h` is the index of one of the descriptors."""
    return _message(
        destination=destination,
        message_type=_MessageType.METHOD_RETURN,
        reply_serial=serial,
        signature=signature,
        body=list(body),
        unix_fds=list(descriptors),
    )


class PackedReturn:
    """The answer to a call, its body packed before."""

    def __init__(self, destination: str, serial: int, body: PackedBody) -> None:
        self.serial = 0
        self._empty = method_return(destination, serial, body.signature, body.empty, [])
        self._body = body

    def _marshall(self, negotiate_unix_fd: bool) -> bytes:
        """The message as it goes over the wire: that of an empty list, with another body."""
        self._empty.serial = self.serial
        whole = bytes(self._empty._marshall(negotiate_unix_fd))
        [empty] = struct.unpack_from("<I", whole, 4)
        return b"".join(
            (whole[:4], struct.pack("<I", len(self._body)), whole[8 : len(whole) - empty], self._body)
        )


def error(destination: str, serial: int, name: str, signature: str, body: Sequence[object]) -> Outgoing:
    """The error reply to the call with that serial."""
    return _message(
        destination=destination,
        message_type=_MessageType.ERROR,
        reply_serial=serial,
        error_name=name,
        signature=signature,
        body=list(body),
    )


def signal(path: str, interface: str, member: str, signature: str, body: Sequence[object]) -> Outgoing:
    """A broadcast signal."""
    return _message(
        path=path,
        interface=interface,
        member=member,
        message_type=_MessageType.SIGNAL,
        signature=signature,
        body=list(body),
    )


def to_bytes(message: Outgoing, *, sockets: bool) -> bytes:
    """A message with its serial in the wire format; `sockets` is whether it carries some."""
    return bytes(message._marshall(sockets))


# -- incoming messages


class _PlainReader(_Unmarshaller):
    """Reads dictionaries of variants, and lists of structures of texts and numbers, several times faster;
    values in a body come without their variants."""

    _is_in_header = False

    def read_variant(self, type_: _Type | None = None) -> object:
        if self._is_in_header:
            return super().read_variant(type_)
        return self.read_argument(_SignatureTree._get(self.read_signature()).types[0])

    def read_array(self, type_: _Type) -> object:
        if self.offset == _HEADER_FIELDS:
            self._is_in_header = True
            fields = super().read_array(type_)
            self._is_in_header = False
            return fields
        entry = type_.children[0].signature
        if entry == "{sv}":
            return self._read_named_values(*self._begin_array())
        if entry[0] == "(" and _PLAIN.issuperset(entry[1:-1]):
            return self._read_structures(entry[1:-1], *self._begin_array())
        return super().read_array(type_)

    def _begin_array(self) -> tuple[int, int]:
        """Where the entries of an array begin and end; each is aligned to 8 bytes."""
        length = self.read_uint32()
        self.align(8)
        return self.offset, self.offset + length

    @property
    def _order(self) -> str:
        return "<" if self.endian == _LITTLE_ENDIAN else ">"

    def _read_structures(self, kinds: str, offset: int, end: int) -> list[list[object]]:
        buffer, order = self.buf, self._order
        result: list[list[object]] = []
        while offset < end:
            offset += -offset & 7
            fields: list[object] = []
            for kind in kinds:
                value, offset = _read_plain(buffer, offset, kind, order)
                fields.append(value)
            result.append(fields)
        self._end_array(offset, end)
        return result

    def _end_array(self, offset: int, end: int) -> None:
        if offset != end:
            raise ValueError("an array does not end where it says")
        self.offset = end

    def _read_named_values(self, offset: int, end: int) -> dict[str, object]:
        buffer, order = self.buf, self._order
        result: dict[str, object] = {}
        while offset < end:
            key, offset = _read_text(buffer, offset + (-offset & 7), order)
            kind = chr(buffer[offset + 1]) if buffer[offset] == 1 else ""
            value: object
            if kind in _PLAIN:
                value, offset = _read_plain(buffer, offset + 3, kind, order)
            else:
                self.offset = offset
                value = self.read_variant()
                offset = self.offset
            result[key] = value
        self._end_array(offset, end)
        return result


_LITTLE_ENDIAN: Final = ord("l")
_HEADER_FIELDS: Final = 12
"""Where the header's fields begin in each message, an array of structures with variants."""
_TEXTS: Final = frozenset("so")
_LAYOUTS: Final = {"y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d"}
_NUMBERS: Final = {kind: struct.calcsize("=" + layout) for kind, layout in _LAYOUTS.items()}
_PLAIN: Final = _TEXTS.union(_NUMBERS)


def _read_plain(buffer: bytearray, offset: int, kind: str, order: str) -> tuple[object, int]:
    """A text or a number of a kind in `_PLAIN`, and where it ends; what precedes it may end at any offset."""
    if kind in _TEXTS:
        return _read_text(buffer, offset + (-offset & 3), order)
    size = _NUMBERS[kind]
    at = offset + (-offset & (size - 1))
    return struct.unpack_from(order + _LAYOUTS[kind], buffer, at)[0], at + size


def _read_text(buffer: bytearray, offset: int, order: str) -> tuple[str, int]:
    (length,) = struct.unpack_from(order + "I", buffer, offset)
    end = offset + 4 + length
    if end >= len(buffer):
        raise ValueError("a text does not end within the message")
    return buffer[offset + 4 : end].decode(), end + 1


_Reader = _PlainReader if LIBRARY == "dbus_next" else _Unmarshaller


def read(data: bytes) -> Signal | MethodCall | Reply:
    """Parse a complete message; raises ValueError where the library cannot."""
    try:
        message = _Reader(BytesIO(data)).unmarshall()
    except Exception as error:
        raise ValueError("the message cannot be understood") from error
    if message is None:  # to the library, more could come
        raise ValueError("the message ends too early")
    body = [unpack(argument) for argument in message.body]
    kind = message.message_type
    if kind is _MessageType.SIGNAL:
        return Signal(message.sender or "", message.path, message.interface or "", message.member, body)
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
