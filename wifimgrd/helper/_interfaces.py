"""Which interfaces the helper acts on: wireless ones with plain names, and none with a link of the host's."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.interface import has_plain_name
from wifimgrd.helper._plan import LARGEST_INDEX

_log = structlog.get_logger()

INTERFACES: Final = Path("/sys/class/net")
"""Where the kernel lists the interfaces."""


def require_name(interface: str) -> None:
    """Raise InvalidRequest for a name that the helper uses in no rule, file or command."""
    if not has_plain_name(interface):
        raise InvalidRequest(
            f"the hub uses no interface named {interface!r}: a name is 1 to 15 letters, digits, and `_.-`"
        )


def require_wireless(interface: str) -> None:
    """Raise InvalidRequest for what is not the name of a wireless interface."""
    if not _is_wireless(interface):
        raise InvalidRequest("there is no wireless interface of that name")


def index_of_wireless(interface: str) -> int:
    """The kernel's index of a wireless interface; raises InvalidRequest."""
    require_wireless(interface)
    index = _index_of(interface)
    if index is None:
        raise InvalidRequest(f"{interface} does not exist, or has an index over {LARGEST_INDEX}")
    return index


def index_of_camera(interface: str, hosts_own: Collection[str]) -> int | None:
    """The index of a camera's interface; None if it is gone, there is no mark for it, or it is in
    `hosts_own`. Raises InvalidRequest for an interface that is not a camera's."""
    require_name(interface)
    is_wireless = _is_wireless(interface)
    index = _index_of(interface)
    if index is None:
        return None
    if not is_wireless:
        raise InvalidRequest(f"{interface} is not a camera's interface: it is not wireless")
    if interface in hosts_own:
        _log.error("interface_left_out", interface=interface, reason="it carries a connection of this host")
        return None
    return index


def _is_wireless(interface: str) -> bool:
    return has_plain_name(interface) and os.path.exists(f"{INTERFACES}/{interface}/phy80211")  # noqa: PTH110 - for each camera in each call


def _index_of(interface: str) -> int | None:
    """The index of an interface; None where it is gone, or there is no mark for it."""
    try:
        index = socket.if_nametoindex(interface)
    except OSError:
        return None
    if index > LARGEST_INDEX:
        _log.error("interface_left_out", interface=interface, index=index, largest=LARGEST_INDEX)
        return None
    return index
