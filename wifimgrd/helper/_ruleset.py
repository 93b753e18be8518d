"""The nftables tables of a plan, as transactions.

`table ip wifimgrd` translates addresses and lets nothing in from a camera but what is listed there;
`table netdev wifimgrd` limits what arrives beside IPv4.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from wifimgrd.domain.addresses import SocketKind
from wifimgrd.helper._plan import MARKS, MARKS_MASK, OWNER, SOCKET_MARKS, Camera, Plan

TABLE_NAME: Final = "wifimgrd"
"""The name of both tables."""
OPENED: Final = "opened"
"""The set of interfaces whose forwarding the helper has switched on."""
_OURS: Final = f"meta mark & {MARKS_MASK:#x} == {MARKS:#x}"
_NUMBERS: Final = {SocketKind.TCP: socket.IPPROTO_TCP, SocketKind.UDP: socket.IPPROTO_UDP}
"""Of protocols, whose names nft would look up in /etc/protocols, which a host may not have."""
_PER_SECOND: Final = "limit rate over 50/second burst 100 packets"
"""Of ICMP, and of ARP, from one camera: far more than a working camera sends."""
_TO_ACCEPTED: Final = "iif . meta l4proto . th dport @accepted"
_NEW_FLOW: Final = "ct status & confirmed == 0"
"""The first packet of a flow. `ct state new` would be every datagram of a stream that nobody replies to."""
_FLOWS_PER_SECOND: Final = "limit rate over 50/second burst 200 packets"
"""Of new flows from one camera to accepted ports: each takes an entry of the host's conntrack table, which
all programs share."""


def ruleset(plan: Plan, opened: Collection[int] = ()) -> str:
    """The table of family ip, as a transaction that replaces any earlier one.

    `opened` are the indices of the interfaces whose forwarding the helper has switched on. The chains, in the
    order in which a packet passes them:

    - `enter`, `leave_zone`: the conntrack zone of each camera, because cameras with equal addresses have
      equal connections; the mark with which the reverse path of a camera's packets is checked; and sockets
      that the helper has opened reach their camera alone.
    - `screen`: what a camera may send: replies, a limited amount of ICMP, DHCP, and to accepted ports, with a
      limit on new flows.
    - `steer`, `reach`: from a camera's address to its interface and its own address.
    - `receive`, `name`: what comes in to an accepted port is from the camera's address on this host, and to
      the host's own address there, which is the source of what an unbound socket replies.
    - `refuse`: an address without a camera; connections to it fail at once.
    - `pass`: what is forwarded: no camera reaches another host.
    - `guard`: the time in which another program has changed the routing: no answer is better than another
      camera's.
    """
    data = _data(plan, opened)
    declared = "\n".join(
        f"    {kind} {name} {{ type {key}; {_elements(data[name])} }}"
        for name, (kind, key) in _kinds(plan).items()
    )
    chains = "\n".join(
        f"    chain {name} {{\n{_lines(rules)}\n    }}" for name, rules in _chains(plan).items()
    )
    return f"""
table ip {TABLE_NAME} {{}}
delete table ip {TABLE_NAME}
table ip {TABLE_NAME} {{
{declared}
{chains}
    chain enter {{
        type filter hook prerouting priority -300; policy accept;
        jump zones_in
        iif . ip saddr @sources meta mark set iif map @mark_of
    }}
    chain screen {{
        type filter hook prerouting priority -150; policy accept;
        iif @closed jump admitted
        {_admit_replies(plan)}
    }}
    chain admitted {{
        jump floods
        ct state established return
        meta l4proto icmp ct state related return
        iif . ip saddr @sources icmp type echo-request return
        udp sport 67 udp dport 68 return
        iif . ip saddr @sources {_TO_ACCEPTED} return
        drop
    }}
    chain leave_zone {{
        type filter hook output priority -300; policy accept;
        meta mark & {MARKS_MASK:#x} == {SOCKET_MARKS:#x} oif . meta mark . ip daddr != @sockets drop
        jump zones_out
    }}
    chain steer {{
        type route hook output priority -150; policy accept;
        meta mark set ip daddr map @interface_of
    }}
    chain reach {{
        type nat hook output priority -100; policy accept;
        dnat to ip daddr map @camera_of
    }}
    chain pass {{
        type filter hook forward priority -10; policy accept;
        iif @closed ct direction reply meta mark set 0 accept
        iif @closed ct status dnat meta mark set 0 accept
        iif @closed drop
        {_pass_shared() if plan.shared else ""}
    }}
    chain guard {{
        type filter hook postrouting priority 0; policy accept;
        {_OURS} oif . meta mark != @routes drop
    }}
    chain leave {{
        type nat hook postrouting priority 100; policy accept;
        {_OURS} masquerade
        iif @closed snat to iif map @own_of
    }}
{_of_network(plan)}
{_sharing(plan) if plan.shared else ""}
}}
"""


def elements(plan: Plan, opened: Collection[int] = ()) -> str:
    """Only what depends on the cameras, as a transaction for a table that exists."""
    lines = []
    for name, (kind, _) in _kinds(plan).items():
        lines.append(f"flush {kind} ip {TABLE_NAME} {name}")
        if found := _data(plan, opened)[name]:
            lines.append(f"add element ip {TABLE_NAME} {name} {{ {', '.join(found)} }}")
    for name, rules in _chains(plan).items():
        lines.append(f"flush chain ip {TABLE_NAME} {name}")
        lines += [f"add rule ip {TABLE_NAME} {name} {rule}" for rule in rules]
    return "\n".join(lines)


def link_layer(cameras: Iterable[Camera]) -> str:
    """The table of family netdev, as a transaction that replaces any earlier one: no IPv6, and neighbour
    requests from the camera alone, so that it cannot fill the kernel's table of neighbours, which all
    interfaces share. The kernel checks the reverse path of such a request, too: hence the mark."""
    chains = "\n".join(_link_chain(one) for one in cameras)
    return f"""
table netdev {TABLE_NAME} {{}}
delete table netdev {TABLE_NAME}
table netdev {TABLE_NAME} {{
{chains}
}}
"""


def link_layer_trial(cameras: Iterable[Camera]) -> str:
    """A transaction that changes nothing, and is refused where `link_layer` of these cameras is."""
    chains = "\n".join(_link_chain(one) for one in cameras)
    return f"""
table netdev {TABLE_NAME}-trial {{
{chains}
}}
delete table netdev {TABLE_NAME}-trial
"""


def _link_chain(camera: Camera) -> str:
    others = ""
    if camera.camera_address is not None:
        others = f"arp operation request arp saddr ip != {{ 0.0.0.0, {camera.camera_address} }} drop"
    return f"""
    chain i{camera.index} {{
        type filter hook ingress device "{camera.interface}" priority 0; policy accept;
        meta protocol ip6 drop
        {others}
        meta protocol arp {_PER_SECOND} drop
        meta protocol arp meta mark set {camera.mark:#x}
    }}"""


def _kinds(plan: Plan) -> Mapping[str, tuple[str, str]]:
    """The maps and sets that depend on the cameras."""
    kinds = {
        "interface_of": ("map", "ipv4_addr : mark"),
        "camera_of": ("map", "ipv4_addr : ipv4_addr"),
        "own_of": ("map", "iface_index : ipv4_addr"),
        "mark_of": ("map", "iface_index : mark"),
        "routes": ("set", "iface_index . mark"),
        "closed": ("set", "iface_index"),
        "sources": ("set", "iface_index . ipv4_addr"),
        "accepted": ("set", "iface_index . inet_proto . inet_service"),
        "sockets": ("set", "iface_index . mark . ipv4_addr"),
    }
    return {**kinds, OPENED: ("set", "iface_index")} if plan.shared else kinds


def _data(plan: Plan, opened: Collection[int]) -> Mapping[str, list[str]]:
    addressed = [one for one in plan.reachable if one.address is not None]
    return {
        "interface_of": [f"{one.address} : {one.mark:#x}" for one in addressed],
        "camera_of": [f"{one.address} : {one.camera_address}" for one in addressed],
        "own_of": [f"{one.index} : {one.address}" for one in addressed],
        "mark_of": [f"{one.index} : {one.mark:#x}" for one in plan.reachable],
        "routes": [f"{one.index} . {one.mark:#x}" for one in plan.reachable],
        "closed": [str(one.index) for one in plan.cameras],
        "sources": [f"{one.index} . {one.camera_address}" for one in plan.reachable],
        "accepted": [
            f"{one.index} . {_NUMBERS[port.kind]} . {port.number}"
            for one in addressed  # what the others send would arrive with an address that they may share
            for port in one.accepts
        ],
        "sockets": [f"{one.index} . {one.socket_mark:#x} . {one.camera_address}" for one in plan.reachable],
        OPENED: [str(index) for index in sorted(opened)],
    }


def _chains(plan: Plan) -> Mapping[str, list[str]]:
    """The chains with rules for each camera: `ct zone set` takes no map, and a limit counts for its rule."""
    zones_in, zones_out, floods = [], [], []
    for one in plan.cameras:
        zones_in.append(f"iif {one.index} ct zone set {one.zone}")
        zones_out.append(f"oif {one.index} ct zone set {one.zone}")
        floods.append(f"iif {one.index} meta l4proto icmp {_PER_SECOND} drop")
        floods.append(f"iif {one.index} {_TO_ACCEPTED} {_NEW_FLOW} {_FLOWS_PER_SECOND} drop")
        if one.address is not None:
            zones_in.append(f"iif != @closed ip daddr {one.address} ct zone set {one.zone}")
            zones_out.append(f"ip daddr {one.address} ct zone set {one.zone}")
    return {"zones_in": zones_in, "zones_out": zones_out, "floods": floods}


def _of_network(plan: Plan) -> str:
    if plan.network is None:
        return ""
    return f"""
    chain receive {{
        type nat hook prerouting priority -90; policy accept;
        iif . ip saddr @sources {_TO_ACCEPTED} fib daddr type local \
            dnat to {plan.host}
    }}
    chain name {{
        type nat hook input priority 100; policy accept;
        iif . ip saddr @sources {_TO_ACCEPTED} snat to iif map @own_of
    }}
    chain refuse {{
        type filter hook output priority 0; policy accept;
        oifname "{OWNER}" ip daddr {plan.network} reject with icmp type host-unreachable
    }}
"""


def _admit_replies(plan: Plan) -> str:
    """Replies of containers to what a camera has sent them; those of hosts of shared networks, too."""
    if plan.network is None:
        return ""
    return "iif != @closed ct direction reply meta mark set ip daddr map @interface_of"


def _pass_shared() -> str:
    return f"""iif != @closed {_OURS} accept
        oifname "{OWNER}" reject with icmp type host-unreachable
        iif @{OPENED} drop"""


def _sharing(plan: Plan) -> str:
    """The chains that admit hosts of shared networks, and no others: no camera with such an address."""
    shared = ", ".join(map(str, plan.shared))
    return f"""
    chain admit {{
        type filter hook prerouting priority -150; policy accept;
        iif != @closed ip saddr {{ {shared} }} meta mark set ip daddr map @interface_of
    }}
    chain arrive {{
        type nat hook prerouting priority -100; policy accept;
        iif != @closed ip saddr {{ {shared} }} dnat to ip daddr map @camera_of
    }}
"""


def _elements(found: Collection[str]) -> str:
    return f"elements = {{ {', '.join(found)} }}" if found else ""


def _lines(rules: Iterable[str]) -> str:
    return "\n".join(f"        {rule}" for rule in rules)
