"""systemd-networkd's root object, and what its links signal."""

from __future__ import annotations

from collections.abc import Callable

from wifimgrd.dbus import names
from wifimgrd.dbus.connection import BusConnection, Signal, Watch
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

    async def watch_links(self, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to changes of the links' properties."""
        return await self.connection.watch(
            handler,
            sender=self.SERVICE,
            path_namespace=f"{self.path}/link",
            interface=names.PROPERTIES,
            member="PropertiesChanged",
            arg0=definitions.NETWORK1_LINK,
        )
