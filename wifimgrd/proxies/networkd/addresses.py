"""The IPv4 addresses in networkd's description of a link."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from typing import Final

from wifimgrd.proxies.networkd.definitions import DescribedAddress, LinkDescription

_IPV4: Final = 2
_OWN: Final = ("DHCPv4", "static")
_CONFIGURED: Final = "configured"
_SET: Final = frozenset({"configuring", _CONFIGURED})
_REMOVING: Final = "removing"


@dataclass(frozen=True, slots=True)
class AddressState:
    """An address, and what networkd does with it."""

    lease: IPv4Interface
    server: str
    """The address of the DHCP server that gave it; empty for a static one."""
    is_own: bool
    """networkd has it by the link's file, not from another program. One that it still deletes when it reads
    another file is foreign from then on."""
    states: frozenset[str]

    @property
    def is_set(self) -> bool:
        """The link has it, and networkd is not about to delete it.

        networkd describes a static address from its file on, as `requesting` while the link has no carrier,
        and each address until the kernel has confirmed its end.
        """
        return self.is_own and not self.states.isdisjoint(_SET) and _REMOVING not in self.states

    @property
    def is_withdrawn(self) -> bool:
        """It is deleted before the kernel has confirmed that it was set."""
        return _REMOVING in self.states and _CONFIGURED not in self.states

    @property
    def is_stranded(self) -> bool:
        """It was withdrawn, and networkd waits for its end, which a kernel that never had it does not report.

        Until then networkd does not set this address, whatever lease it gets. systemd 252 is left so by a
        configuration anew, or the loss of the carrier, between a lease and its address:
        `dhcp4_remove_address_and_routes` in
        https://github.com/systemd/systemd/blob/v252/src/network/networkd-dhcp4.c
        """
        return self.states == {_REMOVING}


def addresses_in(description: LinkDescription) -> list[AddressState]:
    """The IPv4 addresses; none where the description is not valid.

    The description's `ConfigProvider` is the DHCP server:
    https://www.freedesktop.org/software/systemd/man/252/org.freedesktop.network1.html
    """
    try:
        return [_read(one) for one in description.get("Addresses", ()) if one["Family"] == _IPV4]
    except (ValueError, KeyError):
        return []


def _read(described: DescribedAddress) -> AddressState:
    lease = IPv4Interface((bytes(described["Address"]), described["PrefixLength"]))
    provider = described.get("ConfigProvider")
    server = str(IPv4Address(bytes(provider))) if provider else ""
    states = frozenset(described["ConfigState"].split(","))
    return AddressState(lease, server, described["ConfigSource"] in _OWN, states)
