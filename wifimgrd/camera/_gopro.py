"""A GoPro over a link: commands and their answers, statuses, credentials."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from wifimgrd.camera._bluetooth_camera import CommandedCamera
from wifimgrd.camera._credentials import credentials_of
from wifimgrd.camera._link import Link, LinkLost, Trouble
from wifimgrd.camera.conversations import now_us
from wifimgrd.camera.drivers import gopro_messages as protocol
from wifimgrd.camera.drivers import protocol as driver
from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.gopro_messages import Answer, Assembler, Channel, HardwareInfo
from wifimgrd.camera.drivers.gopro_state import Status
from wifimgrd.camera.drivers.protocol import Request
from wifimgrd.domain.errors import CameraBusy
from wifimgrd.domain.power import PairedCamera

_HOST_NAME: Final = "wifimgrd"
_RECORDING: Final = "the camera is recording"
_MOST_WAITING: Final = 64
"""Messages of one channel that nobody has read; further ones are dropped."""
_NEEDED: Final = (
    protocol.SSID,
    protocol.PASSWORD,
    *(uuid for channel in protocol.CHANNELS for uuid in channel),
)


class GoPro(CommandedCamera):
    """A GoPro that is connected and bonded."""

    SERVICE = protocol.SERVICE
    NEEDS_BOND = True
    DRIVER = GoProBluetoothDriver

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._limits = link.limits
        self._received: dict[Channel, asyncio.Queue[bytes]] = {}
        self._asking = asyncio.Lock()
        """One message at a time, so that answers are those to it."""
        self._access_point = asyncio.Event()
        """Set once the camera has said that its access point is on."""

    @classmethod
    async def wants_bond(cls, link: Link) -> bool:
        """True, once the camera has what a GoPro has."""
        await link.require(_NEEDED)
        return True

    async def start(self) -> None:
        """Subscribe, and wait until the camera has booted."""
        await self._started()

    async def wake(self) -> None:
        """A connection wakes it; its access point has to be switched on."""
        await self._started()
        await self._start_access_point()

    async def restart_access_point(self, *, unless_recording: bool) -> None:
        """By one command, or two on models that do not have it."""
        await self._started()
        if unless_recording:
            await self._require_idle()
        await self._answer(protocol.QUERY, protocol.register_statuses(Status.ACCESS_POINT))
        await self._switch_access_point_anew()

    async def pair(self) -> PairedCamera:
        """A bond is not enough: the camera stays at its pairing screen until `_finish_pairing`."""
        info = await self._started()
        await self._finish_pairing()
        ssid, password = await self._link.read(protocol.SSID), await self._link.read(protocol.PASSWORD)
        credentials = credentials_of(ssid, password)
        await self._start_access_point()
        return PairedCamera(credentials.ssid, credentials.password, info.model, info.serial)

    async def _started(self) -> HardwareInfo:
        await self._link.require(_NEEDED)
        for channel in protocol.CHANNELS:
            queue = self._received[channel] = asyncio.Queue(_MOST_WAITING)
            await self._link.subscribe(channel.response, partial(self._notified, channel, Assembler(), queue))
        answer = await self._until_answered(
            protocol.COMMAND, protocol.HARDWARE_INFO, self._limits.boot_s, "the camera does not become ready"
        )
        return protocol.hardware_info_of(answer.data)

    async def _finish_pairing(self) -> None:
        """End the camera's pairing screen."""
        message = await self._ask(
            protocol.MANAGEMENT, protocol.pairing_finished(_HOST_NAME), protocol.is_pairing_answer
        )
        if not protocol.is_pairing_accepted(message):
            raise Trouble("the camera did not accept the end of the pairing")

    async def _start_access_point(self) -> None:
        """Switch the access point on, and off and on if it does not come up; returns once the camera says
        that it is on."""
        await self._answer(protocol.QUERY, protocol.register_statuses(Status.ACCESS_POINT))
        await self._switch_access_point_on()
        if not await self._comes_up():
            await self._switch_access_point_anew()

    async def _switch_access_point_anew(self) -> None:
        if not await self._restarts_access_point():
            await self._answer(protocol.COMMAND, protocol.ACCESS_POINT_OFF)
            self._access_point.clear()
            await self._switch_access_point_on()
        if not await self._comes_up():
            raise Trouble("the camera's access point does not come up")

    async def _restarts_access_point(self) -> bool:
        """Whether it switches its access point off and on by one command."""
        self._access_point.clear()
        try:
            answer = await self._answer(protocol.COMMAND, protocol.ACCESS_POINT_ANEW)
        except TimeoutError:
            return False
        return answer is not None and answer.succeeded

    async def _switch_access_point_on(self) -> None:
        await self._until_answered(
            protocol.COMMAND,
            protocol.ACCESS_POINT_ON,
            self._limits.boot_s,
            "the camera does not switch its access point on",
        )

    async def _comes_up(self) -> bool:
        try:
            async with asyncio.timeout(self._limits.access_point_s):
                while not self._access_point.is_set():
                    await self._wait_or_ask()
        except TimeoutError:
            return False
        return True

    async def sleep(self) -> None:
        """Put it to sleep; raises CameraBusy, too, while it records."""
        await self._started()
        if await self._is_recording():
            raise CameraBusy(_RECORDING)
        await self._end_work(protocol.SLEEP, "sleep")

    async def reboot(self) -> None:
        """Reboot it, which not all models do; raises CameraBusy, too, while it records."""
        await self._started()
        await self._require_idle()
        await self._end_work(protocol.REBOOT, "reboot")

    async def _is_recording(self) -> bool | None:
        """Whether it records; None if it does not say."""
        answer = await self._answer(protocol.QUERY, protocol.get_statuses(Status.ENCODING))
        return None if answer is None else protocol.is_set(protocol.statuses_of(answer).get(Status.ENCODING))

    async def _require_idle(self) -> None:
        """Raises CameraBusy while it records, and Trouble if it does not say whether it does."""
        is_recording = await self._is_recording()
        if is_recording is None:
            raise Trouble("the camera does not say whether it records")
        if is_recording:
            raise CameraBusy(_RECORDING)

    async def _end_work(self, command: bytes, what: str) -> None:
        """Send a command that ends what it does."""
        try:
            answer = await self._answer(protocol.COMMAND, command)
        except LinkLost:
            return  # it does, and its answer came too late
        if answer is None or not answer.succeeded:
            raise Trouble(f"the camera refused to {what}")

    async def exchange(self, request: Request) -> driver.Answer:
        """Send a driver's request, and return its answer with its times."""
        loop = asyncio.get_running_loop()
        sent_s = loop.time()
        answer = await self._answer(protocol.channel_of(request.data), request.data)
        if answer is None:
            raise Trouble("the camera's answer is too short")
        took_us = round((loop.time() - sent_s) * driver.MICROSECONDS)
        return driver.Answer(answer.status, answer.data).timed(now_us(), took_us)

    async def keep_awake(self) -> None:
        """It sleeps, connected or not, if nothing keeps it awake."""
        while True:
            await self._answer(protocol.SETTING, protocol.KEEP_ALIVE)
            await asyncio.sleep(protocol.KEEP_ALIVE_S)

    async def _wait_or_ask(self) -> None:
        """Wait for the pushed status, and ask for it if it does not come."""
        try:
            async with asyncio.timeout(self._limits.ask_again_s):
                await self._access_point.wait()
        except TimeoutError:
            await self._answer(protocol.QUERY, protocol.get_statuses(Status.ACCESS_POINT))

    async def _until_answered(
        self, channel: Channel, message: bytes, limit_s: float, otherwise: str
    ) -> Answer:
        """Send a command until the camera accepts it."""
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    answer = await self._answer(channel, message)
                    if answer is not None and answer.succeeded:
                        return answer
                    await asyncio.sleep(self._limits.ask_again_s)
        except TimeoutError:
            raise Trouble(otherwise) from None

    async def _answer(self, channel: Channel, message: bytes) -> Answer | None:
        """Send a command or a query, and return its answer; None if that is too short."""
        answer = await self._ask(channel, message, lambda received: received[:1] == message[:1])
        return protocol.answer_of(answer)

    async def _ask(self, channel: Channel, message: bytes, is_answer: Callable[[bytes], bool]) -> bytes:
        queue = self._received[channel]
        async with self._asking:
            while not queue.empty():
                queue.get_nowait()
            for packet in protocol.packets(message):
                await self._link.write(channel.request, packet)
            return await self._link.until_lost(self._next(queue, is_answer))

    async def _next(self, queue: asyncio.Queue[bytes], is_answer: Callable[[bytes], bool]) -> bytes:
        async with asyncio.timeout(self._limits.answer_s):
            while True:
                message = await queue.get()
                if is_answer(message):
                    return message

    def _notified(
        self, channel: Channel, assembler: Assembler, queue: asyncio.Queue[bytes], packet: bytes
    ) -> None:
        message = assembler.feed(packet)
        if message is None:
            return
        if channel is protocol.QUERY:
            answer = protocol.answer_of(message)
            if answer is not None and protocol.is_set(protocol.statuses_of(answer).get(Status.ACCESS_POINT)):
                self._access_point.set()
        if not queue.full():
            queue.put_nowait(message)
