"""Makes the kernel's tables what a plan says, keeps them so, and takes all of it away again."""

from __future__ import annotations

import socket
from collections.abc import Collection, Sequence
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.net import iproute
from wifimgrd.net.commands import CommandError
from wifimgrd.net.forwarding import Forwarding, doors
from wifimgrd.net.iproute import ReadyBatch
from wifimgrd.net.nftables import Nftables, NftablesError
from wifimgrd.net.plan import (
    LARGEST_INDEX,
    OPENED,
    OWNER,
    TABLE_NAME,
    Camera,
    Plan,
    conflict,
    forget,
    marks_of,
)

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
        self._batch = ReadyBatch()
        self._plan: Plan | None = None
        """What stands."""
        self._listing = ""
        """How it reads."""
        self._marks: list[int] = []
        """Those that have rules."""
        self._forwarding = Forwarding()
        self._loosened: dict[str, str] = {}
        """The interfaces whose rp_filter is changed, and what it was."""

    def apply(self, plan: Plan) -> None:
        """Make it so; nothing happens where it is so. Raises Conflict, with nothing of ours left, and
        CommandError, NftablesError."""
        if self._plan is None or self._base(self._plan) != self._base(plan):
            self._begin(plan.network)
        elif plan == self._plan:
            return
        self._change(plan)

    def changed(self) -> str:
        """What is not as it was made, if anything; raises as `apply`."""
        plan = self._plan
        if plan is None:
            return ""
        routes = iproute.listed("route", "show", "table", "all")
        if found := conflict(plan.network, routes):
            self._take_away()
            raise Conflict(found)
        if not plan.holds(iproute.listed("rule", "show"), routes):
            return "routing"
        if not self._listing or self._list() != self._listing:  # it may have gone while it was made
            return "nftables"
        return "forwarding" if self._forwarding.opened != self._to_open(plan).keys() else ""

    def restore(self) -> None:
        """Make it all anew; raises as `apply`."""
        if (plan := self._plan) is not None:
            self._begin(plan.network)
            self._change(plan)

    def get_ready(self) -> None:
        """Prepare for the next change, while nobody waits for it; raises CommandError."""
        if self._plan is not None:
            self._batch.get_ready()

    def clear(self) -> None:
        """Take everything away, also what an earlier life has left; raises CommandError, NftablesError."""
        self._take_away()

    def close(self) -> None:
        """What stands stays."""
        self._batch.close()
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
        self._recall_forwarding()
        self._plan = None
        self._marks = marks_of(iproute.listed("rule", "show"))
        for mark in self._marks:
            self._remember_of_old(mark)

    def _make_owner(self) -> None:
        for kind in _OWNER_KINDS:
            try:
                iproute.batch([f"link add {OWNER} type {kind}"])
            except CommandError as error:
                _log.debug("owner_kind_refused", kind=kind, reason=str(error))
            else:
                return
        raise CommandError(f"the kernel makes no interface {OWNER}, neither {' nor '.join(_OWNER_KINDS)}")

    def _change(self, plan: Plan) -> None:
        """First the ways, then, in one transaction, the maps that send packets there; what leads nowhere
        goes last. A way that cannot be made, of an interface that has just gone down, harms no other camera.
        """
        standing = self._plan  # none where the base is another one
        opening = self._to_open(plan)
        self._forwarding.close(keep=opening)
        failure: CommandError | None = None
        try:
            self._make_ways(plan, () if standing is None else standing.cameras)
        except CommandError as error:
            failure = error
        self._nftables.run(plan.ruleset(opening) if standing is None else plan.elements(opening))
        self._forwarding.open(opening)
        self._plan, self._listing = plan, self._list()
        gone = [mark for mark in self._marks if mark not in plan.marks]
        self._marks = list(plan.marks)
        self._forget(gone)
        for interface in set(self._loosened) - {camera.interface for camera in plan.cameras}:
            self._tighten(interface)
        if failure is not None:
            raise failure

    @staticmethod
    def _base(plan: Plan) -> tuple[IPv4Network, tuple[IPv4Network, ...]]:
        """What the chains are made of; the rest is elements of sets and maps."""
        return plan.network, plan.shared

    def _to_open(self, plan: Plan) -> dict[int, str]:
        if not plan.shared:
            return {}
        cameras = {camera.interface for camera in plan.cameras}
        return self._forwarding.wanted((doors(plan.shared) - {OWNER, "lo"}) | cameras)

    def _make_ways(self, plan: Plan, standing: Collection[Camera]) -> None:
        for camera in plan.cameras:
            self._loosen(camera.interface)
        commands = plan.additions(self._marks) + plan.ways(but=standing)
        self._marks = [*self._marks, *(mark for mark in plan.marks if mark not in self._marks)]
        self._batch.run(commands)

    def _forget(self, marks: Sequence[int]) -> None:
        """Take the rules and routes of marks away.

        NetworkManager takes routes away at the same time, when a link ends: where one that is to go has just
        gone, `ip` leaves the others.
        """
        try:
            self._batch.run(forget(marks))
        except CommandError:
            rules = marks_of(iproute.listed("rule", "show"))
            tables = {str(route.get("table")) for route in iproute.listed("route", "show", "table", "all")}
            if left := [mark for mark in marks if mark in rules or str(mark) in tables]:
                _log.debug("forgotten_again", marks=left)
                iproute.batch(forget(left, rules=rules))

    def _list(self) -> str:
        try:
            return self._nftables.run(f"list table ip {TABLE_NAME}")
        except NftablesError:
            return ""

    def _take_away(self) -> None:
        self._plan = None
        self._batch.close()
        self._recall_forwarding()
        self._forwarding.close()
        self._nftables.run(f"table ip {TABLE_NAME} {{}}; delete table ip {TABLE_NAME}")
        marks = marks_of(iproute.listed("rule", "show"))
        self._forget(marks)
        self._marks = []
        for mark in marks:
            self._remember_of_old(mark)
        for interface in list(self._loosened):
            self._tighten(interface)
        if _has_owner():
            iproute.batch([f"link del {OWNER}"])

    def _recall_forwarding(self) -> None:
        with suppress(NftablesError):
            self._forwarding.remember(self._nftables.run(f"list set ip {TABLE_NAME} {OPENED}"))

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
