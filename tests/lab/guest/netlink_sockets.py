"""Who listens to the kernel over netlink: https://docs.kernel.org/filesystems/proc.html."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class NetlinkSocket:
    """One line of /proc/net/netlink."""

    protocol: int
    port: int
    groups: int
    drops: int
    """How many messages did not fit."""


def netlink_sockets() -> list[NetlinkSocket]:
    """All of them."""
    lines = [line.split() for line in Path("/proc/net/netlink").read_text().splitlines()[1:]]
    return [
        NetlinkSocket(int(protocol), int(port), int(groups, 16), int(drops))
        for _, protocol, port, groups, _, _, _, _, drops, _ in lines
    ]
