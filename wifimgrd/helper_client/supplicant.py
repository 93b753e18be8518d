"""What the helper does in wpa_supplicant for the daemon."""

from __future__ import annotations

from wifimgrd.helper.names import NetworkArguments
from wifimgrd.helper_client.helper import Helper
from wifimgrd.ports import JoinRequest
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement


class HelperSupplicant(Helper):
    """The helper's methods for wpa_supplicant, whose own errors are passed on; each raises BusError,
    BusClosed, TimeoutError."""

    TIMEOUT_S = 10.0

    async def register_interface(self, interface: str) -> str:
        """Register the interface, and return its object path."""
        return await self.ask(str, "RegisterInterface", "s", [interface])

    async def add_network(self, request: JoinRequest, key_management: KeyManagement, bssid: str) -> str:
        """Configure the network of an attempt, disabled, and return its object path."""
        arguments = network_arguments(request, key_management, bssid)
        return await self.ask(str, "AddNetwork", "staysssb", arguments)

    async def limit_networks(self, interface: str, bssid: str) -> None:
        """Have the interface's networks be joined at this access point alone."""
        await self.call("LimitNetworks", "ss", [interface, bssid])

    async def set_country(self, interface: str, country: str) -> None:
        """Set the regulatory domain."""
        await self.call("SetCountry", "ss", [interface, country])


def network_arguments(request: JoinRequest, key_management: KeyManagement, bssid: str) -> NetworkArguments:
    """As the call `AddNetwork` takes them."""
    return NetworkArguments(
        request.interface,
        request.device_id,
        request.ssid.octets,
        key_management.value,
        request.passphrase.reveal() if key_management.has_password else "",
        bssid,
        request.hidden,
    )
