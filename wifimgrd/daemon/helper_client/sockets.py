"""Sockets to cameras, which the helper opens for the daemon."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import ServiceRefused
from wifimgrd.kernel.sockets import CONNECT_S, open_socket
from wifimgrd.wire import helper_calls as calls
from wifimgrd.wire.errors import with_own_errors

_ANSWER_S: Final = CONNECT_S + 5.0


class HelperSockets:
    """A CameraSockets that uses wifimgrd-net, because the daemon's sandbox has no IP network access.

    Where there is no wifimgrd-net, as in a checkout, it opens the sockets itself.
    """

    def __init__(self, connection: BusConnection) -> None:
        """`connection` must support passing sockets."""
        self._connection = connection

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        """See CameraSockets."""
        with with_own_errors("wifimgrd-net does not answer"):
            try:
                return await self._connection.call_for_socket(
                    calls.BUS_NAME,
                    calls.PATH,
                    calls.BUS_NAME,
                    calls.OPEN.name,
                    calls.OPEN.signature,
                    [device_id, port, kind.value],
                    timeout_s=_ANSWER_S,
                )
            except BusError as error:
                if error.name in names.NOT_RUNNING:
                    return await open_socket(interface, IPv4Address(address), port, kind)
                if error.name == calls.REFUSED:
                    raise ServiceRefused(error.message) from None
                raise
