"""The IPv4 routes and routing rules of the kernel, as `ip -j` lists them, without the start of a process; and
one change of them.

The numbers are those of include/uapi/linux/rtnetlink.h and fib_rules.h of the kernel.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address
from typing import Any, Final

from wifimgrd.kernel.messages import attribute, attributes
from wifimgrd.kernel.rtnetlink import change, dump

_NEW_ROUTE, _DELETE_ROUTE, _GET_ROUTE, _NEW_RULE, _GET_RULE = 24, 25, 26, 32, 34
_HEADER: Final = struct.Struct("=BBBBBBBBI")
"""struct rtmsg: family, lengths of destination and source, type of service, table, protocol, scope, type,
flags; and struct fib_rule_hdr: the same with two reserved octets and the action."""
_HOP: Final = struct.Struct("=HBBi")
"""struct rtnexthop: length, flags, weight, interface index."""
_NUMBER: Final = struct.Struct("=I")
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PRIORITY, _RTA_MULTIPATH, _RTA_TABLE = 1, 4, 5, 6, 9, 15
_FRA_IIFNAME, _FRA_PRIORITY, _FRA_FWMARK, _FRA_TABLE = 3, 6, 10, 15
_HOST_PREFIX: Final = 32
_MAIN: Final = 254
_LOCAL: Final = 255
_TABLES: Final = {253: "default", _MAIN: "main", _LOCAL: "local"}
_BROADCAST: Final = 3
_ANY_SCOPE: Final = 255
_BOOT: Final = 3
_PROTOCOLS: Final = {2: "kernel", 4: "static", 16: "dhcp"}
_UNICAST: Final = 1
_TYPES: Final = {
    2: "local",
    _BROADCAST: "broadcast",
    4: "anycast",
    5: "multicast",
    6: "blackhole",
    7: "unreachable",
    8: "prohibit",
    9: "throw",
}
_TO_TABLE: Final = 1
"""FR_ACT_TO_TBL: the rule selects a table."""


def list_routes() -> list[dict[str, Any]]:
    """The routes of all tables: `dst`, and `type`, `gateway`, `dev`, `nexthops`, `table`, `protocol`,
    `metric` where `ip -j route show table all` has them. Raises OSError."""
    return [_route(body) for body in dump(_GET_ROUTE, _NEW_ROUTE, _HEADER.size)]


def list_rules() -> list[dict[str, Any]]:
    """The rules: `priority`, and `fwmark`, `iif`, `table`, `action` where `ip -j rule show` has them. Raises
    OSError."""
    return [_rule(body) for body in dump(_GET_RULE, _NEW_RULE, _HEADER.size)]


def delete_broadcast(address: str, index: int) -> None:
    """Delete the entry of the table `local` that makes an address a broadcast address of an interface; there
    may be none. Needs CAP_NET_ADMIN. Raises OSError."""
    header = _HEADER.pack(socket.AF_INET, _HOST_PREFIX, 0, 0, _LOCAL, 0, _ANY_SCOPE, _BROADCAST, 0)
    destination = attribute(_RTA_DST, IPv4Address(address).packed)
    with suppress(ProcessLookupError):  # ESRCH: there is none
        change(_DELETE_ROUTE, header + destination + attribute(_RTA_OIF, _NUMBER.pack(index)))


def _route(body: bytes) -> dict[str, Any]:
    _, prefix, _, _, table, protocol, _, kind, _ = _HEADER.unpack_from(body)
    found = attributes(body, _HEADER.size)
    route: dict[str, Any] = {"dst": _destination(found.get(_RTA_DST), prefix)}
    if kind != _UNICAST:
        route["type"] = _TYPES.get(kind, str(kind))
    if (gateway := _address(found.get(_RTA_GATEWAY))) is not None:
        route["gateway"] = gateway
    if _RTA_OIF in found:
        route |= _interface(_number(found[_RTA_OIF]))
    if hops := list(_hops(found.get(_RTA_MULTIPATH, b""))):
        route["nexthops"] = hops
    table = _number(found[_RTA_TABLE]) if _RTA_TABLE in found else table
    if table != _MAIN:
        route["table"] = _TABLES.get(table, str(table))
    if protocol != _BOOT:
        route["protocol"] = _PROTOCOLS.get(protocol, str(protocol))
    if _RTA_PRIORITY in found:
        route["metric"] = _number(found[_RTA_PRIORITY])
    return route


def _rule(body: bytes) -> dict[str, Any]:
    *_, table, _, _, action, _ = _HEADER.unpack_from(body)
    found = attributes(body, _HEADER.size)
    rule: dict[str, Any] = {"priority": _number(found.get(_FRA_PRIORITY, bytes(4)))}
    if _FRA_FWMARK in found:
        rule["fwmark"] = f"{_number(found[_FRA_FWMARK]):#x}"
    if _FRA_IIFNAME in found:
        rule["iif"] = found[_FRA_IIFNAME].rstrip(b"\0").decode(errors="replace")
    if action == _TO_TABLE:
        table = _number(found[_FRA_TABLE]) if _FRA_TABLE in found else table
        rule["table"] = _TABLES.get(table, str(table))
    else:
        rule["action"] = _TYPES.get(action, str(action))
    return rule


def _hops(hops: bytes) -> Iterator[dict[str, str]]:
    offset = 0
    while offset + _HOP.size <= len(hops):
        length, _, _, index = _HOP.unpack_from(hops, offset)
        if length < _HOP.size:
            break
        gateway = _address(attributes(hops[offset : offset + length], _HOP.size).get(_RTA_GATEWAY))
        yield _interface(index) | ({} if gateway is None else {"gateway": gateway})
        offset += (length + 3) & ~3


def _destination(octets: bytes | None, prefix: int) -> str:
    address = _address(octets)
    if address is None:
        return f"0.0.0.0/{prefix}" if prefix else "default"
    return address if prefix == _HOST_PREFIX else f"{address}/{prefix}"


def _address(octets: bytes | None) -> str | None:
    return None if octets is None else str(IPv4Address(octets))


def _number(value: bytes) -> int:
    (number,) = _NUMBER.unpack(value)
    return int(number)


def _interface(index: int) -> dict[str, str]:
    with suppress(OSError):  # it has just gone
        return {"dev": socket.if_indextoname(index)}
    return {}
