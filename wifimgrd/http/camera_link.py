"""Connections to one camera, through its own interface: to nothing else can they lead."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

CAMERA_PORT: Final = 80
CONNECT_S: Final = 5.0


class CameraConnector(aiohttp.BaseConnector):
    """Opens connections to one address through one interface, whatever a request's URL says.

    The binding (SO_BINDTODEVICE) is what tells cameras with one address apart; since Linux 5.7 it needs no
    privilege.
    """

    def __init__(self, interface: str, address: str) -> None:
        super().__init__(force_close=True)
        self._interface = interface
        self._address = address

    async def _create_connection(  # aiohttp decides the names
        self,
        req: Any,
        traces: Any,
        timeout: Any,  # noqa: ASYNC109
    ) -> ResponseHandler:
        """What aiohttp asks of a connector of another kind, as its UnixConnector does it."""
        del traces, timeout
        loop = asyncio.get_running_loop()
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self._interface.encode())
            async with asyncio.timeout(CONNECT_S):
                await loop.sock_connect(one, (self._address, CAMERA_PORT))
                _, protocol = await loop.create_connection(self._factory, sock=one)
        except OSError as error:  # TimeoutError is one
            one.close()
            raise aiohttp.ClientConnectorError(req.connection_key, error) from error
        except BaseException:
            one.close()
            raise
        return protocol
