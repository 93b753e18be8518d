"""The cameras as MAVLink components: heartbeats, answers to questions, and what changes at the hub."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Final

import structlog

from wifimgrd.client import changes
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.domain.rig import Everyone
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._armed import ARMED, AUTOPILOT, Armed
from wifimgrd.mavlink._camera_messages import camera_message, heartbeat
from wifimgrd.mavlink._captures import Asker, Captures, Order
from wifimgrd.mavlink._components import Memory, assigned
from wifimgrd.mavlink._link import Link
from wifimgrd.mavlink._requests import ALL, Capture, Command, Interval, Question, Result, meaning
from wifimgrd.mavlink._settings import Settings
from wifimgrd.mavlink._signing import Signing
from wifimgrd.runtime.tasks import Backoff, Tasks

HEARTBEAT_S: Final = 1.0
QUESTIONS_AT_ONCE: Final = 120
"""Questions are answered as they come, so many in a burst: MAVSDK has 30 for six cameras, in one instant."""
QUESTIONS_A_SECOND: Final = 40
_SIGNED_AHEAD: Final = 6_000_000
"""Timestamps, a minute of them, that are written before they are used."""
_RETRY: Final = Backoff(first_s=1.0, last_s=30.0)

_log = structlog.get_logger("wifimgrd.mavlink")


class Bridge:
    """Connects the live copy of the daemon's objects with the link to the stations."""

    def __init__(self, hub: HubClient, settings: Settings, tasks: Tasks) -> None:
        self._hub = hub
        self._settings = settings
        self._tasks = tasks
        self._memory = memory = Memory(settings.state_folder)
        self._signing = None if settings.key is None else Signing(settings.key, memory.signed_until)
        self._link = Link(settings.connection, settings.system, self._signing, self._receive)
        self._captures = Captures(hub, self._link.send, tasks.part("captures"))
        self._devices: dict[int, DeviceRecord] = {}
        """The last known records, also while the daemon is away."""
        self._cameras = {one: device for device, one in memory.components.items()}
        """The devices by their components."""
        self._intervals: dict[tuple[int, wire.Message], tuple[float, float]] = {}
        """The interval at which a component sends a message, and when it is due."""
        self._questions, self._counted_s = float(QUESTIONS_AT_ONCE), 0.0
        self._armed = Armed()
        self._began_s = time.monotonic()

    async def start(self) -> None:
        """Send heartbeats, with or without the daemon, and follow it whenever it is there."""
        self._hub.subscribe(self._on_change)
        await self._hub.start()
        self._tasks.keep("link", self._serve, _RETRY, expected=(OSError,))

    async def stop(self) -> None:
        """Close the link, and end."""
        await self._tasks.stop()
        await self._hub.stop()

    async def _serve(self) -> None:
        try:
            self._link.open()
            while True:
                self._beat()
                next_s = self._now() + HEARTBEAT_S
                while (now := self._now()) < next_s:
                    due_s = min((due for _, due in self._intervals.values()), default=next_s)
                    await asyncio.sleep(max(0.0, min(due_s, next_s) - now))
                    self._repeat()
        finally:
            self._link.close()

    def _beat(self) -> None:
        if self._signing is not None and self._signing.last >= self._memory.signed_until:
            self._memory.write(self._memory.components, self._signing.last + _SIGNED_AHEAD)
        for component, device in self._cameras.items():
            known = self._devices.get(device) if self._hub.available else None
            self._link.send(component, wire.HEARTBEAT, heartbeat(known))
        self._armed, to_stop = self._armed.due(self._now())
        if to_stop:
            self._order_by_arming(to_stop, on=False)

    def _repeat(self) -> None:
        now = self._now()
        for (component, message), (interval_s, due_s) in list(self._intervals.items()):
            if due_s <= now:
                self._intervals[component, message] = interval_s, now + interval_s
                self._tell(component, message)

    def _tell(self, component: int, message: wire.Message) -> None:
        """Send what is known of a camera."""
        device = self._devices.get(self._cameras[component])
        if device is not None:
            boot_ms = int((time.monotonic() - self._began_s) * 1000) & 0xFFFFFFFF
            values = camera_message(message, device, boot_ms, time.time_ns() // 1000)
            self._link.send(component, message, values)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    # -- the hub

    def _on_change(self, change: changes.Change) -> None:
        match change:
            case changes.DaemonAppeared():
                before, self._devices = self._devices, dict(self._hub.devices)
                self._assign()
                for device in self._devices.values():
                    self._follow(before.get(device.id), device)
            case changes.DeviceAdded(device):
                self._devices[device.id] = device
                self._assign()
            case changes.DeviceChanged(before, after):
                self._devices[after.id] = after
                if (before.name, before.camera is None) != (after.name, after.camera is None):
                    self._assign()
                self._follow(before, after)
            case changes.DeviceRemoved(device_id):
                self._devices.pop(device_id, None)
                self._assign()

    def _assign(self) -> None:
        """Each camera that is wanted has a component, as far as there are enough."""
        wanted = [device for device in sorted(self._devices) if self._is_wanted(self._devices[device])]
        components = assigned(self._memory.components, self._devices, wanted)
        self._memory.write(components, self._memory.signed_until)
        self._cameras = {components[device]: device for device in wanted if device in components}
        self._intervals = {one: due for one, due in self._intervals.items() if one[0] in self._cameras}
        if without := [device for device in wanted if device not in components]:
            _log.warning("cameras_without_component", devices=without)

    def _is_wanted(self, device: DeviceRecord) -> bool:
        named = self._settings.devices
        return device.camera is not None and (not named or device.name in named or str(device.id) in named)

    def _follow(self, before: DeviceRecord | None, after: DeviceRecord) -> None:
        """A recording that begins or ends is told at once."""
        if before is None or is_recording(before) is is_recording(after):
            return
        if not is_recording(after):
            self._armed = self._armed.released((after.id,))
        for component in [one for one, device in self._cameras.items() if device == after.id]:
            self._tell(component, wire.CAMERA_CAPTURE_STATUS)
            if not is_recording(after):
                self._intervals.pop((component, wire.CAMERA_CAPTURE_STATUS), None)

    # -- stations and autopilots

    def _receive(self, frame: wire.Frame) -> None:
        system = self._settings.system
        if frame.message in (wire.COMMAND_INT, wire.COMMAND_LONG):
            command = Command.of(frame)
            if command.target_system in (ALL, system):
                self._answer(command)
        elif self._settings.record_while_armed and frame.message is wire.HEARTBEAT:
            if (frame.system, frame.component) == (system, AUTOPILOT):
                self._hear(is_armed=bool(int(frame.values["base_mode"]) & ARMED))

    def _hear(self, *, is_armed: bool) -> None:
        """The autopilot's heartbeat."""
        self._armed, is_edge = self._armed.heard(is_armed, self._now())
        devices = [self._devices[one] for one in self._cameras.values() if one in self._devices]
        idle = {one.id for one in devices if one.expected and not is_recording(one)}
        if is_edge and self._order_by_arming(idle, on=True):
            self._armed = self._armed.recording(idle)

    def _order_by_arming(self, devices: Collection[int], *, on: bool) -> bool:
        """Order it for some of the cameras: nobody waits for an answer, but a refusal is said."""
        cameras = {one: device for one, device in self._cameras.items() if device in devices}
        _log.info("armed" if on else "disarmed", devices=sorted(devices))
        return bool(cameras) and self._captures.carry_out(Order(on, cameras, cameras.values()))

    def _answer(self, command: Command) -> None:
        """Answer a command to one of the cameras, or to all."""
        is_to_all = command.target_component == ALL
        components = [one for one in self._cameras if is_to_all or one == command.target_component]
        if not components or not self._may_ask():
            return
        meant = meaning(command)
        if isinstance(meant, Capture):
            self._capture(command, meant, components)
        elif not (is_to_all and isinstance(meant, Result) and meant is not Result.ACCEPTED):
            for component in components:  # else it is for others: the autopilot answers
                self._captures.answer(Asker(component, command, component), self._result(component, meant))
                if isinstance(meant, Question):
                    self._tell(component, meant.message)

    def _may_ask(self) -> bool:
        now = self._now()
        passed_s, self._counted_s = now - self._counted_s, now
        self._questions = min(self._questions + passed_s * QUESTIONS_A_SECOND, QUESTIONS_AT_ONCE)
        is_allowed = self._questions >= 1
        self._questions -= is_allowed
        return is_allowed

    def _result(self, component: int, meant: Question | Interval | Result) -> Result:
        """The answer to a question to a component."""
        match meant:
            case Question() if self._cameras[component] not in self._devices:
                return Result.TEMPORARILY_REJECTED
            case Interval(message, interval_s):
                self._intervals.pop((component, message), None)
                if interval_s:
                    self._intervals[component, message] = interval_s, self._now() + interval_s
            case Result():
                return meant
        return Result.ACCEPTED

    def _capture(self, command: Command, capture: Capture, components: list[int]) -> None:
        """Start recording, or stop, on the cameras that are meant; who was addressed answers."""
        is_to_all, everyone = command.target_component == ALL, Everyone.NOBODY
        meant = {one: one for one in components}
        if capture.camera != ALL and is_to_all:
            meant = {one: one for one in components if one == capture.camera}
        elif capture.camera != ALL:
            meant = {components[0]: capture.camera}  # PX4 sends what a mission has for 101 to 100
        elif is_to_all and not self._settings.devices:
            everyone = Everyone.RIG
        askers = [Asker(one, command, camera) for one, camera in meant.items()]
        cameras = {one: self._cameras[one] for one in meant.values() if one in self._cameras}
        if not cameras:
            for asker in askers:
                self._captures.answer(asker, Result.DENIED)
            return
        self._armed = self._armed.released(cameras.values())
        for one in cameras if capture.interval_s else ():
            self._result(one, Interval(wire.CAMERA_CAPTURE_STATUS, capture.interval_s))
        is_to_rig = is_to_all and capture.camera == ALL
        chosen = [one for one in cameras.values() if not is_to_rig or self._is_of_rig(one, on=capture.on)]
        self._captures.carry_out(
            Order(capture.on, cameras, chosen, everyone, {one.key: one for one in askers})
        )

    def _is_of_rig(self, device_id: int, *, on: bool) -> bool:
        """Whether an order to all is for a camera: one that may record is told to stop in any case."""
        device = self._devices.get(device_id)
        return device is not None and (device.expected or (not on and is_recording(device)))
