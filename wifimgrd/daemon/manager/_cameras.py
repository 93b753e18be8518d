"""The commands to cameras: recording on one and on many, and their clocks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from wifimgrd.daemon.manager._camera import Camera, cancel, log_failure, may_be_done
from wifimgrd.daemon.manager._camera_clocks import CameraClocks
from wifimgrd.daemon.manager._camera_readings import CameraReadings
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._over_bluetooth import OverBluetooth
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import HostClock
from wifimgrd.domain.camera import (
    COMMAND_OF_MANY_S,
    COMMAND_S,
    CameraCommand,
    CameraReading,
    CommandResult,
    Wish,
)
from wifimgrd.domain.camera_control import CameraControl, OpenCameraSocket
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import (
    DeviceNotReachable,
    NotConnected,
    NotSupported,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.domain.events import RecordingFailed, RecordingRefused
from wifimgrd.domain.rig import Everyone, RigCamera, commanded
from wifimgrd.runtime.tasks import Tasks

_READ_S: Final = 2.0
"""How long a command waits, after its answer, until the camera is seen to do what it was told."""
_MARGIN_S: Final = 0.5
"""By how much a command over Bluetooth ends before its caller's limit."""
_Send = Callable[..., Awaitable[Mapping[DeviceId, CommandResult]]]
"""Sends a command to cameras by their ids, `on` or not; never raises the errors of the tree."""


class Cameras:
    """Commands the cameras that the hub has a driver for."""

    def __init__(
        self,
        state: HubState,
        control: CameraControl,
        clock: HostClock,
        over_bluetooth: OverBluetooth,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._over_bluetooth = over_bluetooth
        self._control = control
        self._clocks = CameraClocks(state, control, clock)
        self._tasks = tasks
        self.readings = CameraReadings(state, control, self._clocks, tasks)
        """The reports of the cameras."""

    async def start(self, open_socket: OpenCameraSocket) -> None:
        """Be ready for the first connected camera; `open_socket` leads to its services."""
        await self._control.start(self.readings, open_socket)

    async def stop(self) -> None:
        """End all; cameras go on with what they do."""
        self.readings.stop()
        await self._tasks.stop()
        await self._control.stop()

    def not_recording(self, entry: DeviceEntry) -> None:
        """A connected camera does not record though it should: it is told again, if that is wanted."""
        if not self._state.settings.keep_recording:
            return
        camera, entries = self.readings.cameras[entry.device.id], {entry.device.id: entry}
        camera.tries += 1
        if self._is_told_over_bluetooth(entry):
            until_s = asyncio.get_running_loop().time() + COMMAND_S - _MARGIN_S
            send: _Send = partial(self._send_over_bluetooth, until_s)
        else:
            send = partial(self._send, is_repeated=camera.tries > 1)
        work = self._settled(entries, {entry.device.id: camera}, send, on=True)
        self._tasks.start("keep-recording", work, expected=(WifimgrdError,))

    # -- commands

    async def start_recording(self, device_id: DeviceId) -> None:
        """Start recording on one camera; one that records goes on.

        Raises DeviceNotFound, Busy, NotSupported, NotConnected, CameraBusy, CameraRefused,
        DeviceNotReachable, Unconfirmed, BackendUnavailable.
        """
        await self._record_one(device_id, on=True)

    async def stop_recording(self, device_id: DeviceId) -> None:
        """Stop recording on one camera; raises as `start_recording`."""
        await self._record_one(device_id, on=False)

    async def record(
        self, device_ids: Iterable[DeviceId], *, on: bool, everyone: Everyone = Everyone.NOBODY
    ) -> Mapping[DeviceId, CommandResult]:
        """Start or stop recording on several cameras at once, each with a result of its own: on those of a
        list, of which one that is not connected may be told over Bluetooth, and on `everyone`, of whom nobody
        is searched for."""
        at, listed = self._state.clocks(), dict.fromkeys(device_ids)
        wanted = dict.fromkeys((*listed, *commanded(self._rig(), everyone, on=on)))
        if everyone is Everyone.RIG and not on:
            self._end_wishes(wanted)
        results: dict[DeviceId, CommandResult] = {}
        entries: dict[DeviceId, DeviceEntry] = {}
        over_bluetooth: list[DeviceEntry] = []
        for device_id in wanted:
            try:
                entry = self._able(device_id)
            except WifimgrdError as error:
                results[device_id] = CommandResult(error=error)
                if not isinstance(error, NotConnected):
                    continue
                entry = self._state.entry(device_id)
                if device_id not in listed:
                    self._wish(entry, self._camera(entry), on=on)
                elif self._over_bluetooth.may_reach(entry):
                    over_bluetooth.append(entry)
            else:
                if self._is_told_over_bluetooth(entry):
                    over_bluetooth.append(entry)
                else:
                    entries[device_id] = entry
        if on:
            told = {one.device.id for one in over_bluetooth}
            self._tell_failures({one: results[one] for one in results if one not in told}, at)
        found = await asyncio.gather(
            self._record(entries, self._send, on=on),
            *(self._record_over_bluetooth(entry, on=on) for entry in over_bluetooth),
        )
        for one in found:
            results |= one
            if on:
                self._tell_failures(one, at)
        return {one: results[one] for one in wanted}

    def _tell_failures(self, results: Mapping[DeviceId, CommandResult], at: Clocks) -> None:
        """Publish which cameras have not done a command to record that was given `at` a moment."""
        for device_id, result in results.items():
            if result.error is not None:
                self._state.publish(RecordingFailed(device_id, result.error.code, at))

    def _end_wishes(self, but: Container[DeviceId]) -> None:
        """All are told to stop: no other camera is to begin once it is connected again."""
        for device_id, entry in self._state.entries.items():
            if entry.device.recording_requested and device_id not in but:
                if self._state.model(entry.device).control is None:
                    self._state.record(entry, replace(entry.device, recording_requested=False))
                else:
                    camera = self._camera(entry)
                    self.readings.set_wish(entry, camera, Wish(), at_once=True)
                    self.readings.compare(entry, camera)

    def _is_told_over_bluetooth(self, entry: DeviceEntry) -> bool:
        """Whether a connected camera is one that starts and stops only over Bluetooth. One that is not paired
        says so itself."""
        control = self._state.model(entry.device).control
        is_told = control is not None and not control.driver.records_over_network
        return is_told and self._over_bluetooth.has_bond(entry)

    def _rig(self) -> Iterable[RigCamera]:
        """The cameras that the hub has a driver for, but those that are being removed."""
        for device_id, entry in self._state.entries.items():
            if self._state.model(entry.device).control is None or entry.removing:
                continue
            device, is_connected = entry.device, entry.state is DeviceState.CONNECTED
            yield RigCamera(device_id, device.expected, is_connected, entry.may_record)

    async def set_clock(self, device_id: DeviceId) -> None:
        """Set the clock of a camera to this host's; raises as `start_recording`, CameraBusy also while it
        records."""
        try:
            entry = self._able(device_id)
        except NotConnected:
            entry = self._state.entry(device_id)
            if not self._over_bluetooth.may_reach(entry):
                raise
            until_s = await self._found(entry)
            result = await self._command_over_bluetooth(entry, CameraCommand.SET_CLOCK, until_s)
            if result.error is not None:
                raise result.error from None
            self._clocks.was_set(entry, CameraReading())
        else:
            camera = self._camera(entry)
            await self._clocks.set(entry, camera.reading)
            camera.published_s = None  # clients are told at once
            self.readings.compare(entry, camera)

    def _able(self, device_id: DeviceId) -> DeviceEntry:
        """A device that can be commanded."""
        entry = self._state.entry_to_change(device_id)
        model = self._state.model(entry.device)
        if model.control is None:
            raise NotSupported(f"the hub has no driver for cameras of the model {model.device_name}")
        if entry.state is not DeviceState.CONNECTED:
            raise NotConnected(f"the camera is {entry.state.value}")
        return entry

    def _camera(self, entry: DeviceEntry) -> Camera:
        """The camera of a device that the hub has a driver for."""
        control = self._state.model(entry.device).control
        if control is None:
            raise NotSupported("the device has another model meanwhile")
        return self.readings.of(entry, control)

    async def _record_one(self, device_id: DeviceId, *, on: bool) -> None:
        error = (await self.record([device_id], on=on))[device_id].error
        if error is not None:
            raise error

    def _wish(self, entry: DeviceEntry, camera: Camera, *, on: bool) -> None:
        """Store what is wanted of a camera."""
        wish = camera.wish.commanded(self._state.clock(), on=on)
        if wish.is_another(camera.wish):  # else a problem stays until the camera does what it should
            cancel(camera.timer)
            camera.differs_from_s = None
        camera.steadiness = camera.steadiness.commanded()
        if on:
            self.readings.end_seen(entry, camera)
        self.readings.set_wish(entry, camera, wish, at_once=True)
        self.readings.compare(entry, camera)

    async def _record(
        self, entries: Mapping[DeviceId, DeviceEntry], send: _Send, *, on: bool
    ) -> Mapping[DeviceId, CommandResult]:
        """Store what is wanted of cameras, have them do it by `send`, and tell where it is not known whether
        they have."""
        if not entries:
            return {}
        cameras = {device_id: self._camera(entry) for device_id, entry in entries.items()}
        for device_id, entry in entries.items():
            self._wish(entry, cameras[device_id], on=on)
        are_connected = [one for one, entry in entries.items() if entry.state is DeviceState.CONNECTED]
        results = await self._settled(entries, cameras, send, on=on)
        for device_id in are_connected:
            error = results[device_id].error
            if error is not None and not isinstance(error, Unconfirmed):
                self._state.publish(RecordingRefused(device_id, on, error.code, error.message))
        return results

    async def _settled(
        self,
        entries: Mapping[DeviceId, DeviceEntry],
        cameras: Mapping[DeviceId, Camera],
        send: _Send,
        *,
        on: bool,
    ) -> Mapping[DeviceId, CommandResult]:
        """Have cameras do what is wanted of them by `send`, and remember where that is not known."""
        results = await send(entries, on=True) if on else await self._stop(entries, cameras, send)
        return {one: self._known(entries[one], cameras[one], result) for one, result in results.items()}

    def _known(self, entry: DeviceEntry, camera: Camera, result: CommandResult) -> CommandResult:
        """Note what is known after a command, and return the result. A camera that was not reached may still
        do what an earlier command wanted: then the result is Unconfirmed."""
        wish = camera.wish
        if isinstance(result.error, DeviceNotReachable) and wish.is_unconfirmed:
            result = replace(result, error=Unconfirmed(result.error.message))
        is_done, is_unconfirmed = result.error is None, isinstance(result.error, Unconfirmed)
        if self.readings.cameras.get(entry.device.id) is not camera or not (is_done or is_unconfirmed):
            return result
        if is_unconfirmed and camera.reading.read_us < wish.since_us:
            camera.reading = replace(camera.reading, recording=None, recording_since_us=None)
        self.readings.set_wish(entry, camera, wish.done() if is_done else wish.unconfirmed())
        self.readings.compare(entry, camera)
        return result

    # -- over Bluetooth

    async def _found(self, entry: DeviceEntry) -> float:
        """Wait until a camera was heard to be on, unless it is connected; returns until when a command may
        take, by the loop's clock. Raises NotConnected, DeviceNotFound, Busy."""
        until_s = asyncio.get_running_loop().time() + COMMAND_S - _MARGIN_S
        if entry.state is not DeviceState.CONNECTED:
            await self._over_bluetooth.find(entry)
        self._state.entry_to_change(entry.device.id)  # it may have been removed meanwhile
        self._camera(entry)  # what it will say is kept
        return until_s

    async def _record_over_bluetooth(
        self, entry: DeviceEntry, *, on: bool
    ) -> Mapping[DeviceId, CommandResult]:
        """Start or stop recording on a camera over Bluetooth, if it is on."""
        device_id = entry.device.id
        try:
            send = partial(self._send_over_bluetooth, await self._found(entry))
            return await self._record({device_id: entry}, send, on=on)
        except WifimgrdError as error:
            return {device_id: CommandResult(error=error)}

    async def _send_over_bluetooth(
        self, until_s: float, entries: Mapping[DeviceId, DeviceEntry], *, on: bool
    ) -> Mapping[DeviceId, CommandResult]:
        command, results = CameraCommand.START if on else CameraCommand.STOP, {}
        for device_id, entry in entries.items():
            results[device_id] = result = await self._command_over_bluetooth(entry, command, until_s)
            log_failure(entry.device, result)
        return results

    async def _command_over_bluetooth(
        self, entry: DeviceEntry, command: CameraCommand, until_s: float
    ) -> CommandResult:
        """Carry a command out over Bluetooth. If the camera is not read over its network, the state that it
        reports meanwhile counts for as long as that of a camera that has become silent. A HERO9 may not
        answer over its network while it records."""
        try:
            answer = await self._over_bluetooth.carry_out(entry, command, until_s)
        except WifimgrdError as error:
            return CommandResult(error=error)
        camera = self.readings.cameras.get(entry.device.id)
        is_other = camera is None or (camera.is_attached and camera.driver.records_over_network)
        if camera is not None and answer.reading.read_us and not is_other:
            turns = self.readings.take(entry, camera, answer.reading)
            self.readings.publish(entry, camera, turns)
        return answer.result

    # -- over the network

    async def _stop(
        self, entries: Mapping[DeviceId, DeviceEntry], cameras: Mapping[DeviceId, Camera], send: _Send
    ) -> Mapping[DeviceId, CommandResult]:
        """Command cameras to stop. A recording that ends meanwhile has ended by that."""
        began = {device_id: camera.began_us for device_id, camera in cameras.items()}
        for camera in cameras.values():
            camera.stops += 1
        try:
            results = await send(entries, on=False)
        finally:
            for camera in cameras.values():
                camera.stops -= 1
        for device_id, result in results.items():
            camera = cameras[device_id]
            if camera.began_us == began[device_id] and may_be_done(result):
                camera.is_stopped = True
        return results

    async def _send(
        self, entries: Mapping[DeviceId, DeviceEntry], *, on: bool, is_repeated: bool = False
    ) -> Mapping[DeviceId, CommandResult]:
        """Command cameras, and wait until they are seen to do it; of commands that are `is_repeated` the
        journal does not tell each failure."""
        loop, since_us = asyncio.get_running_loop(), self._state.clock()
        end_s = loop.time() + (COMMAND_S if len(entries) == 1 else COMMAND_OF_MANY_S)
        results = dict(await self._control.record(list(entries), on=on))
        answered_us = self._state.clock()
        done = [one for one, result in results.items() if result.error is None]
        unsure = [one for one, result in results.items() if isinstance(result.error, Unconfirmed)]
        await asyncio.gather(
            self._until_seen(done, since_us, min(loop.time() + _READ_S, end_s), on=on),
            self._until_seen(unsure, answered_us, end_s),
        )
        for one in unsure:
            results[one] = self._seen_since(one, results[one], answered_us, on=on)
        for device_id, result in results.items():
            log_failure(entries[device_id].device, result, is_repeated=is_repeated)
        return results

    async def _until_seen(
        self, device_ids: Sequence[DeviceId], since_us: int, end_s: float, *, on: bool | None = None
    ) -> None:
        """Wait until cameras were read after a time, and do what they should if that is given; at most until
        `end_s`, by the loop's clock."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(end_s):
                await asyncio.gather(*(self._until_read(one, since_us, on) for one in device_ids))

    async def _until_read(self, device_id: DeviceId, since_us: int, on: bool | None) -> None:
        """The same of one camera. One that does not tell whether it records has been seen, if it was told."""
        while (camera := self.readings.cameras.get(device_id)) is not None and camera.is_attached:
            reading = camera.reading
            is_fresh = reading.read_us >= since_us
            if on is None:
                if is_fresh and reading.recording is not None:
                    return
            elif reading.is_recording is on or (is_fresh and reading.recording is None):
                return
            read: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            camera.reads.append(read)
            await read

    def _seen_since(
        self, device_id: DeviceId, result: CommandResult, since_us: int, *, on: bool
    ) -> CommandResult:
        """The result of a command whose answer was lost: what the camera does since then decides."""
        camera = self.readings.cameras.get(device_id)
        if camera is None or camera.reading.recording is None or camera.reading.read_us < since_us:
            return result
        if camera.reading.is_recording is on:
            return CommandResult()
        said = "does not record" if on else "still records"
        return CommandResult(error=DeviceNotReachable(f"the camera's answer was lost, and it {said}"))
