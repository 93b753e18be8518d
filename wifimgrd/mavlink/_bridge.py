"""Connects the hub with the stations: heartbeats, answers to questions, and what changes at the hub."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.client.changes import Change
from wifimgrd.client.command_rate import CommandRate
from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.config.secret_file import secret_in
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.mavlink import _cameras as ids
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink import _requests as requests
from wifimgrd.mavlink._link import Link
from wifimgrd.mavlink._recording import Asked, Camera, Recording
from wifimgrd.mavlink._requests import ALL, Result
from wifimgrd.runtime.tasks import Backoff, Tasks

AUTOPILOT: Final = 1
"""Its component."""
ARMED: Final = 0x80
"""MAV_MODE_FLAG_SAFETY_ARMED in `base_mode`."""
QUESTIONS_AT_ONCE: Final = 120
"""Questions that are answered within QUESTIONS_S: MAVSDK has 30 for six cameras, in one instant."""
QUESTIONS_S: Final = 3.0
SHORTEST_PASSPHRASE: Final = 16
"""Characters."""
_STEPS: Final = 2
"""A heartbeat is sent each second."""
_KEPT_AFTER: Final = wire.MINUTE * 9 // 10
"""How far timestamps may be ahead of the one on disk, less than a minute: heartbeats may be late."""
_RETRY: Final = Backoff(first_s=1.0, last_s=30.0)

_log = structlog.get_logger("wifimgrd.mavlink")


def key_of(settings: config.Mavlink) -> bytes | None:
    """The key that ground stations make of the passphrase in the file of the settings, None if that is not
    needed; raises FileUnusable."""
    file = settings.signing_key_file
    if file is None or not settings.connection:
        return None
    what = f"a passphrase of at least {SHORTEST_PASSPHRASE} characters"
    passphrase = secret_in(file, "[mavlink] signing_key_file", what, SHORTEST_PASSPHRASE)
    return hashlib.sha256(passphrase.encode()).digest()


class Bridge:
    """Connects the live copy of the daemon's objects with the link to the stations."""

    def __init__(
        self, hub: HubClient, settings: config.Mavlink, key: bytes | None, memory: ids.Memory, tasks: Tasks
    ) -> None:
        self._hub = hub
        self._settings = settings
        self._tasks = tasks
        self._memory = memory
        self._signing = None if key is None else wire.Signing(key, memory.last_signed, time.time_ns() // 1000)
        self._link = Link(settings, self._signing, self._receive)
        self._cameras = {one: Camera(one, DeviceRecord(of, "", "")) for one, of in memory.components.items()}
        part, is_listed = tasks.part("recording"), bool(settings.devices)
        self._recording = Recording(hub, self._link, self._cameras, part, is_listed=is_listed)
        self._wanted: ids.Wanted | None = None
        """The devices that need a component, and ids and names without a camera."""
        self._questions = CommandRate(QUESTIONS_AT_ONCE, QUESTIONS_S)
        self._began_s = time.monotonic()

    async def start(self) -> None:
        """Send heartbeats, with or without the daemon, and follow it whenever it is there."""
        self._hub.subscribe(self._on_change)
        self._tasks.keep("link", self._link.serve, _RETRY, expected=(OSError,))
        self._tasks.keep("heartbeats", self._send, _RETRY)
        await self._hub.start()

    async def stop(self) -> None:
        """Close the link, and end."""
        await self._tasks.stop()
        if self._signing is not None:
            self._memory.write(self._memory.components, self._signing.last)
        await self._hub.stop()

    async def _send(self) -> None:
        step = 0
        while True:
            if step % _STEPS == 0:
                self._beat()
            self._repeat(step)
            is_asked = any(steps for camera in self._cameras.values() for _, steps in camera.repeated)
            passed = 1 if is_asked else _STEPS - step % _STEPS
            step += passed
            await asyncio.sleep(passed * requests.STEP_S)

    def _beat(self) -> None:
        if self._signing is not None and self._signing.last >= self._memory.last_signed + _KEPT_AFTER:
            self._memory.write(self._memory.components, self._signing.last)
        for component, camera in self._cameras.items():
            self._link.send(component, wire.HEARTBEAT, ids.heartbeat(camera.device))
        self._recording.fly()

    def _repeat(self, step: int) -> None:
        """Send the messages that are due, as long as somebody hears them."""
        for camera in self._cameras.values():
            if not self._link.has_receiver:
                camera.intervals.clear()
            if not self._link.has_receiver or camera.has_ended:
                camera.rate = 0
            for message, steps in camera.repeated:
                if steps and step % steps == 0:
                    self._tell(camera, message)

    def _tell(self, camera: Camera, message: wire.Message) -> None:
        """Send what is known of a camera."""
        boot_ms = int((time.monotonic() - self._began_s) * 1000) & 0xFFFFFFFF
        values = ids.camera_message(message, camera.device, time.time_ns() // 1000)
        self._link.send(camera.component, message, {"time_boot_ms": boot_ms, **values})

    # -- the hub

    def _on_change(self, _: Change) -> None:
        """A recording that begins or ends is told at once."""
        if self._hub.available:
            self._assign()
        for camera in self._cameras.values():
            was, known = camera.device, self._hub.devices
            camera.device = known[was.id] if self._hub.available else _as_away(was)
            if camera.device is not was and camera.has_ended:
                camera.is_of_flight = False
            if is_recording(was) is not is_recording(camera.device):
                self._tell(camera, wire.CAMERA_CAPTURE_STATUS)

    def _assign(self) -> None:
        """Each camera that is wanted has a component, as far as there are enough."""
        devices, before = self._hub.devices, self._wanted
        wanted, unknown = self._wanted = ids.wanted(devices, self._settings.devices)
        if self._wanted == before:
            return
        components = ids.assigned(self._memory.components, devices, wanted)
        self._memory.write(components, self._memory.last_signed)
        left_out = [one for one in wanted if one not in components.values()]
        if left_out or unknown:
            _log.warning("without_component", devices=left_out, not_found=unknown)
        known = {camera.device.id: camera for camera in self._cameras.values()}
        self._cameras.clear()
        for component, one in components.items():
            if one in wanted:
                self._cameras[component] = known.get(one) or Camera(component, devices[one])

    # -- stations and autopilots

    def _receive(self, frame: wire.Frame) -> None:
        system, source = self._settings.system, (frame.system, frame.component)
        is_autopilot = frame.message is wire.HEARTBEAT and source == (system, AUTOPILOT)
        if frame.values.get("target_system") in (ALL, system):
            self._answer(source, frame.values)
        elif is_autopilot and self._settings.record_while_armed:
            self._recording.flight.heard(bool(int(frame.values["base_mode"]) & ARMED), _now())
            self._recording.fly()

    def _answer(self, source: tuple[int, int], values: wire.Values) -> None:
        """Answer a command to one of the cameras, or to all. Whoever is addressed answers: PX4 sends what a
        mission has for 101 to 100."""
        meaning, camera = requests.meaning(values), requests.camera_meant(values)
        asked, target = (int(values["command"]), *source), values["target_component"]
        meant = {one: camera or one for one in self._cameras if target in (ALL, one)}
        if target == ALL:
            meant = {one: of for one, of in meant.items() if one == of}
        elif camera != ALL and camera not in self._cameras:
            meaning = Result.DENIED
        if not meant or (target == ALL and meaning in (Result.DENIED, Result.UNSUPPORTED)):
            return  # it is for others, such as the autopilot, which answers
        if isinstance(meaning, requests.Capture):
            cameras = {one: self._cameras[of] for one, of in meant.items()}
            self._recording.command(asked, cameras, on=meaning.on, is_for_all=target == camera == ALL)
            for one in cameras.values() if meaning.on else ():
                one.rate = meaning.steps
            return
        for component in meant:
            if self._questions.admits(_now()):
                self._inform(self._cameras[component], asked, meaning)

    def _inform(self, camera: Camera, asked: Asked, meaning: requests.Question | Result) -> None:
        later = Result.ACCEPTED if camera.device.name else Result.TEMPORARILY_REJECTED
        result = meaning if isinstance(meaning, Result) else later
        self._recording.answer(camera.component, asked, result)
        if isinstance(meaning, requests.Question) and result is Result.ACCEPTED:
            if meaning.steps is None:
                self._tell(camera, meaning.message)
            else:
                camera.intervals[meaning.message] = meaning.steps


def _now() -> float:
    return asyncio.get_running_loop().time()


def _as_away(device: DeviceRecord) -> DeviceRecord:
    """The record of a camera while the daemon is away: with what stays true."""
    camera = device.camera
    kept = camera and CameraRecord(model=camera.model, firmware_version=camera.firmware_version)
    return replace(device, state=DeviceState.DISCONNECTED, camera=kept)
