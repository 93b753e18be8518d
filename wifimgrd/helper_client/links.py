"""Addresses on the hub's adapters, which systemd-networkd takes for the helper."""

from __future__ import annotations

from wifimgrd.helper_client.helper import Helper
from wifimgrd.proxies.networkd.definitions import SETTINGS_FILE, SETTINGS_FOLDER


class HelperLinks(Helper):
    """The helper's methods for the addresses of links; each raises BusError, BusClosed, TimeoutError."""

    TIMEOUT_S = 40.0
    """The helper may have to start networkd, and waits for it and for what it answers."""

    async def configure_link(self, interface: str, local_address: str) -> None:
        """Have the interface take `local_address`, with its prefix such as `192.168.54.2/24`, once it has a
        carrier; or an address by DHCP, if that is empty, once `request_lease` is called."""
        await self.call("ConfigureLink", "ss", [interface, local_address])

    async def request_lease(self, interface: str) -> None:
        """Have the interface, which is associated, request its address by DHCP from the beginning."""
        await self.call("RequestLease", "s", [interface])

    async def release_link(self, interface: str) -> None:
        """Have the interface lose that address; it may be gone."""
        await self.call("ReleaseLink", "s", [interface])

    @staticmethod
    def are_configured() -> bool:
        """Whether the helper has had networkd take addresses, for this daemon or an earlier one."""
        return (SETTINGS_FOLDER / SETTINGS_FILE).exists()

    async def clear(self) -> None:
        """Have networkd take no more addresses; the cameras' routes and rules end, too."""
        await self.call("Clear")
