"""systemd-networkd's objects: the root, and a link."""

from __future__ import annotations

from wifimgrd.dbus.connection import BusConnection
from wifimgrd.dbus.proxy import Proxy
from wifimgrd.networkd import definitions


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

    async def describe(self, index: int) -> str:
        """A link's state, addresses, routes and lease, as JSON."""
        [description] = await self.call("DescribeLink", "i", [index])
        return str(description)


class NetworkdLink(Proxy):
    """A link, by the kernel's index."""

    SERVICE = definitions.NETWORK1
    INTERFACE = definitions.NETWORK1_LINK

    def __init__(self, connection: BusConnection, index: int) -> None:
        number = str(index)  # an object path's element that begins with a digit is escaped
        super().__init__(connection, f"{definitions.NETWORK1_PATH}/link/_{ord(number[0]):x}{number[1:]}")
