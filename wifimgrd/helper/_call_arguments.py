"""The arguments of the helper's calls, as values that have been checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Interface
from typing import Final

import structlog

from wifimgrd.domain.addresses import (
    LARGEST_PREFIX,
    SMALLEST_PREFIX,
    AcceptedPort,
    AddressPlan,
    is_private,
    parse_network,
)
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.helper._interfaces import index_of_camera, index_of_wireless
from wifimgrd.helper._link_files import LinkConfiguration
from wifimgrd.helper._plan import Camera, Plan
from wifimgrd.helper._policy import Policy
from wifimgrd.helper._profile import Profile
from wifimgrd.helper._supplicant import Network
from wifimgrd.kernel.links import permanent_address
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.wire.helper_calls import CameraEntry

_log = structlog.get_logger()

_LONGEST_SSID: Final = 32
_BSSID: Final = re.compile("[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII)
_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_LONGEST_DHCP_S: Final = 600
"""As the longest attempt."""
_COUNTRY: Final = re.compile("[A-Z]{2}", re.ASCII)
_PASSPHRASE: Final = re.compile("[ -~]{8,63}|[0-9A-Fa-f]{64}", re.ASCII)
_NO_PASSPHRASE: Final = re.compile("")
_REMEMBERED: Final = 256
"""How many cameras of a plan: each call repeats all."""
_permanent_addresses: Final[dict[int, str]] = {}
"""By the index of the interface."""


def link_configuration(interface: str, local_address: str) -> LinkConfiguration:
    """The configuration of the call `ConfigureLink`; raises InvalidRequest."""
    index = index_of_wireless(interface)
    return LinkConfiguration(
        interface, index, _permanent_address(interface, index), _local_address(local_address)
    )


def _permanent_address(interface: str, index: int) -> str:
    """Asked for once where the kernel says it: no other interface ever has the index."""
    if not (known := _permanent_addresses.get(index, "")):
        known = permanent_address(interface).hex(":")
        if len(_permanent_addresses) >= _REMEMBERED:
            _permanent_addresses.clear()
        _permanent_addresses[index] = known
    return known


def _local_address(text: str) -> IPv4Interface | None:
    """A private address with its prefix; None for the empty text. Raises InvalidRequest."""
    if not text:
        return None
    try:
        address = IPv4Interface(text)
    except ValueError:
        address = None
    if address is None or str(address) != text or not is_private(address.ip):
        raise InvalidRequest(f"{text!r} is not a private address with a prefix, such as 192.168.54.2/24")
    network = address.network
    if not SMALLEST_PREFIX <= network.prefixlen <= LARGEST_PREFIX:
        raise InvalidRequest(f"the prefix of {text} is not {SMALLEST_PREFIX} to {LARGEST_PREFIX}")
    if address.ip in (network.network_address, network.broadcast_address):
        raise InvalidRequest(f"{text} is not a host address in {network}")
    return address


def network_of(
    device_id: int, ssid: bytes, key_management: str, passphrase: str, bssid: str, hidden: bool
) -> Network:
    """The network of the call `AddNetwork`; raises InvalidRequest, whose message has no passphrase."""
    try:
        management = KeyManagement(key_management)
    except ValueError:
        raise InvalidRequest(f"there is no key management {key_management!r}") from None
    if not device_id:
        raise InvalidRequest("a device's id is 1 or more")
    if not 1 <= len(ssid) <= _LONGEST_SSID:
        raise InvalidRequest(f"an SSID has 1 to {_LONGEST_SSID} bytes")
    if not (_PASSPHRASE if management.has_password else _NO_PASSPHRASE).fullmatch(passphrase):
        raise InvalidRequest(f"this is not a password for {management}")
    return Network(
        DeviceId(device_id),
        Ssid(ssid),
        management,
        Passphrase(passphrase),
        bssid and bssid_of(bssid),
        hidden,
    )


def profile_of(
    interface: str,
    device_id: int,
    ssid: bytes,
    key_management: str,
    passphrase: str,
    bssid: str,
    hidden: bool,
    device: str,
    uuid: str,
    dhcp_timeout_s: int,
    local_address: str,
    not_after_us: int,
) -> tuple[Profile, str, int]:
    """The profile of the call `ActivateProfile`, NetworkManager's object of its device, and until when it may
    begin; raises as `network_of`."""
    if not _UUID.fullmatch(uuid):
        raise InvalidRequest(f"{uuid!r} is not a UUID")
    if not 1 <= dhcp_timeout_s <= _LONGEST_DHCP_S:
        raise InvalidRequest(f"a camera's DHCP server is waited for 1 to {_LONGEST_DHCP_S} s")
    network = network_of(device_id, ssid, key_management, passphrase, bssid, hidden)
    profile = Profile(interface, network, uuid, dhcp_timeout_s, _local_address(local_address))
    return profile, device, not_after_us


def bssid_of(text: str) -> str:
    """A BSSID; raises InvalidRequest."""
    if not _BSSID.fullmatch(text):
        raise InvalidRequest(f"{text!r} is not a BSSID, such as 02:00:00:00:00:01")
    return text


def country_of(text: str) -> str:
    """A country; raises InvalidRequest."""
    if not _COUNTRY.fullmatch(text):
        raise InvalidRequest(f"{text!r} is not a country, such as DE")
    return text


def plan_of(network: str, cameras: Sequence[CameraEntry], policy: Policy, hosts_own: Collection[str]) -> Plan:
    """The plan of the call `Apply`; raises InvalidRequest. A camera whose interface is gone, has an index
    for which there is no mark, or is one of `hosts_own`, is left out."""
    try:
        parsed = parse_network(network)
        for device_id, address, _, own, _ in cameras:
            _addresses(network, address, own)
            if not device_id and (address or own):
                raise InvalidRequest("an adapter without a link has no address")
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    shared = () if parsed is None else policy.shared
    for one in shared:
        if parsed is not None and one.overlaps(parsed):
            raise InvalidRequest(f"{one} overlaps the cameras' own network")
    for column in tuple(zip(*cameras, strict=True))[:3]:
        _require_different([value for value in column if value])
    accepts = {codename: policy.accepts(codename) for *_, codename in cameras}
    planned = []
    for device_id, address, interface, own, codename in cameras:
        index = index_of_camera(interface, hosts_own)
        if index is not None:
            planned.append(_camera(network, address, own, device_id, interface, index, accepts[codename]))
    _require_different([one.index for one in planned])
    return Plan(parsed, tuple(planned), shared)


def _require_different(listed: Sequence[object]) -> None:
    if len(set(listed)) < len(listed):
        raise InvalidRequest("a device, an address or an interface is listed twice")


@lru_cache(maxsize=_REMEMBERED)
def _camera(
    network: str,
    address: str,
    own: str,
    device_id: int,
    interface: str,
    index: int,
    accepts: tuple[AcceptedPort, ...],
) -> Camera:
    """A camera of the plan: the same object for the same words, so that plans are compared fast. An own
    address that is not private is not led to, and the others are."""
    its_address, own_address = _addresses(network, address, own)
    if own_address is not None and not is_private(own_address):
        _log.error("camera_address_left_out", address=own, reason="it is not private")
        own_address = None
    return Camera(device_id, interface, index, its_address, own_address, accepts)


@lru_cache(maxsize=_REMEMBERED)
def _addresses(network: str, address: str, own: str) -> tuple[IPv4Address | None, IPv4Address | None]:
    """A camera's address on this host, and its own; None for the empty text. Raises InvalidRequest, and
    ValueError for a text that is not an address."""
    its_address = IPv4Address(address) if address else None
    own_address = IPv4Address(own) if own else None
    parsed = parse_network(network)
    if address and not AddressPlan(parsed).contains(address):
        raise InvalidRequest(f"{address} is not a camera address in {parsed}")
    return its_address, own_address
