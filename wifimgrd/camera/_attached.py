"""The cameras that are connected, on the message bus: which are attached, what they say, and commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd.bus.connection import BusConnection, MethodCall, OwnerChange, Watch
from wifimgrd.bus.packing import PackedRows, pack_rows
from wifimgrd.camera._wanted_sockets import WantedSockets
from wifimgrd.domain.camera import CameraDriver, CameraReading, CommandResult
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import Cancelled, InvalidRequest
from wifimgrd.wire import camera_calls as calls
from wifimgrd.wire import camera_names as names
from wifimgrd.wire import recorded_files
from wifimgrd.wire.camera_readings import encode
from wifimgrd.wire.private_service import Handlers

_READ_PAUSE_S: Final = 0.25
"""From one report of a camera's state to the next."""


@dataclass(slots=True)
class _Attached:
    """A camera, and its reports."""

    driver: CameraDriver
    reading: CameraReading | None = None
    """The reading that is not reported yet."""
    pause: asyncio.TimerHandle | None = None
    """Until the next report."""


class AttachedCameras:
    """The methods and signals of the process about connected cameras; implements CameraControlListener."""

    def __init__(
        self,
        connection: BusConnection,
        control: CameraControl,
        emit: Callable[..., None],
        read_pause_s: float = _READ_PAUSE_S,
        wanted_s: float = names.WANTED_S,
    ) -> None:
        """`emit` is that of PrivateService."""
        self._connection = connection
        self._emit = emit
        self._control = control
        self._read_pause_s = read_pause_s
        self._wanted = WantedSockets(self._ask, wanted_s)
        self._attached: dict[DeviceId, _Attached] = {}
        self._daemon = ""
        """The unique name of who has attached them."""
        self._daemon_watch: Watch | None = None
        self.on_idle: Callable[[], None] = lambda: None

    @property
    def are_there(self) -> bool:
        """Whether a camera is attached."""
        return bool(self._attached)

    async def start(self) -> None:
        """Get ready; nothing is read before a camera is attached."""
        await self._control.start(self, self._wanted.open)

    async def stop(self) -> None:
        """Detach all cameras, and end what runs."""
        self._detach_all()
        await self._control.stop()

    # -- what the daemon calls

    def handlers(self) -> Handlers:
        """The handlers of the calls about connected cameras."""
        return {
            calls.ATTACH: self._attach,
            calls.DETACH: self._stop_reading,
            calls.RECORD: self._record,
            calls.SET_CLOCK: self._set_clock,
            calls.REGISTER_HOST: self._register_host,
            calls.RECORDED_FILES: self._recorded_files,
            calls.GIVE_SOCKET: self._give_socket,
            calls.REFUSE_SOCKET: self._refuse_socket,
        }

    async def _stop_reading(self, _: MethodCall, device: int) -> None:
        self._detach(DeviceId(device))

    async def _set_clock(self, _: MethodCall, device: int) -> None:
        await self._control.set_clock(DeviceId(device))

    async def _register_host(self, _: MethodCall, device: int) -> tuple[str]:
        return (await self._control.register_host(DeviceId(device)),)

    async def _recorded_files(
        self, _: MethodCall, device: int, began: int, ended: int
    ) -> tuple[bool, list[list[object]]]:
        return recorded_files.encode(await self._control.recorded_files(DeviceId(device), began, ended))

    async def _give_socket(self, call: MethodCall, serial: int, _: int) -> None:
        self._wanted.give(serial, call.passed)

    async def _refuse_socket(self, _: MethodCall, serial: int, code: str, message: str) -> None:
        self._wanted.refuse(serial, code, message)

    async def _attach(self, call: MethodCall, device: int, name: str) -> None:
        device_id, driver = DeviceId(device), _driver(name)
        await self._follow(call.sender)
        if call.sender != self._daemon:
            raise Cancelled("the caller has gone")
        attached = self._attached.get(device_id)
        if attached is not None and attached.driver is driver:
            return
        if attached is None and len(self._attached) >= names.MOST_CAMERAS:
            raise InvalidRequest(f"at most {names.MOST_CAMERAS} cameras are attached")
        self._detach(device_id)
        self._attached[device_id] = _Attached(driver)
        self._control.attach(device_id, driver)

    def _detach(self, device_id: DeviceId) -> None:
        attached = self._attached.pop(device_id, None)
        if attached is None:
            return
        if attached.pause is not None:
            attached.pause.cancel()
        self._control.detach(device_id)
        self._wanted.end(device_id)

    def _detach_all(self) -> None:
        for device_id in list(self._attached):
            self._detach(device_id)
        self._wanted.end()
        self.on_idle()

    async def _record(self, _: MethodCall, devices: Sequence[int], on: bool) -> tuple[PackedRows]:
        if len(devices) > names.MOST_CAMERAS:
            raise InvalidRequest(f"at most {names.MOST_CAMERAS} cameras record together")
        device_ids = [DeviceId(one) for one in dict.fromkeys(devices)]
        return (_packed(await self._control.record(device_ids, on=on) if device_ids else {}),)

    # -- the daemon

    async def _follow(self, daemon: str) -> None:
        """Detach what another daemon has attached, and what this one attaches when it has gone."""
        if daemon == self._daemon:
            return
        self._daemon = daemon
        if self._daemon_watch is not None:
            self._daemon_watch.drop()
        self._detach_all()
        try:
            self._daemon_watch = await self._connection.watch_owner(self._daemon_went, daemon)
            is_there = await self._connection.name_owner(daemon) is not None
        except BaseException:
            self._daemon_went(OwnerChange(daemon, daemon, ""))
            raise
        if not is_there:  # it went before it was watched
            self._daemon_went(OwnerChange(daemon, daemon, ""))

    def _daemon_went(self, change: OwnerChange) -> None:
        if not change.after and change.name == self._daemon:
            self._daemon = ""
            self._detach_all()

    # -- what the process sends

    def _ask(self, serial: int, device_id: DeviceId, port: int) -> None:
        self._emit(calls.SOCKET_WANTED, serial, int(device_id), port)

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        """See CameraControlListener.camera_read. Of those that come faster than they are reported, the last
        one is."""
        attached = self._attached.get(device_id)
        if attached is not None:
            attached.reading = reading
            if attached.pause is None:
                self._report(device_id, attached)

    def _report(self, device_id: DeviceId, attached: _Attached) -> None:
        attached.pause = None
        if attached.reading is None:
            return
        values, attached.reading = encode(attached.reading), None
        self._emit(calls.CAMERA_READ, int(device_id), values)
        attached.pause = asyncio.get_running_loop().call_later(
            self._read_pause_s, self._report, device_id, attached
        )


def _driver(text: str) -> CameraDriver:
    try:
        return CameraDriver(text)
    except ValueError:
        raise InvalidRequest(f"there is no driver {text!r}") from None


def values_of(result: CommandResult) -> dict[str, tuple[str, object]]:
    """The result of a command, with the types of its members."""
    return {
        "after": ("t", max(0, result.after_us)),
        "code": ("s", "" if result.error is None else result.error.code.value),
        "message": ("s", "" if result.error is None else result.error.message),
    }


def _packed(results: Mapping[DeviceId, CommandResult]) -> PackedRows:
    return pack_rows(
        {"device": ("t", int(device_id)), **values_of(result)} for device_id, result in results.items()
    )
