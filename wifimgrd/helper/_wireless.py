"""Wireless interfaces: a link down and up, addresses deleted and reported, power save off."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Interface

import structlog

from wifimgrd.helper._interfaces import require_wireless
from wifimgrd.kernel import nl80211
from wifimgrd.kernel.addresses import Address, list_addresses
from wifimgrd.kernel.links import Link, index_of
from wifimgrd.kernel.rtnetlink import Action, Change, KernelError, carry_out

_log = structlog.get_logger()


def restart_link(interface: str) -> None:
    """Take a wireless interface's link down and up; raises InvalidRequest for any other, and KernelError."""
    require_wireless(interface)
    carry_out(Change(Action.SET, Link(interface, is_up=is_up)) for is_up in (False, True))


def end_power_save(interface: str) -> bool:
    """Switch a wireless interface's power save off, and return whether it was on.

    Raises InvalidRequest for any other interface, and OSError where the setting cannot be read: mostly, the
    driver has no power save.
    """
    require_wireless(interface)
    index = socket.if_nametoindex(interface)
    if not nl80211.has_power_save(index):
        return False
    try:
        nl80211.end_power_save(index)
    except OSError as error:
        _log.warning("power_save_unchanged", interface=interface, reason=str(error))
    return True


def delete_addresses(interface: str) -> None:
    """Delete the IPv4 addresses of an interface; of one that is gone, nothing is left to delete."""
    index = index_of(interface)
    try:
        carry_out(Change(Action.DELETE, one) for one in list_addresses(index))
    except KernelError as error:
        _log.debug("addresses_not_deleted", interface=interface, reason=str(error))


def touch_addresses(index: int, addresses: Iterable[IPv4Interface]) -> None:
    """Set addresses of an interface, as networkd's files have them, and delete them again, so that the kernel
    reports their end. Where that fails, the interface is mostly gone."""
    touched = [Address(index, one.ip, one.network.prefixlen, is_routed=False) for one in addresses]
    try:
        carry_out(Change(action, one) for one in touched for action in (Action.REPLACE, Action.DELETE))
    except KernelError as error:
        _log.debug("addresses_not_touched", index=index, reason=str(error))
