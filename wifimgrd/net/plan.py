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
OPENED: Final = "opened"
"""The set of interfaces that forward for our sake alone."""
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
    camera_address: IPv4Address
    """The camera's own address on its link."""

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
    shared: tuple[IPv4Network, ...] = ()
    """Networks whose hosts reach the cameras, too."""

    @property
    def host(self) -> IPv4Address:
        """The host's own address in the network."""
        return self.network.broadcast_address - 1

    def ruleset(self, opened: Collection[int] = ()) -> str:
        """The nftables table, as a transaction that makes it so whatever was there.

        Refusing is for addresses without a camera: whoever calls one hears so at once. The guard is for the
        moment in which somebody has broken the routing: better no answer than another camera's. `opened` are
        the indices of the interfaces that forward for our sake alone.
        """
        marks = _elements((str(one.address), f"{one.mark:#x}") for one in self.cameras)
        ways = _elements((f"{one.index} . {one.mark:#x}", "") for one in self.cameras)
        targets = _elements((str(one.address), str(one.camera_address)) for one in self.cameras)
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
{self._sharing(opened) if self.shared else ""}
}}
"""

    def _sharing(self, opened: Collection[int]) -> str:
        """What lets hosts of shared networks in, and no others: no camera that claims to be one."""
        leads = _elements((str(one.index), "") for one in self.cameras)
        forwarding = _elements((str(index), "") for index in sorted(opened))
        shared = ", ".join(map(str, self.shared))
        return f"""
    set leads {{ type iface_index; {leads} }}
    set {OPENED} {{ type iface_index; {forwarding} }}
    chain admit {{
        type filter hook prerouting priority -150; policy accept;
        iif != @leads ip saddr {{ {shared} }} meta mark set ip daddr map @interface_of
    }}
    chain arrive {{
        type nat hook prerouting priority -100; policy accept;
        iif != @leads ip saddr {{ {shared} }} dnat to ip daddr map @camera_of
    }}
    chain pass {{
        type filter hook forward priority 0; policy accept;
        iif != @leads meta mark & {_MARKS_MASK:#x} == {_MARKS:#x} accept
        iif @leads ct direction reply ct original ip daddr {self.network} accept
        oifname "{OWNER}" reject with icmp type host-unreachable
        iif @{OPENED} drop
    }}
"""

    def elements(self, opened: Collection[int] = ()) -> str:
        """The elements of the maps alone, as a transaction for a table that stands."""
        lines = [f"flush {kind} ip {TABLE_NAME} {name}" for kind, name in _FILLED]
        if self.shared:
            lines += [f"flush set ip {TABLE_NAME} {name}" for name in ("leads", OPENED)]
            lines += [f"add element ip {TABLE_NAME} leads {{ {one.index} }}" for one in self.cameras]
            lines += [f"add element ip {TABLE_NAME} {OPENED} {{ {index} }}" for index in sorted(opened)]
        for one in self.cameras:
            lines.append(f"add element ip {TABLE_NAME} interface_of {{ {one.address} : {one.mark:#x} }}")
            lines.append(f"add element ip {TABLE_NAME} camera_of {{ {one.address} : {one.camera_address} }}")
            lines.append(f"add element ip {TABLE_NAME} ways {{ {one.index} . {one.mark:#x} }}")
        return "\n".join(lines)

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

    def ways(self, but: Collection[Camera] = ()) -> list[str]:
        """Commands for `ip -batch` that make the ways of cameras, save some; each needs its interface up."""
        return [
            f"route replace default dev {one.interface} scope link table {one.mark}"
            for one in self.cameras
            if one not in but
        ]

    def concerned_by(self, line: str) -> bool:
        """Whether a line of `ip monitor` or `nft monitor` may tell of something that the plan needs, or of a
        network that overlaps it. Where networks are shared, any route may lead to them.
        """
        if self.shared:
            return True
        words = {word.rstrip(":") for word in line.split()}
        ours = {OWNER, TABLE_NAME, str(PREFERENCE)}
        ours.update(*((one.interface, str(one.mark)) for one in self.cameras))
        return not words.isdisjoint(ours) or any(_is_there(word, self.network) for word in words)

    def holds(self, rules: Iterable[Mapping[str, Any]], routes: Iterable[Mapping[str, Any]]) -> bool:
        """Whether rules and routes (as `ip -j` lists them) are what the plan wants."""
        there = {(str(route.get("table")), route.get("dev")) for route in routes}
        wanted = {(str(one.mark), one.interface) for one in self.cameras}
        owned = any(route.get("dst") == str(self.network) and route.get("dev") == OWNER for route in routes)
        return owned and wanted <= there and sorted(marks_of(rules)) == sorted(self.marks)


def forget(marks: Collection[int], rules: Collection[int] | None = None) -> list[str]:
    """The commands for `ip -batch` that take away the rules and routes of marks, given those that have a
    rule, where that is known to be some alone."""
    found = marks if rules is None else rules
    return [
        f"rule del fwmark {mark:#x} lookup {mark} preference {PREFERENCE}" for mark in marks if mark in found
    ] + [f"route flush table {mark}" for mark in marks]


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
        if _is_there(there := route.get("dst", ""), network):
            where = f" through {route['dev']}" if route.get("dev") else ""
            return f"{network} overlaps {IPv4Network(there)}, which this host reaches{where}"
    return ""


def _is_there(destination: str, network: IPv4Network) -> bool:
    """Whether a route's destination is in a network, or around it, and does not stand for everywhere."""
    try:
        there = IPv4Network(destination)
    except ValueError:
        return False  # the default route, or IPv6, or no destination at all
    return there.prefixlen > _DEFAULT_LIKE and there.overlaps(network)


def _is_ours(mark: int) -> bool:
    return mark & _MARKS_MASK == _MARKS


def _elements(pairs: Iterable[tuple[str, str]]) -> str:
    listed = ", ".join(f"{key} : {value}" if value else key for key, value in pairs)
    return f"elements = {{ {listed} }}" if listed else ""
