"""NetworkManager on a message bus, for the helper: a profile of the hub's, and one of the host's."""

from __future__ import annotations

from typing import Any

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, MethodCall, Variant
from wifimgrd.proxies.networkmanager import definitions as nm

DEVICE = nm.NM_PATH + "/Devices/3"
HUBS, HOSTS = nm.NM_PATH + "/Settings/1", nm.NM_PATH + "/Settings/2"
HUBS_ACTIVE, HOSTS_ACTIVE = (nm.NM_PATH + f"/ActiveConnection/{number}" for number in (1, 2))
_MARKED = {"user": {"data": Variant("a{ss}", {nm.PROFILE_MARK: "7"})}}


class FakeNetworkManager:
    """It may refuse or hang."""

    def __init__(self, connection: BusConnection) -> None:
        self.connection = connection
        self.changed: list[tuple[str, str, Any]] = []
        """What was changed: the object, the method and its arguments."""
        self.refusal = ""
        self.refused = ""
        """The method that alone is refused."""
        self.hangs = False
        connection.serve(self._called)

    def _called(self, call: MethodCall) -> None:
        if self.refusal:
            self.connection.reply_error(call, self.refusal, "it is refused")
        elif not self.hangs:
            self._reply(call)

    def _reply(self, call: MethodCall) -> None:
        match call.interface, call.member:
            case names.PROPERTIES, "Get":
                profile = HUBS if call.path == HUBS_ACTIVE else HOSTS
                assert call.body == [nm.NM_ACTIVE, "Connection"]
                self.connection.reply(call, "v", [Variant("o", profile)])
                return
            case nm.NM_SETTINGS_CONNECTION, "GetSettings":
                settings = {
                    "connection": {"id": Variant("s", "Home")},
                    **(_MARKED if call.path == HUBS else {}),
                }
                self.connection.reply(call, "a{sa{sv}}", [settings])
                return
            case nm.NM, "GetDeviceByIpIface":
                self.connection.reply(call, "o", [DEVICE])
                return
        self.changed.append((call.path, call.member, call.body))
        match call.member:
            case self.refused:
                self.connection.reply_error(call, nm.NM + ".Failed", "it is refused")
            case "AddAndActivateConnection2":
                self.connection.reply(call, "ooa{sv}", [HUBS, HUBS_ACTIVE, {}])
            case "AddConnection2":
                self.connection.reply(call, "oa{sv}", [HUBS, {}])
            case "ActivateConnection":
                self.connection.reply(call, "o", [HUBS_ACTIVE])
            case _:
                self.connection.reply(call)
