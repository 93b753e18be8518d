"""Sockets to cameras, which the daemon passes in: each is given to who wants it, or closed."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable
from dataclasses import dataclass

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    BackendUnavailable,
    ErrorCode,
    InvalidRequest,
    NotConnected,
    ServiceRefused,
    WifimgrdError,
    error_of,
)
from wifimgrd.wire import camera_names as names


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A socket that somebody waits for."""

    device_id: DeviceId
    answer: asyncio.Future[socket.socket]


class WantedSockets:
    """The sockets that are waited for, a bounded number of them."""

    def __init__(self, ask: Callable[[int, DeviceId, int], None], limit_s: float = names.WANTED_S) -> None:
        """`ask` asks the daemon for one: its serial, the camera, the port."""
        self._ask = ask
        self._limit_s = limit_s
        self._serials = itertools.count(1)
        self._wanted: dict[int, _Wanted] = {}
        """By serial."""

    async def open(self, device_id: DeviceId, port: int) -> socket.socket:
        """An OpenCameraSocket, by the daemon; raises NotConnected when the camera is detached meanwhile."""
        of_this_camera = sum(one.device_id == device_id for one in self._wanted.values())
        if of_this_camera >= names.MOST_WANTED_OF_ONE or len(self._wanted) >= names.MOST_WANTED:
            raise BackendUnavailable("too many connections to cameras are being opened")
        serial = next(self._serials)
        answer: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()
        self._wanted[serial] = _Wanted(device_id, answer)
        try:
            self._ask(serial, device_id, port)
            async with asyncio.timeout(self._limit_s):
                return await answer
        except BaseException as error:
            # It may have come at the last moment.
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                answer.result().close()
            if isinstance(error, TimeoutError):
                raise BackendUnavailable("wifimgrd has opened no connection to the camera in time") from None
            raise
        finally:
            del self._wanted[serial]

    def give(self, serial: int, passed: list[socket.socket]) -> None:
        """A socket has come: it is taken out of `passed`. Raises InvalidRequest if nobody waits for it, or it
        is not a socket."""
        wanted = self._waiting(serial)
        if len(passed) != 1:
            raise InvalidRequest("a socket was to come")
        given = passed.pop()
        given.setblocking(False)
        wanted.answer.set_result(given)

    def refuse(self, serial: int, code: str, message: str) -> None:
        """There will be none; raises InvalidRequest if nobody waits for it, or the code is not known."""
        wanted = self._waiting(serial)
        wanted.answer.set_exception(_error(code, message))

    def end(self, device_id: DeviceId | None = None) -> None:
        """The camera, or each camera, is detached: nothing is waited for any longer."""
        for wanted in self._wanted.values():
            if device_id in (None, wanted.device_id) and not wanted.answer.done():
                wanted.answer.set_exception(NotConnected("the camera is no longer connected"))

    def _waiting(self, serial: int) -> _Wanted:
        wanted = self._wanted.get(serial)
        if wanted is None or wanted.answer.done():
            raise InvalidRequest(f"nobody waits for socket {serial}")
        return wanted


def _error(code: str, message: str) -> WifimgrdError:
    if code == names.PORT_REFUSED:
        return ServiceRefused(message)
    try:
        return error_of(ErrorCode(code), message)
    except ValueError:
        raise InvalidRequest(f"there is no code {code!r}") from None
