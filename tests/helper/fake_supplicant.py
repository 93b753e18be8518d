"""wpa_supplicant on a message bus, for the helper."""

from __future__ import annotations

import math
from typing import Any

from wifimgrd.bus.connection import BusConnection, MethodCall, Variant
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS_INVALID_ARGUMENTS

PATH = "/fi/w1/wpa_supplicant1/Interfaces/3"
NETWORKS = [PATH + "/Networks/0", PATH + "/Networks/1"]


class FakeSupplicant:
    """It may refuse or hang."""

    def __init__(self, connection: BusConnection) -> None:
        self.connection = connection
        self.given: list[tuple[str, Any]] = []
        self.refusal = ""
        self.refused_times = math.inf
        self.hangs = False
        self.unknown: set[str] = set()
        """Properties that it lacks."""
        connection.serve(self._called)

    def _called(self, call: MethodCall) -> None:
        self.given.append((call.member, call.body))
        if self.refusal and len(self.given) <= self.refused_times:
            self.connection.reply_error(call, self.refusal, "it is refused")
        elif not self.hangs:
            self._reply(call)

    def _reply(self, call: MethodCall) -> None:
        match call.member:
            case "AddNetwork":
                self.connection.reply(call, "o", [NETWORKS[0]])
            case "Get":
                self.connection.reply(call, "v", [Variant("ao", NETWORKS)])
            case "Set" if call.body[1] in self.unknown:
                self.connection.reply_error(call, WPAS_INVALID_ARGUMENTS, "there is no such property")
            case "Set":
                self.connection.reply(call)
            case _:
                self.connection.reply(call, "o", [PATH])
