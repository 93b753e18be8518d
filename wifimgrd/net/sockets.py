"""Sockets to a camera through its own interface, which tells cameras with one address apart."""

from __future__ import annotations

import asyncio
import errno
import socket
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusConnection, BusError
from wifimgrd.dbus.errors import with_own_errors
from wifimgrd.domain.errors import (
    BackendUnavailable,
    DeviceNotReachable,
    InterfaceLost,
    ServiceRefused,
    WifimgrdError,
)
from wifimgrd.domain.socket_kind import SocketKind

CONNECT_S: Final = 5.0
_ANSWER_S: Final = CONNECT_S + 5.0
_TYPES: Final = {SocketKind.TCP: socket.SOCK_STREAM, SocketKind.UDP: socket.SOCK_DGRAM}
_NO_HELPER: Final = (
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
)


async def open_socket(interface: str, address: IPv4Address, port: int, kind: SocketKind) -> socket.socket:
    """A socket, not blocking, that is connected through `interface`, to a neighbour there and to nobody else.

    Binding to an interface needs no privilege since Linux 5.7. Raises DeviceNotReachable, InterfaceLost, and
    BackendUnavailable where this process has no network.
    """
    try:
        one = socket.socket(socket.AF_INET, _TYPES[kind] | socket.SOCK_NONBLOCK)
    except OSError as error:
        raise BackendUnavailable(f"this process may open no socket: {error.strerror}") from None
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        one.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)
        async with asyncio.timeout(CONNECT_S):
            await asyncio.get_running_loop().sock_connect(one, (str(address), port))
    except OSError as error:  # TimeoutError is one
        one.close()
        raise _reason(error, interface, f"{address} port {port}") from None
    except BaseException:
        one.close()
        raise
    return one


def _reason(error: OSError, interface: str, where: str) -> WifimgrdError:
    if error.errno == errno.ENODEV:
        return InterfaceLost(f"there is no interface {interface}")
    said = error.strerror or f"no answer within {CONNECT_S:g} s"
    kind = ServiceRefused if error.errno == errno.ECONNREFUSED else DeviceNotReachable
    return kind(f"the camera does not answer at {where}: {said}")


class HelpersSockets:
    """A CameraSockets that asks wifimgrd-net, since the daemon's sandbox lets nothing out.

    Where there is none, as in a checkout, it opens them itself.
    """

    def __init__(self, connection: BusConnection) -> None:
        """`connection` can pass sockets."""
        self._connection = connection

    async def open(self, interface: str, address: str, port: int, kind: SocketKind) -> socket.socket:
        """See CameraSockets."""
        with with_own_errors("wifimgrd-net does not answer"):
            try:
                return await self._connection.call_for_socket(
                    names.NET_BUS_NAME,
                    names.NET_PATH,
                    names.NET,
                    "Open",
                    "ssqs",
                    [interface, address, port, kind.value],
                    timeout_s=_ANSWER_S,
                )
            except BusError as error:
                if error.name in _NO_HELPER:
                    return await open_socket(interface, IPv4Address(address), port, kind)
                if error.name == names.NET_REFUSED:
                    raise ServiceRefused(error.message) from None
                raise
