"""`org.wifimgrd1.Net`: the helper on the message bus, only for the daemon's user."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address
from typing import Final

import structlog

from wifimgrd.bus.connection import BusConnection, BusError, MethodCall, OwnerChange
from wifimgrd.bus.values import typed
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.errors import (
    DeviceNotReachable,
    InternalError,
    InvalidRequest,
    ServiceRefused,
)
from wifimgrd.helper._call_arguments import (
    bssid_of,
    country_of,
    link_configuration,
    network_of,
    plan_of,
    profile_of,
)
from wifimgrd.helper._interfaces import index_of_wireless, require_wireless
from wifimgrd.helper._kernel_state import Conflict, KernelState
from wifimgrd.helper._networkd_links import NetworkdLinks
from wifimgrd.helper._networkmanager import (
    activate_profile,
    deactivate_profile,
    delete_profile,
    set_autoconnect,
    set_managed,
)
from wifimgrd.helper._plan import Camera, Plan
from wifimgrd.helper._policy import Policy
from wifimgrd.helper._routing import concerned_by, makes_broadcast
from wifimgrd.helper._supplicant import RegisteredInterfaces, register_interface
from wifimgrd.helper._wireless import end_power_save, restart_link
from wifimgrd.kernel.events import Event
from wifimgrd.kernel.links import Link
from wifimgrd.kernel.nftables import NftablesError
from wifimgrd.kernel.routes import RouteKind, route_to
from wifimgrd.kernel.rtnetlink import KernelError
from wifimgrd.kernel.sockets import open_socket
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import helper_calls as calls
from wifimgrd.wire import names
from wifimgrd.wire.errors import NAME_OF
from wifimgrd.wire.private_service import Handlers, PrivateService

_log = structlog.get_logger()

_SETTLE_S: Final = 0.8
"""From the first change by another program to the check: such changes come in bursts. A join is one, and is
over by then."""
_AGAIN_S: Final = 0.2
"""To the second check: NetworkManager ends a link some time before the daemon reports it."""
_END_S: Final = 5.0
"""How long running calls may take to end at the stop."""
_PLAN_S: Final = 2.0
"""How long a call for a socket waits for the device to be in the plan: the daemon sends both at once."""
_LATER_S: Final = 0.05
"""From a reply to the routes in `main`, so that the caller is served first."""
_READ_BACK_S: Final = 0.5
"""From the last reply to the reading of the tables: a join is over by then."""


class NetService:
    """Handles calls, checks and restores the kernel state, and sets `unneeded` when it can be stopped."""

    def __init__(
        self,
        connection: BusConnection,
        to_services: BusConnection,
        kernel: KernelState,
        links: NetworkdLinks,
        policy: Callable[[], Policy],
        uid: int,
        linger_s: float,
        tasks: Tasks,
    ) -> None:
        """`to_services` is the bus of wpa_supplicant and NetworkManager. `uid` may call; `linger_s` is how
        long the kernel state is kept after the daemon has gone. `policy` reads the policy; it is read again
        for each new daemon."""
        self._connection = connection
        self._to_services = to_services
        self._registered = RegisteredInterfaces(to_services)
        self._kernel = kernel
        self._links = links
        self._read_policy = policy
        self._policy = Policy()
        self._planned = asyncio.Condition()
        """Notified when there is a new plan."""
        self._linger_s = linger_s
        self._private = PrivateService(connection, calls.INTERFACE, uid, self._daemon_calls)
        self._carries_out = self.handlers()
        self._wanted: Plan | None = None
        self._conflict = ""
        self._suspected = ""
        """The part that the last check found changed."""
        self._tasks = tasks
        self._check_timer: asyncio.TimerHandle | None = None
        self._restore_timer: asyncio.TimerHandle | None = None
        self._settle_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self.unneeded = asyncio.Event()

    async def start(self) -> None:
        """Own the bus name and serve calls; raises NameTaken."""
        self._connection.serve(self._called)
        await self._connection.watch_owner(self._daemon_came_or_went, names.BUS_NAME)
        await self._connection.request_name(calls.BUS_NAME)
        if await self._connection.name_owner(names.BUS_NAME) is None:
            self._restore_and_stop()

    def changed(self, event: Event | None) -> None:
        """The kernel's tables were changed, as `watch` reports it."""
        if self._wanted is None:
            return
        if event is None or (event.is_gone and isinstance(event.entry, Link)):
            self._kernel.doubt_tables()
        elif makes_broadcast(self._wanted, event):
            self._do(self._kernel.take_broadcasts)
        if self._check_timer is None and (event is None or concerned_by(self._wanted, event)):
            self._check_timer = asyncio.get_running_loop().call_later(_SETTLE_S, self._check_now)

    def _check_now(self) -> None:
        self._check_timer = None
        wanted = self._wanted
        if wanted is None:
            return
        try:
            if self._conflict:
                self._kernel.apply(wanted)
            elif (changed := self._kernel.changed()) != self._suspected:
                self._suspected = changed
                if changed:
                    self._check_timer = asyncio.get_running_loop().call_later(_AGAIN_S, self._check_now)
            elif changed:
                self._suspected = ""
                self._kernel.restore()
                _log.warning("tables_restored", network=str(wanted.network), changed=changed)
        except Conflict as conflict:
            self._publish_conflict(str(conflict))
        except (KernelError, NftablesError) as error:
            _log.error("tables_unknown", reason=str(error))
            self._check_timer = asyncio.get_running_loop().call_later(1.0, self._check_now)
        else:
            self._publish_conflict("")

    def _publish_conflict(self, conflict: str) -> None:
        if conflict != self._conflict:
            self._conflict = conflict
            self._private.emit(calls.CONFLICT_CHANGED, conflict)

    # -- calls

    def _called(self, call: MethodCall) -> None:
        self._tasks.start(call.member, self._answer(call))

    async def _answer(self, call: MethodCall) -> None:
        try:
            answer = await self._private.carry_out(call, self._carries_out)
        except (KernelError, NftablesError) as error:
            _log.error("tables_unchanged", reason=str(error))
            self._connection.reply_error(call, NAME_OF[InternalError.code], str(error))
        except Exception as error:  # noqa: BLE001 - each failure is answered
            self._private.refuse(call, error)
        else:
            self._connection.reply(call, *answer)
        if call.member == calls.APPLY.name:
            self._finish_later()

    def _finish_later(self) -> None:
        """Have done what no caller waits for, also after a failure."""
        loop = asyncio.get_running_loop()
        if self._settle_timer is None:  # not put off by more calls
            self._settle_timer = loop.call_later(_LATER_S, self._settle)
        if self._read_timer is not None:
            self._read_timer.cancel()
        self._read_timer = loop.call_later(_READ_BACK_S, self._do, self._kernel.read_back)

    def _settle(self) -> None:
        self._settle_timer = None
        self._do(self._kernel.settle)

    @staticmethod
    def _do(change: Callable[[], None]) -> None:
        """Make a change that no caller waits for."""
        try:
            change()
        except (KernelError, NftablesError) as error:
            _log.error("tables_unknown", reason=str(error))

    def handlers(self) -> Handlers:
        """The handler of each call: its arguments have the types of the call's row."""
        return {
            calls.APPLY: self._apply,
            calls.OPEN: self._open,
            calls.CLEAR: self._clear,
            calls.RESTART_LINK: self._restart_link,
            calls.END_POWER_SAVE: self._end_power_save,
            calls.REGISTER_INTERFACE: self._register_interface,
            calls.ADD_NETWORK: self._add_network,
            calls.LIMIT_NETWORKS: self._limit_networks,
            calls.SET_COUNTRY: self._set_country,
            calls.CONFIGURE_LINK: self._configure_link,
            calls.REQUEST_LEASE: self._request_lease,
            calls.RELEASE_LINK: self._release_link,
            calls.ACTIVATE_PROFILE: self._activate_profile,
            calls.DEACTIVATE_PROFILE: self._deactivate_profile,
            calls.DELETE_PROFILE: self._delete_profile,
            calls.SET_MANAGED: self._set_managed,
            calls.SET_AUTOCONNECT: self._set_autoconnect,
        }

    # -- interfaces

    async def _restart_link(self, _: MethodCall, interface: str) -> None:
        restart_link(interface)

    async def _end_power_save(self, _: MethodCall, interface: str) -> tuple[bool]:
        try:
            return (end_power_save(interface),)
        except OSError as error:  # mostly a driver without power save, so it is not logged
            raise BusError(NAME_OF[InternalError.code], str(error)) from None

    # -- wpa_supplicant

    async def _register_interface(self, _: MethodCall, interface: str) -> tuple[str]:
        return (await register_interface(self._to_services, interface),)

    async def _add_network(self, _: MethodCall, *arguments: *calls.NetworkArguments) -> tuple[str]:
        interface = arguments[0]
        self._require_hubs(interface)
        return (await self._registered.add_network(interface, network_of(*arguments[1:])),)

    async def _limit_networks(self, _: MethodCall, interface: str, bssid: str) -> None:
        self._require_hubs(interface)
        await self._registered.limit_networks(interface, bssid_of(bssid))

    async def _set_country(self, _: MethodCall, interface: str, country: str) -> None:
        await self._registered.set_country(interface, country_of(country))

    # -- systemd-networkd

    async def _configure_link(self, _: MethodCall, interface: str, local_address: str) -> None:
        configuration = link_configuration(interface, local_address)
        with suppress(OSError):  # mostly a driver without power save
            end_power_save(interface)
        await self._links.configure(configuration)

    async def _request_lease(self, _: MethodCall, interface: str) -> None:
        await self._links.request_lease(interface, index_of_wireless(interface))

    async def _release_link(self, _: MethodCall, interface: str) -> None:
        await self._links.release(interface)

    # -- NetworkManager

    async def _activate_profile(self, _: MethodCall, *arguments: *calls.ProfileArguments) -> tuple[str, str]:
        self._require_hubs(arguments[0])
        return await activate_profile(self._to_services, *profile_of(*arguments))

    async def _deactivate_profile(self, _: MethodCall, active: str) -> None:
        await deactivate_profile(self._to_services, active)

    async def _delete_profile(self, _: MethodCall, profile: str) -> None:
        await delete_profile(self._to_services, profile)

    async def _set_managed(self, _: MethodCall, interface: str, managed: bool) -> None:
        if not managed:
            self._require_hubs(interface)
        await set_managed(self._to_services, interface, managed)

    async def _set_autoconnect(self, _: MethodCall, interface: str, autoconnect: bool) -> None:
        await set_autoconnect(self._to_services, interface, autoconnect)

    # -- addresses and sockets

    def _require_hubs(self, interface: str) -> None:
        """Raise InvalidRequest for an interface that is not an adapter for the hub; raises KernelError."""
        require_wireless(interface)
        if self._kernel.hosts_own([interface]):
            raise InvalidRequest(f"{interface} carries a connection of this host")

    async def _apply(self, _: MethodCall, network: str, cameras: Sequence[Sequence[object]]) -> tuple[str]:
        entries = typed(list[calls.CameraEntry], cameras)
        known = () if self._wanted is None else self._wanted.cameras
        interfaces = {camera.interface for camera in entries}
        hosts_own = self._kernel.hosts_own(interfaces.difference(one.interface for one in known))
        wanted = plan_of(network, entries, self._policy, hosts_own)
        async with self._planned:
            self._wanted = wanted
            self._planned.notify_all()
        try:
            self._kernel.apply(wanted)
        except Conflict as conflict:
            self._publish_conflict(str(conflict))
        else:
            self._publish_conflict("")
        return (self._conflict,)

    async def _clear(self, _: MethodCall) -> None:
        self._wanted = None
        self._kernel.clear()
        self._publish_conflict("")
        await self._links.clear()

    async def _open(self, _: MethodCall, device_id: int, port: int, kind: str) -> tuple[socket.socket]:
        try:
            wanted = SocketKind(kind)
        except ValueError:
            raise InvalidRequest(f"a socket is tcp or udp, not {kind!r}") from None
        if not port:
            raise InvalidRequest("a port is 1 to 65535")
        camera = await self._planned_camera(device_id)
        assert camera.camera_address is not None  # noqa: S101 - for the type checker
        if _is_own(camera.camera_address):
            raise DeviceNotReachable(f"{camera.camera_address} is an address of this host, not a camera's")
        try:
            opened = await open_socket(
                camera.interface, camera.camera_address, port, wanted, camera.socket_mark
            )
        except ServiceRefused as refused:
            raise BusError(calls.REFUSED, refused.message) from None
        if self._reachable(device_id) != camera:
            opened.close()
            raise DeviceNotReachable("the device was reconnected meanwhile")
        return (opened,)

    async def _planned_camera(self, device_id: int) -> Camera:
        try:
            async with asyncio.timeout(_PLAN_S), self._planned:
                await self._planned.wait_for(lambda: self._reachable(device_id) is not None)
        except TimeoutError:
            raise DeviceNotReachable(f"camera {device_id} is not connected") from None
        camera = self._reachable(device_id)
        if camera is None:
            raise DeviceNotReachable(f"camera {device_id} is no longer connected")
        return camera

    def _reachable(self, device_id: int) -> Camera | None:
        cameras = () if self._wanted is None else self._wanted.reachable
        return next((one for one in cameras if one.device_id == device_id), None)

    # -- the daemon

    async def _daemon_calls(self) -> None:
        self._policy = self._read_policy()

    def _daemon_came_or_went(self, change: OwnerChange) -> None:
        if change.after:
            if self._restore_timer is not None:
                self._restore_timer.cancel()
                self._restore_timer = None
        else:
            self._restore_and_stop()

    def _restore_and_stop(self) -> None:
        if self._restore_timer is None:
            self._restore_timer = asyncio.get_running_loop().call_later(self._linger_s, self.unneeded.set)

    async def stop(self) -> None:
        """Stop serving, and remove the kernel state. Addresses of links stay, as the links do."""
        self._wanted = None
        for timer in (self._check_timer, self._restore_timer, self._settle_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        await self._tasks.settle(_END_S)
        with suppress(KernelError, NftablesError):
            self._kernel.clear()


def _is_own(address: IPv4Address) -> bool:
    """Whether what is sent to an address stays on this host."""
    try:
        return route_to(address).kind is RouteKind.LOCAL
    except KernelError:  # there is no way
        return False
