"""`org.wifimgrd1.Cameras`: the camera process on the message bus, for the daemon's user alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from wifimgrd.bus.connection import BusClosed, BusConnection, MethodCall, OwnerChange, Variant, Watch
from wifimgrd.bus.values import typed
from wifimgrd.camera._advertisements import Target, is_address
from wifimgrd.camera._agent import AGENT_PATH
from wifimgrd.camera._attached import AttachedCameras, values_of
from wifimgrd.camera._beacon import BEACONS_PATH
from wifimgrd.camera._central import Central
from wifimgrd.camera._limits import Limits
from wifimgrd.camera._objects import Objects
from wifimgrd.camera._operations import Operations
from wifimgrd.camera._radio import Radio, Status
from wifimgrd.camera._search import Row, Searches
from wifimgrd.domain.camera import CameraCommand
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.power import PairedCamera
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_names as names
from wifimgrd.wire.camera_readings import encode
from wifimgrd.wire.private_service import PrivateService

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
        self._private = PrivateService(connection, names.PATH, names.INTERFACE, uid, self._daemon_calls)
        self.objects = Objects(connection, tasks)
        self.objects.watch_changes(self._status_changed)
        self.objects.on_own_links = self._tell_links
        self.radio = Radio(connection, self.objects, tasks)
        self.central = Central(connection, self.radio, tasks, limits or Limits())
        self.central.on_unfit = partial(self._tell, "Unfit")
        self.central.on_bonding = partial(self._tell, "Bonding")
        self._operations = Operations(connection, self.central, tasks)
        self._operations.on_idle = self._stay
        self._searches = Searches(self.central, self._report)
        self._attached = AttachedCameras(connection, control)
        self._attached.on_idle = self._stay
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
        await self._connection.request_name(names.BUS_NAME)
        self._stay()

    def _status_changed(self) -> None:
        status = self.radio.status
        if self._published.state and status != self._published:
            self._published = status
            self._connection.emit(names.PATH, names.INTERFACE, "StatusChanged", "ss", list(status))

    def _tell(self, signal: str, address: str, text: str) -> None:
        self._connection.emit(names.PATH, names.INTERFACE, signal, "ss", [address, text])

    def _tell_links(self) -> None:
        links = sorted(self.objects.own_links)
        self._connection.emit(names.PATH, names.INTERFACE, "LinksChanged", "ao", [links])

    def _report(self, rows: Sequence[Row]) -> None:
        self._connection.emit(names.PATH, names.INTERFACE, "Advertised", "aa{sv}", [rows])

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
            answer = await self._dispatch(call)
        except BusClosed:
            return
        except Exception as error:  # noqa: BLE001 - each failure is answered
            self._private.refuse(call, error)
        else:
            self._connection.reply(call, *answer)

    async def _dispatch(self, call: MethodCall) -> tuple[str, Sequence[object]]:
        if (standard := await self._private.admit(call)) is not None:
            return standard
        if call.member in AttachedCameras.METHODS:
            return await self._attached.carry_out(call)
        return await self._carry_out(call)

    async def _carry_out(self, call: MethodCall) -> tuple[str, Sequence[object]]:
        await self.radio.settled()
        match call.member:
            case "GetStatus":
                return "ss", self.radio.status
            case "Search":
                key, duration_s, targets = typed(tuple[str, int, list[tuple[str, str]]], call.body)
                name = _key(key)
                searching = self._searches.search(_duration(duration_s), _targets(targets))
                await self._operations.search(name, searching, duration_s)
            case "Wake":
                await self._wake(*typed(tuple[str, str, bytes, int], call.body))
            case "Sleep":
                address, protocol = typed(tuple[str, str], call.body)
                await self._operations.sleep(_address(address), protocol)
            case "Command":
                address, protocol, command = typed(tuple[str, str, str], call.body)
                answer = await self._operations.command(_address(address), protocol, _command(command))
                result = {name: Variant(*one) for name, one in values_of(answer.result).items()}
                return "a{sv}a{sv}", (result, encode(answer.reading))
            case "Pair":
                address, protocol, own = typed(tuple[str, str, list[str]], call.body)
                paired = await self._operations.pair(_address(address), protocol, own)
                return "a{sv}", (_paired_values(paired),)
            case "Unpair":
                address, adapter = typed(tuple[str, str], call.body)
                await self._operations.unpair(_address(address), _address(adapter))
            case "Cancel":
                await self._operations.cancel(*typed(tuple[str], call.body))
            case "Release":
                self._operations.release(*typed(tuple[str], call.body))
            case "EndLinks":
                self._operations.end_links(*typed(tuple[list[str]], call.body))
            case "GetBonds":
                host = await self._operations.bonds(_address(*typed(tuple[str], call.body)))
                return "asas", (sorted(host.bonded), sorted(host.adapters))
        return "", ()

    async def _wake(self, address: str, protocol: str, beacon: bytes, timeout_s: int) -> None:
        if not 1 <= timeout_s <= names.LONGEST_WAKE_S:
            raise InvalidRequest(f"a camera is woken for 1 to {names.LONGEST_WAKE_S} s")
        if protocol != names.BEACON:
            await self._operations.wake(_address(address), protocol, timeout_s)
            return
        if not 2 <= len(beacon) <= names.LARGEST_BEACON:
            raise InvalidRequest(f"a beacon has 2 to {names.LARGEST_BEACON} bytes")
        await self._operations.advertise(_key(address), beacon, timeout_s)

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


def _targets(targets: Sequence[tuple[str, str]]) -> Sequence[Target]:
    if not 1 <= len(targets) <= names.MOST_TARGETS:
        raise InvalidRequest(f"a search has 1 to {names.MOST_TARGETS} targets")
    try:
        return [Target.of(service, pattern) for service, pattern in targets]
    except ValueError as error:
        raise InvalidRequest(str(error)) from None


def _paired_values(paired: PairedCamera) -> dict[str, Variant]:
    return {
        "ssid": Variant("ay", paired.ssid),
        "password": Variant("s", paired.password.reveal()),
        "model": Variant("s", paired.model),
        "serial": Variant("s", paired.serial),
    }
