"""The cameras as MAVLink components: heartbeats, answers to questions, and what changes at the hub."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.client import changes
from wifimgrd.client.command_rate import CommandRate
from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.config.web_address import mavlink_address
from wifimgrd.domain.camera import RecordingState
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.domain.rig import Everyone
from wifimgrd.mavlink import _components as ids
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink import _requests as requests
from wifimgrd.mavlink._armed import ARMED, AUTOPILOT, Armed
from wifimgrd.mavlink._camera_messages import camera_message, heartbeat
from wifimgrd.mavlink._captures import Captures, Order
from wifimgrd.mavlink._link import Link
from wifimgrd.mavlink._requests import ALL, Result
from wifimgrd.mavlink._signing import MINUTE, Signing
from wifimgrd.runtime.tasks import Backoff, Tasks

HEARTBEAT_S: Final = 1.0
QUESTIONS_AT_ONCE: Final = 120
"""Questions that are answered within QUESTIONS_S: MAVSDK has 30 for six cameras, in one instant."""
QUESTIONS_S: Final = 3.0
DAEMON_S: Final = 10.0
"""Armed while the daemon is away, the vehicle's cameras are started if that is back within this time."""
_NOT_STARTED: Final = "The vehicle was armed, but wifimgrd is not running: no camera was started."
_KEPT_AFTER: Final = MINUTE * 9 // 10
"""How far timestamps may be ahead of the one on disk, less than a minute: heartbeats may be late."""
_MAY_RECORD: Final = (ErrorCode.BACKEND_UNAVAILABLE, ErrorCode.NOT_CONNECTED, ErrorCode.UNCONFIRMED)
"""Why a camera that was to stop may still record."""
_RETRY: Final = Backoff(first_s=1.0, last_s=30.0)

_log = structlog.get_logger("wifimgrd.mavlink")


class Bridge:
    """Connects the live copy of the daemon's objects with the link to the stations."""

    def __init__(
        self, hub: HubClient, settings: config.Mavlink, key: bytes | None, memory: ids.Memory, tasks: Tasks
    ) -> None:
        self._hub = hub
        self._settings = settings
        self._tasks = tasks
        self._memory = memory
        self._signing = None if key is None else Signing(key, memory.last_signed, time.time_ns() // 1000)
        address = mavlink_address(settings.connection)
        self._link = Link(address, settings.system, self._signing, self._receive)
        self._captures = Captures(hub, self._link.send, self._ended, tasks.part("captures"))
        self._devices: dict[int, DeviceRecord] = {}
        """The last known records, also while the daemon is away."""
        self._cameras = dict(memory.components)
        """The devices by their components."""
        self._left_out: tuple[list[int], list[int | str]] = [], []
        """Cameras without a component, and ids and names without a camera."""
        self._intervals: dict[tuple[int, wire.Message, bool], asyncio.TimerHandle] = {}
        """When a component sends a message again, perhaps only while it records."""
        self._questions = CommandRate(QUESTIONS_AT_ONCE, QUESTIONS_S)
        self._armed = Armed()
        self._starts_until_s: float | None = None
        """Until when the daemon may appear, since the vehicle was armed without it."""
        self._began_s = time.monotonic()

    async def start(self) -> None:
        """Send heartbeats, with or without the daemon, and follow it whenever it is there."""
        self._hub.subscribe(self._on_change)
        self._tasks.keep("link", self._serve, _RETRY, expected=(OSError,))
        await self._hub.start()

    async def stop(self) -> None:
        """Close the link, and end."""
        await self._tasks.stop()
        for due in self._intervals.values():
            due.cancel()
        if self._signing is not None:
            self._memory.write(self._memory.components, self._signing.last)
        await self._hub.stop()

    async def _serve(self) -> None:
        try:
            self._link.open()
            while True:
                self._beat()
                await asyncio.sleep(HEARTBEAT_S)
        finally:
            self._link.close()

    def _beat(self) -> None:
        if self._signing is not None and self._signing.last >= self._memory.last_signed + _KEPT_AFTER:
            self._memory.write(self._memory.components, self._signing.last)
        for component, device in self._cameras.items():
            known = self._devices.get(device) if self._hub.available else None
            self._link.send(component, wire.HEARTBEAT, heartbeat(known))
        stopped, devices = self._armed.due(self._now())
        devices |= {one for one in self._armed.late if self._hub.available and self._can_stop(one)}
        if not devices or self._order(devices, on=False):
            self._armed = stopped.released(devices)
        if self._starts_until_s is not None and self._now() > self._starts_until_s:
            self._starts_until_s = None
            if self._cameras:
                self._captures.say(min(self._cameras), _NOT_STARTED)

    def _repeat(self, key: tuple[int, wire.Message, bool], interval_s: float) -> None:
        """Send a message that is due, and again after the interval."""
        component, message, is_while_recording = key
        device = self._devices.get(self._cameras.get(component, 0))
        is_on = device is not None and is_recording(device)
        has_ended = device is not None and _is_idle(device) and not self._captures.told.get(device.id)
        is_heard = component in self._cameras and self._link.has_receiver
        if not is_heard or (is_while_recording and has_ended):
            del self._intervals[key]
            return
        self._set_interval(component, message, interval_s, is_while_recording=is_while_recording)
        if is_on or not is_while_recording:
            self._tell(component, message)

    def _tell(self, component: int, message: wire.Message) -> None:
        """Send what is known of a camera."""
        device = self._devices.get(self._cameras[component])
        if device is not None:
            boot_ms = int((time.monotonic() - self._began_s) * 1000) & 0xFFFFFFFF
            values = camera_message(message, device, time.time_ns() // 1000)
            self._link.send(component, message, {"time_boot_ms": boot_ms, **values})

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    # -- the hub

    def _on_change(self, change: changes.Change) -> None:
        match change:
            case changes.DeviceChanged(before, after):
                self._devices[after.id] = after
                if (before.name, before.camera is None) != (after.name, after.camera is None):
                    self._assign()
                self._follow(before, after)
            case (
                changes.DaemonAppeared()
                | changes.DaemonVanished()
                | changes.DeviceAdded()
                | changes.DeviceRemoved()
            ):
                known = self._devices
                if self._hub.available:
                    self._devices = dict(self._hub.devices)
                    self._assign()
                else:
                    self._devices = {one: _as_away(device) for one, device in known.items()}
                for device in self._devices.values():
                    self._follow(known.get(device.id), device)
                self._start_armed()

    def _assign(self) -> None:
        """Each camera that is wanted has a component, as far as there are enough."""
        wanted, unknown = ids.wanted(self._devices, self._settings.devices)
        components = ids.assigned(self._memory.components, self._devices, wanted)
        self._memory.write(components, self._memory.last_signed)
        self._cameras = {one: device for one, device in components.items() if device in wanted}
        left_out = [one for one in wanted if one not in components.values()], unknown
        if left_out != self._left_out and any(left_out):
            _log.warning("without_component", devices=left_out[0], not_found=unknown)
        self._left_out = left_out

    def _follow(self, before: DeviceRecord | None, after: DeviceRecord) -> None:
        """A recording that begins or ends is told at once."""
        if _is_idle(after) and not self._captures.told.get(after.id):
            self._release((after.id,))
        if before is None or is_recording(before) is is_recording(after):
            return
        for component in [one for one, device in self._cameras.items() if device == after.id]:
            self._tell(component, wire.CAMERA_CAPTURE_STATUS)

    # -- stations and autopilots

    def _receive(self, frame: wire.Frame) -> None:
        system = self._settings.system
        is_of_autopilot = (frame.system, frame.component) == (system, AUTOPILOT)
        if frame.values.get("target_system") in (ALL, system):
            self._answer(requests.Command.of(frame))
        elif frame.message is wire.HEARTBEAT and is_of_autopilot and self._settings.record_while_armed:
            self._hear(is_armed=bool(int(frame.values["base_mode"]) & ARMED))

    def _hear(self, *, is_armed: bool) -> None:
        """The autopilot's heartbeat."""
        self._armed, is_edge = self._armed.heard(is_armed, self._now())
        if is_edge or not is_armed:
            self._starts_until_s = self._now() + DAEMON_S if is_edge else None
        self._start_armed()

    def _start_armed(self) -> None:
        """The vehicle was armed: start the cameras as soon as the daemon is there."""
        if self._starts_until_s is None or not self._hub.available:
            return
        self._starts_until_s, told = None, self._captures.told
        devices = [self._devices[one] for one in self._cameras.values() if one in self._devices]
        chosen = [one for one in devices if one.expected and not told.get(one.id, is_recording(one))]
        # what was idle for certain: a recording that may be another's is not stopped
        idle = [one.id for one in chosen if one.id in told or (_is_idle(one) and not _is_wanted(one))]
        if chosen and self._order([one.id for one in chosen], on=True):
            self._armed = self._armed.recording(idle)

    def _ended(self, order: Order, codes: Mapping[int, str | None]) -> None:
        if order.on:
            self._release(one for one, code in codes.items() if code not in (None, ErrorCode.UNCONFIRMED))
        elif not order.askers:  # the vehicle was disarmed, and these still record
            late = {one for one, code in codes.items() if code in _MAY_RECORD}
            self._armed = self._armed.recording(late - self._captures.told.keys())

    def _order(self, devices: Collection[int], *, on: bool) -> bool:
        """The vehicle was armed, or disarmed: nobody waits for an answer, but a refusal is said."""
        cameras = {one: device for one, device in self._cameras.items() if device in devices}
        _log.info("armed" if on else "disarmed", devices=sorted(devices))
        return not cameras or self._captures.carry_out(Order(on, cameras, frozenset(cameras.values())))

    def _can_stop(self, device_id: int) -> bool:
        device = self._devices.get(device_id)
        return device is not None and device.state == DeviceState.CONNECTED and is_recording(device)

    def _release(self, devices: Iterable[int]) -> None:
        self._armed = self._armed.released(devices)

    def _answer(self, command: requests.Command) -> None:
        """Answer a command to one of the cameras, or to all."""
        is_to_all, camera, meant = command.target == ALL, command.camera, requests.meaning(command)
        answering = [one for one in self._cameras if command.target in (ALL, one)]
        if is_to_all and camera != ALL:
            answering = [one for one in answering if one == camera]
        elif camera != ALL and camera not in self._cameras:
            meant = Result.DENIED
        if not answering or (is_to_all and meant in (Result.DENIED, Result.UNSUPPORTED)):
            return  # it is for others, such as the autopilot, which answers
        if isinstance(meant, requests.Capture):
            self._capture(command, meant, answering)
            return
        for component in answering:
            if self._questions.admits(self._now()):
                self._inform(component, command, meant)

    def _inform(self, component: int, command: requests.Command, meant: requests.Question | Result) -> None:
        if isinstance(meant, Result):
            self._captures.answer(component, command, meant)
        elif meant.interval_s is not None:
            self._set_interval(component, meant.message, meant.interval_s)
            self._captures.answer(component, command, Result.ACCEPTED)
        else:
            is_known = self._cameras[component] in self._devices
            result = Result.ACCEPTED if is_known else Result.TEMPORARILY_REJECTED
            self._captures.answer(component, command, result)
            self._tell(component, meant.message)

    def _set_interval(
        self, component: int, message: wire.Message, interval_s: float, *, is_while_recording: bool = False
    ) -> None:
        key = component, message, is_while_recording
        if (before := self._intervals.pop(key, None)) is not None:
            before.cancel()
        if interval_s:
            loop = asyncio.get_running_loop()
            due_s = round((loop.time() + interval_s) / requests.SHORTEST_S) * requests.SHORTEST_S
            self._intervals[key] = loop.call_at(due_s, self._repeat, key, interval_s)

    def _capture(self, command: requests.Command, capture: requests.Capture, answering: list[int]) -> None:
        """Start recording, or stop, on the cameras that are meant. Who was addressed answers: PX4 sends what
        a mission has for 101 to 100."""
        meant = {one: command.camera or one for one in answering}
        cameras = {one: self._cameras[one] for one in meant.values()}
        self._release(cameras.values())
        for one in cameras if capture.on else ():
            self._set_interval(one, wire.CAMERA_CAPTURE_STATUS, capture.interval_s, is_while_recording=True)
        chosen, everyone = frozenset(cameras.values()), Everyone.NOBODY
        if command.target == command.camera == ALL:
            chosen = frozenset(one for one in chosen if self._is_of_rig(one, on=capture.on))
            everyone = Everyone.NOBODY if self._settings.devices else Everyone.RIG
        askers = {(one, command.system, command.component): (command, of) for one, of in meant.items()}
        self._captures.carry_out(Order(capture.on, cameras, chosen, everyone, askers))

    def _is_of_rig(self, device_id: int, *, on: bool) -> bool:
        """Whether an order to all is for a camera: one that may record is told to stop in any case."""
        device = self._devices.get(device_id)
        if device is None or device.camera is None:
            return False
        return device.expected or (not on and (is_recording(device) or _is_wanted(device)))


def _is_idle(device: DeviceRecord) -> bool:
    """Whether a camera is known not to record."""
    return device.camera is not None and device.camera.recording_state == RecordingState.IDLE


def _is_wanted(device: DeviceRecord) -> bool:
    """Whether a camera was told to record, and not to stop since."""
    return device.camera is not None and device.camera.recording_requested


def _as_away(device: DeviceRecord) -> DeviceRecord:
    """The record of a camera while the daemon is away: with what stays true."""
    camera = device.camera
    kept = (
        None if camera is None else CameraRecord(model=camera.model, firmware_version=camera.firmware_version)
    )
    return replace(device, camera=kept)
