"""Connections to one camera, as the daemon opens them: to nothing else can they lead."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

from wifimgrd.dbus.client.hub import HubClient

CAMERA_PORT: Final = 80


class CameraConnector(aiohttp.BaseConnector):
    """Gets its connections from the daemon, all to one camera, whatever a request's URL says.

    So the shim needs no network of its own, and has none.
    """

    def __init__(self, client: HubClient, device_id: int) -> None:
        super().__init__(force_close=True)
        self._client = client
        self._device_id = device_id

    async def _create_connection(  # aiohttp decides the names
        self,
        req: Any,
        traces: Any,
        timeout: Any,  # noqa: ASYNC109
    ) -> ResponseHandler:
        """What aiohttp asks of a connector of another kind, as its UnixConnector does it."""
        del traces, timeout
        opened = await self._client.open_connection(self._device_id, CAMERA_PORT)
        try:
            _, protocol = await asyncio.get_running_loop().create_connection(self._factory, sock=opened)
        except OSError as error:
            opened.close()
            raise aiohttp.ClientConnectorError(req.connection_key, error) from error
        except BaseException:
            opened.close()
            raise
        return protocol
