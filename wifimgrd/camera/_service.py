"""`org.wifimgrd1.Cameras`: the camera process on the message bus, only for the daemon's user."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from wifimgrd.bus.connection import BusClosed, BusConnection, MethodCall, OwnerChange, Variant, Watch
from wifimgrd.camera._advertisements import Target, is_address
from wifimgrd.camera._agent import AGENT_PATH
from wifimgrd.camera._attached import AttachedCameras, values_of
from wifimgrd.camera._beacon import BEACONS_PATH
from wifimgrd.camera._central import Central
from wifimgrd.camera._limits import Limits
from wifimgrd.camera._objects import Objects
from wifimgrd.camera._operations import Operations
from wifimgrd.camera._radio import Radio, Status
from wifimgrd.camera._search import Searches
from wifimgrd.domain.camera import CameraCommand
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.power import PairedCamera
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_calls as calls
from wifimgrd.wire import camera_names as names
from wifimgrd.wire.camera_readings import encode
from wifimgrd.wire.private_service import Handler, Handlers, PrivateService, Values

_ERROR: Final = "org.freedesktop.DBus.Error."
_END_S: Final = 3.0
"""How long links may take to end at the stop."""
_LONGEST_KEY: Final = 64


class CameraService:
    """Handles calls, and sets `unneeded` when the process can be stopped."""

    def __init__(
        self,
        connection: BusConnection,
        uid: int,
        linger_s: float,
        tasks: Tasks,
        control: CameraControl,
        limits: Limits | None = None,
    ) -> None:
        """`uid` may call; `linger_s` is how long the process stays while nothing is under way. `connection`
        must support passing sockets."""
        self._connection = connection
        self._linger_s = linger_s
        self._tasks = tasks
        self._private = PrivateService(connection, calls.INTERFACE, uid, self._daemon_calls)
        self.objects = Objects(connection, tasks)
        self.objects.watch_changes(self._status_changed)
        self.objects.on_own_links = self._tell_links
        self.radio = Radio(connection, self.objects, tasks)
        self.central = Central(connection, self.radio, tasks, limits or Limits())
        self.central.on_unfit = partial(self._private.emit, calls.UNFIT)
        self.central.on_bonding = partial(self._private.emit, calls.BONDING)
        self._operations = Operations(connection, self.central, tasks)
        self._operations.on_idle = self._stay
        self._searches = Searches(self.central, partial(self._private.emit, calls.ADVERTISED))
        self._attached = AttachedCameras(connection, control, self._private.emit)
        self._attached.on_idle = self._stay
        self._carries_out = self.handlers()
        self._daemon_watch: Watch | None = None
        self._calls: set[asyncio.Task[None]] = set()
        """The daemon's that are not answered yet."""
        self._published = Status("", "")
        self._timer: asyncio.TimerHandle | None = None
        self.unneeded = asyncio.Event()

    async def start(self) -> None:
        """Read BlueZ's objects, own the bus name and serve calls; raises NameTaken."""
        self._connection.serve(self._called, sockets=True)
        await self._attached.start()
        await self.radio.start()
        self._published = self.radio.status
        await self._connection.request_name(calls.BUS_NAME)
        self._stay()

    def _status_changed(self) -> None:
        status = self.radio.status
        if self._published.state and status != self._published:
            self._published = status
            self._private.emit(calls.STATUS_CHANGED, *status)

    def _tell_links(self) -> None:
        self._private.emit(calls.LINKS_CHANGED, sorted(self.objects.own_links))

    # -- calls

    def _called(self, call: MethodCall) -> None:
        if call.path == AGENT_PATH or call.path.startswith(BEACONS_PATH):
            call.close_passed()
            self._asked_by_bluez(call)
        else:
            task = self._tasks.start(call.member, self._answer(call))
            self._calls.add(task)
            task.add_done_callback(partial(self._answered, call))

    def _asked_by_bluez(self, call: MethodCall) -> None:
        if call.sender != self.objects.owner:
            self._connection.reply_error(call, _ERROR + "AccessDenied", "only bluetoothd may call this")
        elif call.path == AGENT_PATH:
            self.central.agent.answer(call)
        else:
            self._operations.beacons.answer(call)

    def _answered(self, call: MethodCall, task: asyncio.Task[None]) -> None:
        call.close_passed()
        self._calls.discard(task)
        self._stay()

    async def _answer(self, call: MethodCall) -> None:
        try:
            answer = await self._private.carry_out(call, self._carries_out)
        except BusClosed:
            return
        except Exception as error:  # noqa: BLE001 - each failure is answered
            self._private.refuse(call, error)
        else:
            self._connection.reply(call, *answer)

    def handlers(self) -> Handlers:
        """The handler of each call: its arguments have the types of the call's row."""
        over_bluetooth: Handlers = {
            calls.GET_STATUS: self._get_status,
            calls.SEARCH: self._search,
            calls.WAKE: self._wake,
            calls.RESTART_ACCESS_POINT: self._restart_access_point,
            calls.REBOOT: self._reboot,
            calls.SLEEP: self._sleep,
            calls.COMMAND: self._command,
            calls.PAIR: self._pair,
            calls.UNPAIR: self._unpair,
            calls.CANCEL: self._cancel,
            calls.RELEASE: self._release,
            calls.END_LINKS: self._end_links,
            calls.GET_BONDS: self._get_bonds,
        }

        settled = {method: partial(self._settled, handler) for method, handler in over_bluetooth.items()}
        return {**settled, **self._attached.handlers()}

    async def _settled(self, handler: Handler, call: MethodCall, *arguments: object) -> Values:
        """Carry a call out once it is known what the host has."""
        await self.radio.settled()
        return await handler(call, *arguments)

    async def _get_status(self, _: MethodCall) -> Status:
        return self.radio.status

    async def _search(
        self, _: MethodCall, search: str, seconds: int, targets: Sequence[Sequence[str]]
    ) -> None:
        key = _key(search)
        searching = self._searches.search(_duration(seconds), _targets(targets))
        await self._operations.search(key, searching, seconds)

    async def _wake(self, _: MethodCall, address: str, protocol: str, beacon: bytes, timeout_s: int) -> None:
        if not 1 <= timeout_s <= names.LONGEST_WAKE_S:
            raise InvalidRequest(f"a camera is woken for 1 to {names.LONGEST_WAKE_S} s")
        if protocol != names.BEACON:
            await self._operations.wake(_address(address), protocol, timeout_s)
            return
        if not 2 <= len(beacon) <= names.LARGEST_BEACON:
            raise InvalidRequest(f"a beacon has 2 to {names.LARGEST_BEACON} bytes")
        await self._operations.advertise(_key(address), beacon, timeout_s)

    async def _restart_access_point(self, _: MethodCall, address: str, protocol: str) -> None:
        await self._operations.restart_access_point(_address(address), protocol)

    async def _reboot(self, _: MethodCall, address: str, protocol: str) -> None:
        await self._operations.reboot(_address(address), protocol)

    async def _sleep(self, _: MethodCall, address: str, protocol: str) -> None:
        await self._operations.sleep(_address(address), protocol)

    async def _command(
        self, _: MethodCall, address: str, protocol: str, command: str
    ) -> tuple[dict[str, Variant], dict[str, Variant]]:
        answer = await self._operations.command(_address(address), protocol, _command(command))
        result = {name: Variant(*one) for name, one in values_of(answer.result).items()}
        return result, encode(answer.reading)

    async def _pair(
        self, _: MethodCall, address: str, protocol: str, own: Sequence[str]
    ) -> tuple[dict[str, Variant]]:
        return (_paired_values(await self._operations.pair(_address(address), protocol, own)),)

    async def _unpair(self, _: MethodCall, address: str, adapter: str) -> None:
        await self._operations.unpair(_address(address), _address(adapter))

    async def _cancel(self, _: MethodCall, address: str) -> None:
        await self._operations.cancel(address)

    async def _release(self, _: MethodCall, address: str) -> None:
        self._operations.release(address)

    async def _end_links(self, _: MethodCall, links: Sequence[str]) -> None:
        self._operations.end_links(links)

    async def _get_bonds(self, _: MethodCall, address: str) -> tuple[list[str], list[str]]:
        host = await self._operations.bonds(_address(address))
        return sorted(host.bonded), sorted(host.adapters)

    async def _daemon_calls(self) -> None:
        if self._daemon_watch is not None:
            self._daemon_watch.drop()
        self._daemon_watch = await self._connection.watch_owner(self._daemon_went, self._private.daemon)

    # -- when it ends

    def _daemon_went(self, change: OwnerChange) -> None:
        """End what a daemon that has gone had started."""
        if not change.after and change.name == self._private.daemon:
            self._private.daemon = ""
            self._tasks.start("cancel", self._operations.cancel_all())
            for task in self._calls:
                task.cancel()

    def _stay(self) -> None:
        """Begin to linger, or go on with what is under way."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not (self._calls or self._operations.are_under_way or self._attached.are_there):
            self._timer = asyncio.get_running_loop().call_later(self._linger_s, self.unneeded.set)

    async def stop(self) -> None:
        """Stop serving, end what is under way, and disconnect."""
        await self._attached.stop()
        if self._timer is not None:
            self._timer.cancel()
        if self._connection.is_open:
            await self._operations.cancel_all()
            await self._tasks.settle(_END_S)


def _address(text: str) -> str:
    if not is_address(text):
        raise InvalidRequest(f"{text!r} is not a Bluetooth address, such as D4:32:60:12:34:56")
    return text


def _command(text: str) -> CameraCommand:
    try:
        return CameraCommand(text)
    except ValueError:
        raise InvalidRequest(f"there is no command {text!r}") from None


def _key(text: str) -> str:
    if not 1 <= len(text) <= _LONGEST_KEY:
        raise InvalidRequest(f"a beacon and a search are named by 1 to {_LONGEST_KEY} characters")
    return text


def _duration(duration_s: int) -> int:
    if not 1 <= duration_s <= names.LONGEST_SEARCH_S:
        raise InvalidRequest(f"a search takes 1 to {names.LONGEST_SEARCH_S} s")
    return duration_s


def _targets(targets: Sequence[Sequence[str]]) -> Sequence[Target]:
    if not 1 <= len(targets) <= names.MOST_TARGETS:
        raise InvalidRequest(f"a search has 1 to {names.MOST_TARGETS} targets")
    try:
        return [Target.of(service, pattern) for service, pattern in targets]
    except ValueError as error:
        raise InvalidRequest(str(error)) from None


def _paired_values(paired: PairedCamera) -> dict[str, Variant]:
    return {
        "ssid": Variant("ay", paired.ssid),
        "password": Variant("s", "" if paired.password is None else paired.password.reveal()),
        "model": Variant("s", paired.model),
        "serial": Variant("s", paired.serial),
    }
