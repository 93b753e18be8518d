"""systemd-networkd's root object, and what its links signal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError, Watch
from wifimgrd.bus.proxy import Proxy
from wifimgrd.bus.values import typed
from wifimgrd.proxies.networkd import definitions
from wifimgrd.proxies.networkd.definitions import LinkDescription

_FIRST_DIGIT: Final = re.compile("/_3([0-9])([0-9]*)$")


def _index(path: str) -> int:
    """The index of a link by its object path, in which the first digit is escaped:
    https://www.freedesktop.org/software/systemd/man/252/sd_bus_path_encode.html"""
    found = _FIRST_DIGIT.search(path)
    return int("".join(found.groups())) if found else 0


def description_in(text: str) -> LinkDescription:
    """A link's description; empty if the text is not one."""
    try:
        return typed(LinkDescription, json.loads(text))
    except (ValueError, BusError):
        return {}


class Networkd(Proxy):
    """The root object."""

    SERVICE = definitions.NETWORK1
    INTERFACE = definitions.NETWORK1_MANAGER
    TIMEOUT_S = 10.0

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.NETWORK1_PATH)

    async def owner(self) -> str:
        """Its unique name on the bus, empty while it does not run: it connects once it handles calls."""
        return await self.connection.name_owner(self.SERVICE) or ""

    async def is_running(self) -> bool:
        """Whether it has its bus name."""
        return bool(await self.owner())

    async def reload(self) -> None:
        """Read the .network files again and reconfigure the links whose file is another one now."""
        await self.call("Reload")

    async def reconfigure(self, index: int) -> None:
        """Configure a link from the beginning: its lease is dropped, and another one requested."""
        await self.call("ReconfigureLink", "i", [index])

    async def describe(self, index: int) -> LinkDescription:
        """A link's state and addresses; empty where networkd does not have the link."""
        try:
            return description_in(await self.ask(str, "DescribeLink", "i", [index]))
        except BusError as error:
            if error.name == definitions.NO_SUCH_LINK:
                return {}
            raise

    async def watch_links(self, handler: Callable[[int], None]) -> Watch:
        """Subscribe to changes of the links' properties; the handler gets the kernel's index of the link."""
        return await self.connection.watch(
            lambda signal: handler(_index(signal.path)),
            sender=self.SERVICE,
            path_namespace=f"{self.path}/link",
            interface=names.PROPERTIES,
            member="PropertiesChanged",
            arg0=definitions.NETWORK1_LINK,
        )
