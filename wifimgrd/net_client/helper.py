"""The base class of the daemon's typed proxies for the privileged helper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from wifimgrd.dbus import names
from wifimgrd.dbus.connection import BusConnection, BusError
from wifimgrd.dbus.proxy import Proxy

_START_TIMED_OUT: Final = "org.freedesktop.DBus.Error.TimedOut"


class Helper(Proxy):
    """The helper's object."""

    SERVICE = names.NET_BUS_NAME
    INTERFACE = names.NET

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, names.NET_PATH)

    async def call(
        self,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
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
