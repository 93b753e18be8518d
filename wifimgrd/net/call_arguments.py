"""The arguments of the helper's calls, as values that have been checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv4Interface
from typing import Any

import structlog

from wifimgrd.domain.addresses import (
    LARGEST_PREFIX,
    SMALLEST_PREFIX,
    AddressPlan,
    is_private,
    parse_network,
)
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.net.interfaces import index_of_camera, index_of_wireless
from wifimgrd.net.link_files import LinkConfiguration
from wifimgrd.net.plan import Camera, Plan
from wifimgrd.net.policy import Policy
from wifimgrd.netlink.permanent_address import permanent_address

_log = structlog.get_logger()


def link_configuration(interface: str, local_address: str) -> LinkConfiguration:
    """The configuration of the call `ConfigureLink`; raises InvalidRequest."""
    index = index_of_wireless(interface)
    return LinkConfiguration(
        interface, index, permanent_address(interface).hex(":"), _local_address(local_address)
    )


def _local_address(text: str) -> IPv4Interface | None:
    """A private address with its prefix; None for the empty text. Raises InvalidRequest."""
    if not text:
        return None
    try:
        address = IPv4Interface(text)
    except ValueError:
        address = None
    if address is None or str(address) != text or not is_private(address.ip):
        raise InvalidRequest(f"{text!r} is no private address with a prefix, such as 192.168.54.2/24")
    network = address.network
    if not SMALLEST_PREFIX <= network.prefixlen <= LARGEST_PREFIX:
        raise InvalidRequest(f"the prefix of {text} is not {SMALLEST_PREFIX} to {LARGEST_PREFIX}")
    if address.ip in (network.network_address, network.broadcast_address):
        raise InvalidRequest(f"{text} is no address of a host in {network}")
    return address


def plan_of(
    network: str, cameras: Sequence[Sequence[Any]], policy: Policy, hosts_own: Collection[str]
) -> Plan:
    """The plan of the call `Apply`; raises InvalidRequest. A camera whose interface is gone, has an index
    for which there is no mark, or is one of `hosts_own`, is left out."""
    try:
        parsed = parse_network(network)
        addresses = [(_address(address), _private_address(own)) for _, address, _, own, _ in cameras]
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    shared = () if parsed is None else policy.shared
    for one in shared:
        if parsed is not None and one.overlaps(parsed):
            raise InvalidRequest(f"{one} overlaps the cameras' own network")
    fit = AddressPlan(parsed)
    for address, _ in addresses:
        if address is not None and not fit.contains(str(address)):
            raise InvalidRequest(f"{address} is no camera's address in {parsed}")
    for column in (0, 1, 2):
        listed = [camera[column] for camera in cameras if camera[column]]
        if len(set(listed)) < len(listed):
            raise InvalidRequest("a device, an address or an interface is listed twice")
    planned = []
    for (address, own_address), (device_id, _, interface, _, codename) in zip(
        addresses, cameras, strict=True
    ):
        index = index_of_camera(interface, hosts_own)
        if index is not None:
            accepts = policy.accepts(codename)
            planned.append(Camera(device_id, interface, index, address, own_address, accepts))
    return Plan(parsed, tuple(planned), shared)


def _private_address(text: str) -> IPv4Address | None:
    """A camera's own address; None for the empty text, and where it is not private: such a camera is not led
    to, and the others are. Raises ValueError."""
    address = _address(text)
    if address is not None and not is_private(address):
        _log.error("camera_address_left_out", address=str(address), reason="it is not private")
        return None
    return address


def _address(text: str) -> IPv4Address | None:
    """An address; None for the empty text. Raises ValueError."""
    return IPv4Address(text) if text else None
