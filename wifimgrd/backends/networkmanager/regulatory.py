"""The kernel's regulatory domain, asked over generic netlink.

https://www.kernel.org/doc/html/latest/networking/regulatory.html and, for the numbers,
include/uapi/linux/nl80211.h, genetlink.h and netlink.h of the kernel.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Final

_NETLINK_GENERIC: Final = 16
_REQUEST: Final = 1
_ERROR: Final = 2
_HEADER: Final = struct.Struct("=IHHII")
"""Length, type, flags, sequence number, port."""
_GENERIC: Final = struct.Struct("=BBH")
"""Command, version, reserved."""
_ATTRIBUTE: Final = struct.Struct("=HH")
"""Length with this header, type."""
_CONTROLLER: Final = 0x10
_GET_FAMILY: Final = 3
_FAMILY_ID: Final = 1
_FAMILY_NAME: Final = 2
_GET_REGULATORY_DOMAIN: Final = 31
_ALPHA2: Final = 33
_PATIENCE_S: Final = 1.0


def regulatory_domain() -> str | None:
    """Two letters, `00` for the world; None where the kernel has no Wi-Fi or does not say.

    Asks the kernel, which answers at once; needs no privilege.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC) as netlink:
            netlink.settimeout(_PATIENCE_S)
            netlink.bind((0, 0))
            name = _attribute(_FAMILY_NAME, b"nl80211\0")
            family = _ask(netlink, _CONTROLLER, _GET_FAMILY, name).get(_FAMILY_ID)
            if family is None:
                return None
            answer = _ask(netlink, struct.unpack("=H", family)[0], _GET_REGULATORY_DOMAIN)
    except (OSError, struct.error):
        return None
    domain = answer.get(_ALPHA2)
    return domain.rstrip(b"\0").decode("ascii", "replace") if domain else None


def _ask(netlink: socket.socket, family: int, command: int, payload: bytes = b"") -> dict[int, bytes]:
    """Send one request and return its first answer's attributes; none where it was refused."""
    body = _GENERIC.pack(command, 1, 0) + payload
    netlink.send(_HEADER.pack(_HEADER.size + len(body), family, _REQUEST, 1, 0) + body)
    answer = netlink.recv(65536)
    length, kind, *_ = _HEADER.unpack_from(answer)
    if kind == _ERROR:
        return {}
    return dict(_attributes(answer[_HEADER.size + _GENERIC.size : length]))


def _attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _attributes(payload: bytes) -> Iterator[tuple[int, bytes]]:
    while len(payload) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(payload)
        if length < _ATTRIBUTE.size:
            return
        yield kind & 0x3FFF, payload[_ATTRIBUTE.size : length]
        payload = payload[(length + 3) & ~3 :]
