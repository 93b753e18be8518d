"""What has to stand in the kernel so that each camera is reached at its own address: pure values.

A packet to a camera's address gets the mark of the interface that leads to the camera, the mark selects
a routing table with one route through that interface, and the address is translated to the camera's
own. Cameras with one subnet, even with one lease, so never meet in the host's routing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

OWNER: Final = "wifimgrd0"
"""The interface that owns the network; nothing ever leaves through it."""
TABLE_NAME: Final = "wifimgrd"
"""The nftables table, family ip."""
PREFERENCE: Final = 7749
"""Of our routing rules: behind the table `local`, before `main`."""
_FILLED: Final = (("map", "interface_of"), ("map", "camera_of"), ("set", "ways"))
_MARKS: Final = 0x77490000
"""An interface's mark, and the number of its routing table, is this and its index."""
_MARKS_MASK: Final = 0xFFFF0000
LARGEST_INDEX: Final = 0xFFFF
_LAST: Final = 0xFFFFFFFE
"""The metric of a route that is taken where there is no other."""
_DEFAULT_LIKE: Final = 1
"""Routes of this prefix length and shorter stand for everywhere: some VPNs split the default route in two."""


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera, and where it is to be reached."""

    address: IPv4Address
    interface: str
    index: int
    """The kernel's number of the interface."""
    camera_address: IPv4Address | None
    """The camera's own address on its link; None while that is not up, and its way is made ready."""

    def __post_init__(self) -> None:
        if not 0 < self.index <= LARGEST_INDEX:
            raise ValueError(f"no mark for the interface index {self.index}")

    @property
    def mark(self) -> int:
        """The mark of its packets, and the number of its routing table."""
        return _MARKS + self.index


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole state."""

    network: IPv4Network
    cameras: tuple[Camera, ...] = ()

    @property
    def host(self) -> IPv4Address:
        """The host's own address in the network."""
        return self.network.broadcast_address - 1

    def ruleset(self) -> str:
        """The nftables table, as a transaction that makes it so whatever was there.

        Refusing is for addresses without a camera: whoever calls one hears so at once. The guard is for the
        moment in which somebody has broken the routing: better no answer than another camera's.
        """
        marks = _elements((str(one.address), f"{one.mark:#x}") for one in self.connected)
        ways = _elements((f"{one.index} . {one.mark:#x}", "") for one in self.connected)
        targets = _elements((str(one.address), str(one.camera_address)) for one in self.connected)
        return f"""
table ip {TABLE_NAME} {{}}
delete table ip {TABLE_NAME}
table ip {TABLE_NAME} {{
    map interface_of {{ type ipv4_addr : mark; {marks} }}
    map camera_of {{ type ipv4_addr : ipv4_addr; {targets} }}
    set ways {{ type iface_index . mark; {ways} }}
    chain steer {{
        type route hook output priority -150; policy accept;
        meta mark set ip daddr map @interface_of
    }}
    chain reach {{
        type nat hook output priority -100; policy accept;
        dnat to ip daddr map @camera_of
    }}
    chain guard {{
        type filter hook postrouting priority 0; policy accept;
        meta mark & {_MARKS_MASK:#x} == {_MARKS:#x} oif . meta mark != @ways drop
    }}
    chain leave {{
        type nat hook postrouting priority 100; policy accept;
        meta mark & {_MARKS_MASK:#x} == {_MARKS:#x} masquerade
    }}
    chain refuse {{
        type filter hook output priority 0; policy accept;
        oifname "{OWNER}" ip daddr {self.network} reject with icmp type host-unreachable
    }}
}}
"""

    def elements(self) -> str:
        """The elements of the maps alone, as a transaction for a table that stands."""
        lines = [f"flush {kind} ip {TABLE_NAME} {name}" for kind, name in _FILLED]
        for one in self.connected:
            lines.append(f"add element ip {TABLE_NAME} interface_of {{ {one.address} : {one.mark:#x} }}")
            lines.append(f"add element ip {TABLE_NAME} camera_of {{ {one.address} : {one.camera_address} }}")
            lines.append(f"add element ip {TABLE_NAME} ways {{ {one.index} . {one.mark:#x} }}")
        return "\n".join(lines)

    @property
    def connected(self) -> list[Camera]:
        """The cameras that can be reached."""
        return [one for one in self.cameras if one.camera_address is not None]

    @property
    def marks(self) -> list[int]:
        """The marks in use."""
        return [one.mark for one in self.cameras]

    def additions(self, present: Collection[int]) -> list[str]:
        """Commands for `ip -batch` that add what marks need, given those that have rules: first an end,
        where their interface is away, since the main table would lead to another camera."""
        return [
            f"route replace unreachable default metric {_LAST} table {mark}"
            for mark in self.marks
            if mark not in present
        ] + [
            f"rule add fwmark {mark:#x} lookup {mark} preference {PREFERENCE}"
            for mark in self.marks
            if mark not in present
        ]

    def ways(self, *, connected: bool) -> list[str]:
        """Commands for `ip -batch` that make the ways of cameras, connected or not; a way can be made only
        while its interface is up."""
        return [
            f"route replace default dev {one.interface} scope link table {one.mark}"
            for one in self.cameras
            if connected is (one.camera_address is not None)
        ]

    def holds(self, rules: Iterable[Mapping[str, Any]], routes: Iterable[Mapping[str, Any]]) -> bool:
        """Whether rules and routes (as `ip -j` lists them) are what the plan wants."""
        there = {(str(route.get("table")), route.get("dev")) for route in routes}
        wanted = {(str(one.mark), one.interface) for one in self.connected}
        owned = any(route.get("dst") == str(self.network) and route.get("dev") == OWNER for route in routes)
        return owned and wanted <= there and sorted(marks_of(rules)) == sorted(self.marks)


def forget(marks: Iterable[int]) -> list[str]:
    """The commands for `ip -batch` that take away the rules and routes of marks."""
    return [
        line
        for mark in marks
        for line in (
            f"rule del fwmark {mark:#x} lookup {mark} preference {PREFERENCE}",
            f"route flush table {mark}",
        )
    ]


def marks_of(rules: Iterable[Mapping[str, Any]]) -> list[int]:
    """The marks of those rules (as `ip -j rule` lists them) that are ours."""
    found = []
    for rule in rules:
        if rule.get("priority") == PREFERENCE and "fwmark" in rule:
            mark = int(str(rule["fwmark"]), 16)
            if _is_ours(mark) and str(rule.get("table")) == str(mark):
                found.append(mark)
    return found


def conflict(network: IPv4Network, routes: Iterable[Mapping[str, Any]]) -> str:
    """Why the network cannot be the cameras' on this host, given all its routes; empty where it can."""
    for route in routes:
        table = str(route.get("table", ""))
        if route.get("dev") == OWNER or (table.isdecimal() and _is_ours(int(table))):
            continue
        try:
            there = IPv4Network(route.get("dst", ""))
        except ValueError:
            continue  # the default route, or IPv6
        if there.prefixlen > _DEFAULT_LIKE and there.overlaps(network):
            where = f" through {route['dev']}" if route.get("dev") else ""
            return f"{network} overlaps {there}, which this host reaches{where}"
    return ""


def _is_ours(mark: int) -> bool:
    return mark & _MARKS_MASK == _MARKS


def _elements(pairs: Iterable[tuple[str, str]]) -> str:
    listed = ", ".join(f"{key} : {value}" if value else key for key, value in pairs)
    return f"elements = {{ {listed} }}" if listed else ""
