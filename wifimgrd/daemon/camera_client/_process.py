"""The process `wifimgrd-camera`, as its two users in the daemon have it: calls, and whether it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import structlog

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange
from wifimgrd.bus.proxy import Proxy
from wifimgrd.domain.errors import Unconfirmed, WifimgrdError
from wifimgrd.wire import camera_calls as calls
from wifimgrd.wire.errors import error_of_reply
from wifimgrd.wire.names import ERROR_PREFIX
from wifimgrd.wire.private_calls import Member

_log = structlog.get_logger()

NO_ANSWER: Final = "wifimgrd-camera does not answer"
NOT_INSTALLED: Final = "wifimgrd-camera is not installed: apt install wifimgrd-camera"


class CameraProcess(Proxy):
    """The object of the camera process."""

    SERVICE = INTERFACE = calls.BUS_NAME

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, calls.PATH)

    async def carry_out(
        self,
        method: Member,
        body: Sequence[object],
        limit_s: float,
        unavailable: Callable[[str], WifimgrdError],
        on_reply: Callable[[list[object]], None] | None = None,
    ) -> list[object]:
        """Call a method, which starts the process; raises the errors of the tree, and `unavailable` for what
        befalls the process itself, or if it is not installed."""
        try:
            return await self.connection.call(
                *(self.SERVICE, self.path, self.INTERFACE, method.name, method.signature),
                *(body, limit_s, on_reply),
            )
        except BusError as error:
            if error.name in names.NOT_RUNNING:
                raise unavailable(NOT_INSTALLED) from None
            if not error.name.startswith(ERROR_PREFIX):
                _log.warning(
                    "camera_process_failed", member=method.name, error=error.name, reason=error.message
                )
                raise unavailable(NO_ANSWER) from None
            raise error_of_reply(error) from None
        except (BusClosed, TimeoutError):
            raise unavailable(NO_ANSWER) from None

    async def watch_running(self, handler: Callable[[OwnerChange], None]) -> None:
        """Call `handler` when the process starts and ends; raises as a call does."""
        await self.connection.watch_owner(handler, self.SERVICE)


def unanswered(unavailable: type[WifimgrdError]) -> Callable[[str], WifimgrdError]:
    """Why the process has not answered a command to a camera: it has had it, and the camera may have done it,
    unless the process is not there."""

    def why(reason: str) -> WifimgrdError:
        return Unconfirmed(reason) if reason == NO_ANSWER else unavailable(reason)

    return why
