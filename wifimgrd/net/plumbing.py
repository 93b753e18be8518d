"""Makes the kernel's tables what a plan says, keeps them so, and takes all of it away again."""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.net import iproute
from wifimgrd.net.iproute import IpError
from wifimgrd.net.nftables import Nftables, NftablesError
from wifimgrd.net.plan import LARGEST_INDEX, OWNER, TABLE_NAME, Plan, conflict, forget, marks_of

_log = structlog.get_logger()

_OWNER_KINDS: Final = ("dummy", "bridge")
"""What the owner of the network may be; a bridge without ports does it where a kernel has no dummy."""
_SETTINGS: Final = Path("/proc/sys/net/ipv4/conf")
_RP_FILTER: Final = "rp_filter"
_LOOSE: Final = "2"
"""A reply is accepted where some route leads to its sender. The kernel takes the larger of
this and `all`: https://docs.kernel.org/networking/ip-sysctl.html"""


class Conflict(Exception):
    """The cameras' network is another's on this host; the text says whose."""


class Plumbing:
    """The one who changes the kernel's tables."""

    def __init__(self) -> None:
        self._nftables = Nftables()
        self._plan: Plan | None = None
        """What stands."""
        self._listing = ""
        """How it reads."""
        self._marks: list[int] = []
        """Those that have rules."""
        self._ready: set[int] = set()
        """Those whose ways were made."""
        self._loosened: dict[str, str] = {}
        """The interfaces whose rp_filter is changed, and what it was."""

    def apply(self, plan: Plan) -> None:
        """Make it so; nothing happens where it is so. Raises Conflict, with nothing of ours left, and
        IpError, NftablesError."""
        if self._plan is None or self._plan.network != plan.network:
            self._begin(plan.network)
        elif plan == self._plan:
            return
        self._change(plan)

    def check(self) -> bool:
        """Put right what somebody else has changed, and say whether there was any; raises as `apply`."""
        plan = self._plan
        if plan is None:
            return False
        routes = iproute.listed("route", "show", "table", "all")
        if found := conflict(plan.network, routes):
            self._take_away()
            raise Conflict(found)
        rules = iproute.listed("rule", "show")
        if plan.holds(rules, routes) and self._list() == self._listing:
            return False
        self._begin(plan.network)
        self._change(plan)
        return True

    def clear(self) -> None:
        """Take everything away, also what an earlier life has left; raises IpError, NftablesError."""
        self._take_away()

    def close(self) -> None:
        """What stands stays."""
        self._nftables.close()

    def _begin(self, network: IPv4Network) -> None:
        """Own the network, after a look whether nobody else does."""
        if found := conflict(network, iproute.listed("route", "show", "table", "all")):
            self._take_away()
            raise Conflict(found)
        host = network.broadcast_address - 1
        if not _has_owner():
            self._make_owner()
        iproute.batch(
            [
                f"address flush dev {OWNER}",
                f"address add {host}/32 dev {OWNER}",
                f"link set {OWNER} up",
                f"route replace {network} dev {OWNER} src {host}",
            ]
        )
        self._plan = None
        self._ready = set()
        self._marks = marks_of(iproute.listed("rule", "show"))
        for mark in self._marks:
            self._remember_of_old(mark)

    def _make_owner(self) -> None:
        for kind in _OWNER_KINDS:
            try:
                iproute.batch([f"link add {OWNER} type {kind}"])
            except IpError as error:
                _log.debug("owner_kind_refused", kind=kind, reason=str(error))
            else:
                return
        raise IpError(f"the kernel makes no interface {OWNER}, neither {' nor '.join(_OWNER_KINDS)}")

    def _change(self, plan: Plan) -> None:
        """Where the ways are ready, as they are for a camera that was seen to be joined, the maps that send
        packets there change at once, in one transaction; what leads nowhere goes last."""
        connected = {camera.mark for camera in plan.connected}
        fills = self._plan is not None and self._plan.network == plan.network
        if not (fills and connected <= self._ready):
            self._make_ways(plan)
        self._nftables.run(plan.elements() if fills else plan.ruleset())
        self._plan, self._listing = plan, self._list()
        if fills:
            self._make_ways(plan)  # NetworkManager may have flushed the interface meanwhile
        gone = [mark for mark in self._marks if mark not in plan.marks]
        self._marks, self._ready = list(plan.marks), set(plan.marks)
        iproute.batch(forget(gone))
        for interface in set(self._loosened) - {camera.interface for camera in plan.cameras}:
            self._tighten(interface)

    def _make_ways(self, plan: Plan) -> None:
        for camera in plan.cameras:
            self._loosen(camera.interface)
        iproute.batch(plan.additions(self._marks) + plan.ways(connected=True))
        self._marks = [*self._marks, *(mark for mark in plan.marks if mark not in self._marks)]
        with suppress(IpError):  # it is not up yet, and gets its way once it is
            iproute.batch(plan.ways(connected=False))

    def _list(self) -> str:
        try:
            return self._nftables.run(f"list table ip {TABLE_NAME}")
        except NftablesError:
            return ""

    def _take_away(self) -> None:
        self._plan = None
        self._nftables.run(f"table ip {TABLE_NAME} {{}}; delete table ip {TABLE_NAME}")
        marks = marks_of(iproute.listed("rule", "show"))
        iproute.batch(forget(marks))
        self._marks = []
        for mark in marks:
            self._remember_of_old(mark)
        for interface in list(self._loosened):
            self._tighten(interface)
        if _has_owner():
            iproute.batch([f"link del {OWNER}"])

    def _loosen(self, interface: str) -> None:
        """Let replies of cameras in, which a strict rp_filter drops: the main table leads elsewhere."""
        setting = _SETTINGS / interface / _RP_FILTER
        try:
            before = setting.read_text().strip()
            if before != _LOOSE:
                setting.write_text(_LOOSE)
                self._loosened[interface] = before
        except OSError as error:
            _log.warning("rp_filter_unchanged", interface=interface, reason=error.strerror)

    def _tighten(self, interface: str) -> None:
        """Give the setting back, where its interface is still there."""
        before = self._loosened.pop(interface)
        with suppress(OSError):
            (_SETTINGS / interface / _RP_FILTER).write_text(before)

    def _remember_of_old(self, mark: int) -> None:
        """An interface that an earlier life had loosened had the default before, as far as can be known."""
        with suppress(OSError):
            interface = socket.if_indextoname(mark & LARGEST_INDEX)
            self._loosened.setdefault(interface, (_SETTINGS / "default" / _RP_FILTER).read_text().strip())


def _has_owner() -> bool:
    with suppress(OSError):
        return socket.if_nametoindex(OWNER) > 0
    return False
