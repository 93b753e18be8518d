"""Apply a plan to the kernel's tables, check and restore it, and remove all of it."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

import structlog

from wifimgrd.kernel.host_addresses import broadcast_addresses
from wifimgrd.kernel.nftables import Nftables, NftablesError
from wifimgrd.kernel.routes import delete_broadcast, list_routes, list_rules
from wifimgrd.net import iproute, routing
from wifimgrd.net.commands import CommandError
from wifimgrd.net.forwarding import Forwarding, ingress_interfaces
from wifimgrd.net.iproute import ReadyBatch
from wifimgrd.net.plan import LARGEST_INDEX, MARKS, OWNER, Camera, Plan
from wifimgrd.net.ruleset import OPENED, TABLE_NAME, elements, link_layer, link_layer_trial, ruleset
from wifimgrd.runtime.used_addresses import used_addresses

_log = structlog.get_logger()

_OWNER_KINDS: Final = ("dummy", "bridge")
"""The kinds of interface that can own the network; a bridge without ports for kernels without dummy."""
_SETTINGS: Final = Path("/proc/sys/net/ipv4/conf")
_VALID_MARK: Final = "src_valid_mark"
_WANTED_SETTINGS: Final = {"rp_filter": "2", _VALID_MARK: "1"}
"""Of each camera's interface. The reverse path of a packet is looked up with its mark, which selects the
camera's own routing table; any other packet is accepted if there is any route to its sender. The kernel uses
the larger of these and `all`: https://docs.kernel.org/networking/ip-sysctl.html

The second is set for interfaces whose forwarding is switched on, too: the reverse path of what is forwarded
is looked up as if it came in by the camera's interface, where the rules let nothing pass that has no mark."""


class Conflict(Exception):
    """The cameras' network overlaps another one of this host; the message names it."""


class KernelState:
    """The helper's state in the kernel; the only class that changes it."""

    def __init__(self) -> None:
        self._nftables = Nftables()
        self._batch = ReadyBatch()
        self._wanted: Plan | None = None
        """The plan that was last passed to `apply`."""
        self._plan: Plan | None = None
        """The plan that was applied: the wanted one, without its network where that is in conflict."""
        self._is_complete = False
        """Whether the last change had no failure: after one the same plan is applied again."""
        self._conflict = ""
        self._listing = ""
        """The nftables tables as listed after that."""
        self._link_layer = ""
        """The netdev table that was applied."""
        self._has_link_layer = True
        """False where the kernel has no tables of family netdev."""
        self._is_settled = True
        """Whether the routes in `main` were changed after that."""
        self._marks: list[int] = []
        """The marks that have rules."""
        self._gates: set[str] = set()
        """The rules of `routing.gates` that are in the kernel."""
        self._forwarding = Forwarding()
        self._refused_settings: set[tuple[str, str]] = set()
        """The settings that could not be made, by interface and name."""
        self._changed_settings: dict[tuple[str, str], str] = {}
        """What settings of interfaces were before they were changed, by interface and name."""

    @property
    def nftables_port(self) -> int:
        """The netlink port that its changes of nftables come from."""
        return self._nftables.port

    def hosts_own(self, interfaces: Iterable[str]) -> set[str]:
        """Those of the interfaces that carry a connection of this host. Those of cameras, of this run or of
        one that was killed, do not: what `main` has through them is deleted. Raises CommandError."""
        held = () if self._wanted is None else self._wanted.cameras
        new = set(interfaces).difference(one.interface for one in held)
        if not new or not (own := new & routing.carrying(_all_routes())):
            return set()
        marks = routing.marks_of(_all_rules())
        return {interface for interface in own if not _has_mark(interface, marks)}

    def apply(self, plan: Plan) -> None:
        """Apply a plan; does nothing if it is applied completely. Raises CommandError, NftablesError, and
        Conflict, after the plan without its network was applied."""
        same_base = self._wanted is not None and _base(self._wanted) == _base(plan)
        if same_base and plan == self._plan and self._is_complete:
            return
        found = "" if same_base and not self._conflict else routing.conflict(plan, _all_routes())
        self._apply_checked(plan, found)

    def changed(self) -> str:
        """The part of the state that was changed since it was applied, or empty; raises as `apply`."""
        plan = self._plan
        if plan is None or self._wanted is None:
            return ""
        routes = _all_routes()
        if not self._conflict and (found := routing.conflict(self._wanted, routes)):
            self._apply_checked(self._wanted, found)
        direct = routing.direct_cameras(plan, routes, used_addresses())
        gates = routing.gates(plan, self._to_open(plan).values())
        if not routing.is_complete(plan, direct, gates, _all_rules(), routes):
            return "routing"
        if (
            not self._listing or self._list() != self._listing
        ):  # the table may have been deleted while it was applied
            return "nftables"
        to_open = self._to_open(plan)
        if self._forwarding.opened != to_open.keys() or not self._forwarding.is_on:
            return "forwarding"
        return "" if self._has_settings(plan, to_open.values()) else "settings"

    def restore(self) -> None:
        """Apply the plan again completely, but for cameras whose interface is gone; raises as `apply`."""
        if self._plan is not None:
            plan = replace(self._plan, cameras=tuple(filter(_is_present, self._plan.cameras)))
            self._is_complete = False
            self._prepare_network(plan.network)
            self._change(plan)
            self._is_complete = True
            self.settle()

    def settle(self) -> None:
        """Do what nobody waits for: the routes in `main`, and the preparation of the next change. Raises
        CommandError."""
        if self._plan is not None:
            if not self._is_settled:
                self._set_direct_routes(self._plan)
                self._is_settled = True
            self._batch.get_ready()

    def take_broadcasts(self) -> None:
        """Make the broadcast addresses of cameras' links such ones for what comes from the cameras alone.
        Raises CommandError."""
        if self._plan is not None:
            taken = self._delete_broadcasts(self._plan)
            reachable = [one for one in self._plan.reachable if one in taken]
            iproute.batch([line for one in reachable for line in _broadcast_routes(one)])

    def clear(self) -> None:
        """Remove everything, also what an earlier run has left; raises CommandError, NftablesError."""
        self._remove_all()

    def close(self) -> None:
        """Free the resources of this process; the kernel state stays."""
        self._batch.close()
        self._nftables.close()

    def _apply_checked(self, plan: Plan, conflict: str) -> None:
        self._wanted, self._conflict = plan, conflict
        effective = plan.without_network() if conflict else plan
        was_complete, self._is_complete = self._is_complete, False
        if self._plan is None or not was_complete or _base(self._plan) != _base(effective):
            self._prepare_network(effective.network)
        if effective != self._plan:
            self._change(effective)
        self._is_complete = True
        if conflict:
            raise Conflict(conflict)

    def _prepare_network(self, network: IPv4Network | None) -> None:
        """Create the interface that owns the network, or remove it where there is none."""
        if network is None:
            _delete_owner()
        else:
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
        self._recall()

    def _make_owner(self) -> None:
        for kind in _OWNER_KINDS:
            try:
                iproute.batch([f"link add {OWNER} type {kind}"])
            except CommandError as error:
                _log.debug("owner_kind_refused", kind=kind, reason=str(error))
            else:
                return
        raise CommandError(f"the kernel makes no interface {OWNER}, neither {' nor '.join(_OWNER_KINDS)}")

    def _recall(self) -> None:
        """Find what this or an earlier run has left in the kernel."""
        with suppress(NftablesError):
            self._forwarding.remember(self._nftables.run(f"list set ip {TABLE_NAME} {OPENED}"))
        self._plan = None
        self._link_layer = ""
        rules = _all_rules()
        self._marks = routing.marks_of(rules)
        self._gates = routing.gates_of(rules)
        for mark in self._marks:
            self._assume_defaults(mark & LARGEST_INDEX)
        for index in self._forwarding.opened:
            self._assume_defaults(index, (_VALID_MARK,))

    def _change(self, plan: Plan) -> None:
        """Add routes first, then, in one transaction, the maps that direct packets to them; unused rules and
        routes are deleted last. A route that fails, because its interface has just gone down, affects no
        other camera.
        """
        applied = self._plan  # None where the base has changed
        to_open = self._to_open(plan)
        gates = routing.gates(plan, to_open.values())
        self._forwarding.close(keep=to_open)
        failure: CommandError | None = None
        try:
            for interface in to_open.values():
                self._change_setting(interface, _VALID_MARK, _WANTED_SETTINGS[_VALID_MARK])
            self._add_routes(plan, () if applied is None else applied.cameras, gates - self._gates)
        except CommandError as error:
            failure = error
        self._gates |= gates
        self._delete_broadcasts(plan)
        self._nftables.run(ruleset(plan, to_open) if applied is None else elements(plan, to_open))
        self._limit_link_layer(plan)
        self._forwarding.open(to_open)
        self._plan, self._listing = plan, self._list()
        gone = [mark for mark in self._marks if mark not in plan.marks]
        self._marks = list(plan.marks)
        self._forget(gone, self._gates - gates)
        self._gates = set(gates)
        kept = {camera.interface for camera in plan.reachable}
        for interface, name in list(self._changed_settings):
            if interface not in kept and (name != _VALID_MARK or interface not in to_open.values()):
                self._restore_setting(interface, name)
        # What nobody waits for takes long, so it is not done while a link is coming up: until then the helper
        # only closes it.
        self._is_settled = self._is_settled and applied is not None and applied.reachable == plan.reachable
        if failure is not None:
            raise failure

    def _to_open(self, plan: Plan) -> dict[int, str]:
        if not plan.shared:
            return {}
        cameras = {camera.interface for camera in plan.reachable}
        return self._forwarding.wanted((ingress_interfaces(plan.shared) - {OWNER, "lo"}) | cameras)

    def _add_routes(self, plan: Plan, applied: Collection[Camera], gates: Collection[str]) -> None:
        for camera in plan.reachable:
            for name, value in _WANTED_SETTINGS.items():
                self._change_setting(camera.interface, name, value)
        commands = routing.additions(plan, self._marks) + routing.camera_routes(plan, but=applied)
        for camera in plan.reachable:
            if camera not in applied:
                commands += _broadcast_routes(camera)
        self._marks = [*self._marks, *(mark for mark in plan.marks if mark not in self._marks)]
        self._batch.run([f"rule add {gate}" for gate in sorted(gates)] + commands)

    def _delete_broadcasts(self, plan: Plan) -> list[Camera]:
        """Delete the broadcast addresses of cameras' links from the table `local`, which decides first on all
        packets of the host; returns the cameras."""
        found = routing.broadcasts(plan, _all_routes())
        for address, camera in found:
            try:
                delete_broadcast(address, camera.index)
            except OSError as error:  # its interface has just gone
                _log.debug("broadcast_not_deleted", interface=camera.interface, reason=str(error))
        return [camera for _, camera in found]

    def _set_direct_routes(self, plan: Plan) -> None:
        """Make the routes in `main`, and delete those that NetworkManager or an earlier version has made."""
        routes = _all_routes()
        direct = routing.direct_cameras(plan, routes, used_addresses())
        if unwanted := routing.unwanted_routes(plan, routes):
            _log.warning("routes_deleted", routes=unwanted)
        commands = [
            *routing.stale_routes(plan, routes),
            *unwanted,
            *routing.direct_routes(direct, routes),
        ]
        try:
            iproute.batch(commands)
        except (
            CommandError
        ) as error:  # one has gone by itself, or its interface has; the next check repeats it
            _log.debug("direct_routes_unchanged", reason=str(error))

    def _forget(self, marks: Sequence[int], gates: Collection[str] = ()) -> None:
        """Delete the rules and routes of marks, and gates.

        NetworkManager deletes routes at the same time, when a link ends: if one of the routes to delete has
        just gone, `ip` leaves the others.
        """
        try:
            self._batch.run([f"rule del {gate}" for gate in sorted(gates)] + routing.forget(marks))
        except CommandError:
            listed = _all_rules()
            rules = routing.marks_of(listed)
            tables = {str(route.get("table")) for route in _all_routes()}
            left = [mark for mark in marks if mark in rules or str(mark) in tables]
            if commands := [
                *(f"rule del {gate}" for gate in sorted(routing.gates_of(listed).intersection(gates))),
                *routing.forget(left, rules=rules),
            ]:
                _log.debug("forgotten_again", marks=left)
                iproute.batch(commands)

    def _limit_link_layer(self, plan: Plan) -> None:
        """Apply the netdev table. An interface that the kernel refuses, as one that has just gone, is left
        out, and tried again with the next plan."""
        wanted = link_layer(plan.cameras)
        if not self._has_link_layer or wanted == self._link_layer:
            return
        try:
            self._nftables.run(wanted)
        except NftablesError:
            self._has_link_layer = not self._refusal_of()
            wanted = self._limit_link_layer_of_some(plan) if self._has_link_layer else ""
        self._link_layer = wanted

    def _limit_link_layer_of_some(self, plan: Plan) -> str:
        wanted = link_layer([one for one in plan.cameras if not self._refusal_of(one)])
        try:
            self._nftables.run(wanted)
        except NftablesError as error:  # one has gone meanwhile: the table is as it was before
            _log.warning("link_layer_unchanged", reason=str(error))
            return ""
        return wanted

    def _refusal_of(self, *cameras: Camera) -> str:
        """Why the kernel has no netdev table for these cameras; empty where it has."""
        try:
            self._nftables.run(link_layer_trial(cameras))
        except NftablesError as error:
            _log.warning(
                "link_layer_open", interfaces=[one.interface for one in cameras] or "all", reason=str(error)
            )
            return str(error)
        return ""

    def _list(self) -> str:
        try:
            listing = self._nftables.run(f"list table ip {TABLE_NAME}")
            if self._link_layer:
                listing += self._nftables.run(f"list table netdev {TABLE_NAME}")
        except NftablesError:
            return ""
        return listing

    def _remove_all(self) -> None:
        self._batch.close()
        self._recall()
        self._wanted, self._conflict = None, ""
        self._forwarding.close()
        self._nftables.run(f"table ip {TABLE_NAME} {{}}; delete table ip {TABLE_NAME}")
        with suppress(NftablesError):  # where the kernel has no such tables, there is none
            self._nftables.run(f"table netdev {TABLE_NAME} {{}}; delete table netdev {TABLE_NAME}")
        self._forget(self._marks, self._gates)
        self._marks, self._gates = [], set()
        for interface, name in list(self._changed_settings):
            self._restore_setting(interface, name)
        _delete_owner()
        _delete_direct_routes()

    def _has_settings(self, plan: Plan, opened: Iterable[str]) -> bool:
        """Whether the interfaces have the settings that were made; one that cannot be read has gone."""
        wanted = [(one.interface, *setting) for one in plan.reachable for setting in _WANTED_SETTINGS.items()]
        wanted += [(interface, _VALID_MARK, _WANTED_SETTINGS[_VALID_MARK]) for interface in opened]
        for interface, name, value in wanted:
            with suppress(OSError):
                is_set = (_SETTINGS / interface / name).read_text().strip() == value
                if not is_set and (interface, name) not in self._refused_settings:
                    return False
        return True

    def _change_setting(self, interface: str, name: str, value: str) -> None:
        setting = _SETTINGS / interface / name
        try:
            before = setting.read_text().strip()
            if before != value:
                setting.write_text(value)
                self._changed_settings[interface, name] = before
            self._refused_settings.discard((interface, name))
        except OSError as error:
            self._refused_settings.add((interface, name))
            _log.warning("setting_unchanged", interface=interface, setting=name, reason=error.strerror)

    def _restore_setting(self, interface: str, name: str) -> None:
        """Restore the setting, where its interface still exists."""
        before = self._changed_settings.pop((interface, name))
        with suppress(OSError):
            (_SETTINGS / interface / name).write_text(before)

    def _assume_defaults(self, index: int, names: Iterable[str] = tuple(_WANTED_SETTINGS)) -> None:
        """Assume the defaults as the previous settings of an interface that an earlier run has changed."""
        with suppress(OSError):
            interface = socket.if_indextoname(index)
            for name in names:
                default = (_SETTINGS / "default" / name).read_text().strip()
                self._changed_settings.setdefault((interface, name), default)


def _broadcast_routes(camera: Camera) -> list[str]:
    try:
        return routing.broadcast_routes(camera, broadcast_addresses(camera.index))
    except OSError as error:
        raise CommandError(f"the addresses cannot be listed: {error}") from None


def _base(plan: Plan) -> tuple[IPv4Network | None, tuple[IPv4Network, ...]]:
    """The part of a plan that the chains depend on; the rest is elements of sets and maps."""
    return plan.network, plan.shared


def _all_routes() -> list[dict[str, Any]]:
    """All IPv4 routes; raises CommandError."""
    try:
        return list_routes()
    except OSError as error:
        raise CommandError(f"the routes cannot be listed: {error}") from None


def _all_rules() -> list[dict[str, Any]]:
    """All IPv4 routing rules; raises CommandError."""
    try:
        return list_rules()
    except OSError as error:
        raise CommandError(f"the routing rules cannot be listed: {error}") from None


def _delete_direct_routes() -> None:
    """Delete the routes in `main`. One that goes at the same time, with its interface, is not listed any
    more the second time."""
    try:
        iproute.batch(routing.direct_routes((), _all_routes()))
    except CommandError as error:
        _log.debug("direct_routes_deleted_again", reason=str(error))
        iproute.batch(routing.direct_routes((), _all_routes()))


def _is_present(camera: Camera) -> bool:
    with suppress(OSError):
        return socket.if_nametoindex(camera.interface) == camera.index
    return False


def _has_mark(interface: str, marks: Collection[int]) -> bool:
    with suppress(OSError):
        return MARKS + socket.if_nametoindex(interface) in marks
    return False


def _has_owner() -> bool:
    with suppress(OSError):
        return socket.if_nametoindex(OWNER) > 0
    return False


def _delete_owner() -> None:
    if _has_owner():
        iproute.batch([f"link del {OWNER}"])
