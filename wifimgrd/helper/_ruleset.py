"""The frame of `table ip wifimgrd`: what is there without a camera, too.

The table translates addresses and lets nothing in from a camera but what is listed there. Beside it,
`table netdev wifimgrd` limits what arrives beside IPv4.
"""

from __future__ import annotations

from typing import Final

from wifimgrd.helper._plan import MARKS, MARKS_MASK, OWNER, SOCKET_MARKS, Plan

TABLE_NAME: Final = "wifimgrd"
"""The name of both tables."""
OPENED: Final = "opened"
"""The set of interfaces whose forwarding the helper has switched on."""
_OURS: Final = f"meta mark & {MARKS_MASK:#x} == {MARKS:#x}"
TO_ACCEPTED: Final = "iif . meta l4proto . th dport @accepted"
NEW_FLOW: Final = "ct status & confirmed == 0"
"""The first packet of a flow. `ct state new` would be every datagram of a stream that nobody replies to."""
_VARIABLE: Final = (
    ("map", "interface_of", "ipv4_addr : mark"),
    ("map", "camera_of", "ipv4_addr : ipv4_addr"),
    ("map", "own_of", "iface_index : ipv4_addr"),
    ("map", "mark_of", "iface_index : mark"),
    ("map", "zone_of", "iface_index : verdict"),
    ("map", "zone_at", "ipv4_addr : verdict"),
    ("map", "flood_of", "iface_index : verdict"),
    ("set", "routes", "iface_index . mark"),
    ("set", "closed", "iface_index"),
    ("set", "sources", "iface_index . ipv4_addr"),
    ("set", "accepted", "iface_index . inet_proto . inet_service"),
    ("set", "sockets", "iface_index . mark . ipv4_addr"),
)
"""The maps and sets whose elements depend on the cameras."""


def frame(plan: Plan) -> str:
    """The commands that replace any earlier table by one for a plan's networks, still without cameras.

    The chains, in the order in which a packet passes them:

    - `enter`, `leave_zone`: the conntrack zone of each camera, because cameras with equal addresses have
      equal connections; the mark with which the reverse path of a camera's packets is checked; and sockets
      that the helper has opened reach only their camera.
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
    variable = (*_VARIABLE, ("set", OPENED, "iface_index")) if plan.shared else _VARIABLE
    declared = "\n".join(f"    {kind} {name} {{ type {key}; }}" for kind, name, key in variable)
    return f"""
table ip {TABLE_NAME} {{}}
delete table ip {TABLE_NAME}
table ip {TABLE_NAME} {{
{declared}
    chain enter {{
        type filter hook prerouting priority -300; policy accept;
        iif vmap @zone_of
        iif != @closed ip daddr vmap @zone_at
        iif . ip saddr @sources meta mark set iif map @mark_of
    }}
    chain screen {{
        type filter hook prerouting priority -150; policy accept;
        iif @closed jump admitted
        {_admit_replies(plan)}
    }}
    chain admitted {{
        iif vmap @flood_of
        ct state established return
        meta l4proto icmp ct state related return
        iif . ip saddr @sources icmp type echo-request return
        udp sport 67 udp dport 68 return
        iif . ip saddr @sources {TO_ACCEPTED} return
        drop
    }}
    chain leave_zone {{
        type filter hook output priority -300; policy accept;
        meta mark & {MARKS_MASK:#x} == {SOCKET_MARKS:#x} oif . meta mark . ip daddr != @sockets drop
        oif vmap @zone_of
        ip daddr vmap @zone_at
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


def _of_network(plan: Plan) -> str:
    if plan.network is None:
        return ""
    return f"""
    chain receive {{
        type nat hook prerouting priority -90; policy accept;
        iif . ip saddr @sources {TO_ACCEPTED} fib daddr type local \
            dnat to {plan.host}
    }}
    chain name {{
        type nat hook input priority 100; policy accept;
        iif . ip saddr @sources {TO_ACCEPTED} snat to iif map @own_of
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
