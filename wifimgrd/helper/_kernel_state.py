"""Apply a plan to the kernel's tables, check and restore it, and remove all of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.helper import _routing as routing
from wifimgrd.helper._contents import Contents
from wifimgrd.helper._forwarding import Forwarding, ingress_interfaces
from wifimgrd.helper._plan import LARGEST_INDEX, MARKS, OWNER, Camera, Plan, changed_cameras
from wifimgrd.helper._tables import Tables
from wifimgrd.kernel.addresses import Address, list_addresses
from wifimgrd.kernel.host_addresses import broadcast_addresses
from wifimgrd.kernel.links import Link, index_of, name_of
from wifimgrd.kernel.nftables import Nftables, NftablesError
from wifimgrd.kernel.routes import LOCAL, MAIN, Route, RouteKind, list_routes
from wifimgrd.kernel.rtnetlink import Action, Change, KernelError, carry_out, together
from wifimgrd.kernel.rules import Rule, list_rules
from wifimgrd.runtime.used_addresses import used_addresses

_log = structlog.get_logger()

_OWNER_KINDS: Final = ("dummy", "bridge")
"""The kinds of interface that can own the network; a bridge without ports for kernels without dummy."""
_SETTINGS: Final = Path("/proc/sys/net/ipv4/conf")
_LONGEST_SETTING: Final = 32
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
        self._tables = Tables(Nftables())
        self._wanted: Plan | None = None
        """The plan that was last passed to `apply`."""
        self._plan: Plan | None = None
        """The plan that was applied: the wanted one, without its network where that is in conflict."""
        self._is_complete = False
        """Whether the last change had no failure: after one the same plan is applied again."""
        self._conflict = ""
        self._is_settled = True
        """Whether the routes in `main` were changed after that."""
        self._marks: set[int] = set()
        """The marks that have rules."""
        self._gates: set[Rule] = set()
        """The rules of `routing.gates` that are in the kernel."""
        self._forwarding = Forwarding()
        self._refused_settings: set[tuple[str, str]] = set()
        """The settings that could not be made, by interface and name."""
        self._changed_settings: dict[tuple[str, str], str] = {}
        """The settings of interfaces as they were before they were changed, by interface and name."""

    @property
    def nftables_port(self) -> int:
        """The netlink port that its changes of nftables come from."""
        return self._tables.port

    @together()
    def hosts_own(self, interfaces: Iterable[str]) -> set[str]:
        """Those of the interfaces that carry a connection of this host. Those of cameras, of this run or of
        one that was killed, do not: what `main` has through them is deleted. Raises KernelError."""
        held = () if self._wanted is None else self._wanted.linked
        new = set(interfaces).difference(one.interface for one in held)
        if not new:
            return set()
        carrying = routing.carrying(list_routes(MAIN))
        own = {interface: index for interface in new if (index := index_of(interface)) in carrying}
        marks = routing.marks_of(list_rules()) if own else ()
        return {interface for interface, index in own.items() if MARKS + index not in marks}

    @together()
    def apply(self, plan: Plan) -> None:
        """Apply a plan; does nothing if it is applied completely. Raises KernelError, NftablesError, and
        Conflict, after the plan without its network was applied."""
        same_base = self._wanted is not None and self._wanted.has_base_of(plan)
        if same_base and plan == self._plan and self._is_complete:
            return
        found = (
            "" if same_base and not self._conflict else routing.conflict(plan, list_routes(), index_of(OWNER))
        )
        self._apply_checked(plan, found)

    @together()
    def changed(self) -> str:
        """The part of the state that was changed since it was applied, or empty; raises as `apply`. First
        does what is still to be done: that it is missing is not another program's work."""
        plan = self._plan
        if plan is None or self._wanted is None:
            return ""
        self.settle()
        self.take_broadcasts()
        routes, owner = list_routes(), index_of(OWNER)
        if not self._conflict and (found := routing.conflict(self._wanted, routes, owner)):
            self._apply_checked(self._wanted, found)
        direct = routing.direct_cameras(plan, routes, used_addresses(), owner)
        gates = routing.gates(plan, self._to_open(plan).values())
        if not routing.is_complete(plan, direct, gates, list_rules(), routes, owner):
            return "routing"
        self.read_back()
        if not self._tables.are_as_written():
            return "nftables"
        to_open = self._to_open(plan)
        if self._forwarding.opened != to_open.keys() or not self._forwarding.is_on:
            return "forwarding"
        return "" if self._has_settings(plan, to_open.values()) else "settings"

    @together()
    def restore(self) -> None:
        """Apply the plan again completely, but for cameras whose interface is gone; raises as `apply`."""
        if self._plan is not None:
            plan = replace(self._plan, cameras=tuple(filter(_is_present, self._plan.cameras)))
            self._is_complete = False
            self._prepare_network(plan.network)
            self._change(plan)
            self._is_complete = True
            self.settle()
            self.read_back()

    def read_back(self) -> None:
        """Read the tables back after a change, for which nobody waits; raises KernelError, NftablesError."""
        if self._plan is not None:
            plan = self._plan
            self._tables.read_back(lambda: Contents.of(plan, self._to_open(plan)))

    def doubt_tables(self) -> None:
        """Have the next check read the nftables tables, whatever has changed them."""
        self._tables.doubt()

    @together()
    def settle(self) -> None:
        """Do what nobody waits for: the routes in `main`. Raises KernelError."""
        if self._plan is not None and not self._is_settled:
            self._set_direct_routes(self._plan)
            self._is_settled = True

    @together()
    def take_broadcasts(self) -> None:
        """Restrict the broadcast addresses of cameras' links to packets from the cameras.
        Raises KernelError."""
        if self._plan is not None:
            taken = self._delete_broadcasts(self._plan)
            reachable = [one for one in self._plan.reachable if one in taken]
            carry_out(change for one in reachable for change in _moved_broadcasts(one))

    @together()
    def clear(self) -> None:
        """Remove everything, also what an earlier run has left; raises KernelError, NftablesError."""
        self._remove_all()

    def close(self) -> None:
        """Free the resources of this process; the kernel state stays."""
        self._tables.close()

    def _apply_checked(self, plan: Plan, conflict: str) -> None:
        self._wanted, self._conflict = plan, conflict
        effective = plan.without_network() if conflict else plan
        was_complete, self._is_complete = self._is_complete, False
        if self._plan is None or not was_complete or not self._plan.has_base_of(effective):
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
            owner = index_of(OWNER) or _make_owner()
            carry_out(
                [
                    *(Change(Action.DELETE, one) for one in list_addresses() if one.index == owner),
                    Change(Action.ADD, Address(owner, host)),
                    Change(Action.SET, Link(OWNER, owner, is_up=True)),
                    Change(Action.REPLACE, Route(network, owner, source=host)),
                ]
            )
        self._recall()

    def _recall(self) -> None:
        """Find what this or an earlier run has left in the kernel."""
        with suppress(NftablesError):
            self._forwarding.remember(self._tables.opened())
        self._plan = None
        self._tables.forget()
        rules = list_rules()
        self._marks = set(routing.marks_of(rules))
        self._gates = routing.gates_of(rules)
        for mark in self._marks:
            self._assume_defaults(mark & LARGEST_INDEX)
        for index in self._forwarding.opened:
            self._assume_defaults(index, (_VALID_MARK,))

    def _change(self, plan: Plan) -> None:
        """Add routes first, then, in one transaction, the maps that direct packets to them; unused rules and
        routes are deleted last. A route that fails, because its interface has just gone down, affects no
        other camera. Cameras that stay as they are cost nothing.
        """
        applied = self._plan  # None where the base has changed
        new = changed_cameras(plan.reachable, () if applied is None else applied.cameras)
        to_open = self._to_open(plan)
        gates = routing.gates(plan, to_open.values())
        self._forwarding.close(keep=to_open)
        failure: KernelError | None = None
        try:
            for interface in to_open.values():
                self._change_setting(interface, _VALID_MARK, _WANTED_SETTINGS[_VALID_MARK])
            self._add_routes(plan, new, gates - self._gates)
        except KernelError as error:
            failure = error
        self._gates |= gates
        linked = changed_cameras(plan.linked, () if applied is None else applied.linked)
        if applied is None or any(one.camera_address is None for one in linked):
            self._delete_broadcasts(plan)
        self._tables.change(Contents.of(plan, to_open))
        self._forwarding.open(to_open)
        self._plan = plan
        gone = self._marks.difference(plan.marks)
        self._marks = set(plan.marks)
        self._forget(gone, self._gates - gates)
        self._gates = set(gates)
        kept = {camera.interface for camera in plan.reachable}
        for interface, name in list(self._changed_settings):
            if interface not in kept and (name != _VALID_MARK or interface not in to_open.values()):
                self._restore_setting(interface, name)
        # The routes that nobody waits for take long, so they are not made while a link is coming up: until
        # then the helper only closes it.
        self._is_settled = self._is_settled and applied is not None and applied.reachable == plan.reachable
        if failure is not None:
            raise failure

    def _to_open(self, plan: Plan) -> dict[int, str]:
        if not plan.shared:
            return {}
        cameras = {camera.interface for camera in plan.reachable}
        return self._forwarding.wanted((ingress_interfaces(plan.shared) - {OWNER, "lo"}) | cameras)

    def _add_routes(self, plan: Plan, new: Collection[Camera], gates: Collection[Rule]) -> None:
        for camera in new:
            for name, value in _WANTED_SETTINGS.items():
                self._change_setting(camera.interface, name, value)
        changes = [Change(Action.ADD, gate) for gate in sorted(gates, key=str)]
        changes += routing.additions(plan, self._marks) + routing.camera_routes(new)
        for camera in new:
            changes += _moved_broadcasts(camera)
        self._marks.update(plan.marks)
        carry_out(changes)

    def _delete_broadcasts(self, plan: Plan) -> list[Camera]:
        """Delete the broadcast addresses of cameras' links from the table `local`, which decides first on all
        packets of the host; returns the cameras."""
        found = routing.broadcasts(plan, list_routes(LOCAL, RouteKind.BROADCAST))
        try:
            carry_out(Change(Action.DELETE, route) for route, _ in found)
        except KernelError as error:
            _log.debug("broadcasts_not_deleted", reason=str(error))
        return [camera for _, camera in found]

    def _set_direct_routes(self, plan: Plan) -> None:
        """Make the routes in `main`, and delete those that NetworkManager or an earlier version has made."""
        routes = list_routes()
        direct = routing.direct_cameras(plan, routes, used_addresses(), index_of(OWNER))
        if unwanted := routing.unwanted_routes(plan, routes):
            _log.warning("routes_deleted", routes=[str(one) for one in unwanted])
        stale = [*routing.stale_routes(plan, routes), *unwanted]
        try:
            carry_out(
                [
                    *(Change(Action.DELETE, one) for one in stale),
                    *routing.direct_routes(direct, routes),
                ]
            )
        except KernelError as error:  # an interface has just gone; the next check repeats it
            _log.debug("direct_routes_unchanged", reason=str(error))

    @staticmethod
    def _forget(marks: Collection[int], gates: Iterable[Rule] = ()) -> None:
        """Delete the rules and routes of marks, and gates.

        NetworkManager deletes routes at the same time, when a link ends.
        """
        changes = [Change(Action.DELETE, gate) for gate in sorted(gates, key=str)]
        for mark in sorted(marks):
            changes += routing.forget(mark, list_routes(mark))
        carry_out(changes)

    def _remove_all(self) -> None:
        self._recall()
        self._wanted, self._conflict = None, ""
        self._forwarding.close()
        self._tables.remove()
        self._forget(self._marks, self._gates)
        self._marks, self._gates = set(), set()
        for interface, name in list(self._changed_settings):
            self._restore_setting(interface, name)
        _delete_owner()
        carry_out(routing.direct_routes((), list_routes()))

    def _has_settings(self, plan: Plan, opened: Iterable[str]) -> bool:
        """Whether the interfaces have the settings that were made; one that cannot be read has gone."""
        wanted = [(one.interface, *setting) for one in plan.reachable for setting in _WANTED_SETTINGS.items()]
        wanted += [(interface, _VALID_MARK, _WANTED_SETTINGS[_VALID_MARK]) for interface in opened]
        for interface, name, value in wanted:
            with suppress(OSError):
                is_set = _setting(interface, name) == value
                if not is_set and (interface, name) not in self._refused_settings:
                    return False
        return True

    def _change_setting(self, interface: str, name: str, value: str) -> None:
        try:
            before = _setting(interface, name)
            if before != value:
                (_SETTINGS / interface / name).write_text(value)
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
        interface = name_of(index)
        with suppress(OSError):
            for name in names if interface else ():
                default = _setting("default", name)
                self._changed_settings.setdefault((interface, name), default)


def _setting(interface: str, name: str) -> str:
    """The value of a setting; raises OSError. A check reads those of all cameras, hence without a stream."""
    descriptor = os.open(f"{_SETTINGS}/{interface}/{name}", os.O_RDONLY)
    try:
        return os.read(descriptor, _LONGEST_SETTING).decode().strip()
    finally:
        os.close(descriptor)


def _moved_broadcasts(camera: Camera) -> list[Change]:
    return routing.moved_broadcasts(camera, broadcast_addresses(camera.index))


def _is_present(camera: Camera) -> bool:
    return index_of(camera.interface) == camera.index


def _make_owner() -> int:
    """Create the interface that owns the network; returns its index. Raises KernelError."""
    for kind in _OWNER_KINDS:
        try:
            carry_out([Change(Action.ADD, Link(OWNER, kind=kind))])
        except KernelError as error:
            _log.debug("owner_kind_refused", kind=kind, reason=str(error))
        else:
            return index_of(OWNER)
    raise KernelError(
        errno.EOPNOTSUPP, f"the kernel makes no interface {OWNER}, neither {' nor '.join(_OWNER_KINDS)}"
    )


def _delete_owner() -> None:
    if index_of(OWNER):
        carry_out([Change(Action.DELETE, Link(OWNER))])
