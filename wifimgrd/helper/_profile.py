"""The profile of a link in NetworkManager: all that the daemon can have it activate."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Final

from wifimgrd.bus.connection import Variant
from wifimgrd.helper._supplicant import Network
from wifimgrd.proxies.networkmanager.definitions import PROFILE_MARK, WIRELESS_TYPE
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement

_POWER_SAVE_OFF: Final = 2
_TABLES: Final = 0x774A0000
"""A link's routes are in a table of their own, of this number and the device's id, which no rule selects: so
nothing that a lease says changes where the host sends anything. The plan has the routes that are used."""
_LARGEST_ID: Final = 0xFFFF
"""Of the part of a device's id that is in the number of its table."""
_METRIC: Final = 30_000
"""Of a link's routes; those of an earlier version in the table `main` are recognized by it."""
_MTU: Final = 1500
"""Of 802.11 as Linux sets it; set here, because the MTU of a lease would be applied otherwise."""
_METRICS: Final = 10_000
"""Each device has a metric of its own, because the kernel treats equal routes as one."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A link that is to come up once: https://networkmanager.dev/docs/api/1.42/ref-settings.html."""

    interface: str
    network: Network
    uuid: str
    dhcp_timeout_s: int
    local_address: IPv4Interface | None = None
    """The host's address on the link, where the camera has no DHCP server."""

    @property
    def settings(self) -> dict[str, dict[str, Variant]]:
        """As AddAndActivateConnection2 takes them.

        Routes, name servers, host name and MTU of a lease are not applied; the route to its subnet has a
        table of its own. NetworkManager drops the whole setting where `cloned-mac-address` is a string, so
        the permanent address is selected with `assigned-mac-address`. With a BSSID only that access point is
        joined, and NetworkManager configures no background scan, which interrupts traffic at a weak signal.
        """
        network, device_id = self.network, self.network.device_id
        settings: dict[str, dict[str, Variant]] = {
            "connection": {
                "id": Variant("s", f"wifimgrd-{device_id}"),
                "uuid": Variant("s", self.uuid),
                "type": Variant("s", WIRELESS_TYPE),
                "interface-name": Variant("s", self.interface),
                "autoconnect": Variant("b", False),
                "auth-retries": Variant("i", 1),
            },
            WIRELESS_TYPE: {
                "ssid": Variant("ay", network.ssid.data),
                "mode": Variant("s", "infrastructure"),
                "powersave": Variant("u", _POWER_SAVE_OFF),
                "assigned-mac-address": Variant("s", "permanent"),
                "mtu": Variant("u", _MTU),
            },
            "ipv4": {
                **self._addressing(),
                "never-default": Variant("b", True),
                "ignore-auto-routes": Variant("b", True),
                "route-table": Variant("u", _TABLES + device_id % (_LARGEST_ID + 1)),
                "route-metric": Variant("x", _METRIC + device_id % _METRICS),
                "may-fail": Variant("b", False),
            },
            "ipv6": {"method": Variant("s", "disabled")},
            "hostname": {"from-dhcp": Variant("i", 0), "from-dns-lookup": Variant("i", 0)},
            "user": {"data": Variant("a{ss}", {PROFILE_MARK: str(device_id)})},
        }
        if network.bssid:
            settings[WIRELESS_TYPE]["bssid"] = Variant("ay", bytes.fromhex(network.bssid.replace(":", "")))
        if network.hidden:
            settings[WIRELESS_TYPE]["hidden"] = Variant("b", True)
        if network.key_management is not KeyManagement.NONE:
            settings[WIRELESS_TYPE + "-security"] = {"key-mgmt": Variant("s", network.key_management.value)}
        if network.key_management.has_password:
            settings[WIRELESS_TYPE + "-security"]["psk"] = Variant("s", network.passphrase.reveal())
        return settings

    def _addressing(self) -> dict[str, Variant]:
        """The IPv4 method: DHCP from the camera, or the fixed address that the camera's model needs."""
        if self.local_address is None:
            return {
                "method": Variant("s", "auto"),
                "ignore-auto-dns": Variant("b", True),
                "dhcp-timeout": Variant("i", self.dhcp_timeout_s),
            }
        address, prefix = self.local_address.ip, self.local_address.network.prefixlen
        data = {"address": Variant("s", str(address)), "prefix": Variant("u", prefix)}
        return {"method": Variant("s", "manual"), "address-data": Variant("aa{sv}", [data])}
