"""Connections to one camera, opened by the daemon: they cannot lead to another host."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.http.head_limits import bound_heads

CAMERA_PORT: Final = 80


class CameraConnector(aiohttp.BaseConnector):
    """Gets its connections from the daemon, all to one camera, whatever host a request's URL has.

    So the shim needs no network access of its own, and has none.
    """

    def __init__(self, client: HubClient, device_id: int) -> None:
        super().__init__(force_close=True)
        bound_heads(self)
        self._client = client
        self._device_id = device_id

    async def _create_connection(  # the name is aiohttp's
        self,
        req: Any,
        traces: Any,
        timeout: Any,  # noqa: ASYNC109
    ) -> ResponseHandler:
        """The method that aiohttp expects of a connector of another kind, as in its UnixConnector."""
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
