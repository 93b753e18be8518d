"""The base class of the daemon's typed proxies for the privileged helper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.bus.proxy import Proxy
from wifimgrd.helper import names

_START_TIMED_OUT: Final = "org.freedesktop.DBus.Error.TimedOut"


class Helper(Proxy):
    """The helper's object."""

    SERVICE = names.BUS_NAME
    INTERFACE = names.INTERFACE

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, names.PATH)

    async def call(
        self,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
        on_reply: Callable[[list[object]], None] | None = None,
    ) -> list[object]:
        """See Proxy; the helper is started where it does not run.

        dbus-daemon waits 25 s for a service that it has asked systemd to start, also where systemd has long
        failed to. A call in that time waits for the same start and fails with it, so it is made once more.
        """
        try:
            return await super().call(member, signature, body, on_reply)
        except BusError as error:
            if error.name != _START_TIMED_OUT:
                raise
        return await super().call(member, signature, body, on_reply)
