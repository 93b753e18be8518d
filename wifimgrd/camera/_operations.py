"""The operations with cameras that the daemon requests: one at a time with each, each within its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import structlog

from wifimgrd.bus.connection import BusConnection
from wifimgrd.camera._beacon import Beacons
from wifimgrd.camera._bluetooth_camera import BluetoothCamera, CommandedCamera
from wifimgrd.camera._central import Central
from wifimgrd.camera._gopro import GoPro
from wifimgrd.camera._link import Link, LinkLost, Trouble
from wifimgrd.camera._theta import Theta
from wifimgrd.camera.conversations import UNCONFIRMED, carry_out
from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.domain.bonds import HostBonds
from wifimgrd.domain.camera import CameraAnswer, CameraCommand
from wifimgrd.domain.errors import (
    BluetoothUnavailable,
    Busy,
    Cancelled,
    DeviceNotReachable,
    InvalidRequest,
    NotSupported,
    PairingFailed,
    Unconfirmed,
    WakeFailed,
    WifimgrdError,
)
from wifimgrd.domain.power import PairedCamera
from wifimgrd.proxies.bluez.objects import NO_ANSWER
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_names as names

_log = structlog.get_logger()
_T = TypeVar("_T")
_Camera = TypeVar("_Camera", bound=BluetoothCamera)
_PROTOCOLS: Final[Mapping[str, type[BluetoothCamera]]] = {names.GOPRO: GoPro, names.THETA: Theta}


class Operations:
    """The operations that run, and the cameras that are kept awake."""

    def __init__(self, connection: BusConnection, central: Central, tasks: Tasks) -> None:
        self._central = central
        self._limits = central.limits
        self._tasks = tasks
        self.beacons = Beacons(connection)
        self._running: dict[str, asyncio.Task[Any]] = {}
        """By the camera's address, or the key of a beacon or of a search."""
        self._held: dict[str, asyncio.Task[None]] = {}
        """The task that keeps a camera awake and connected, by its address."""
        self.on_idle: Callable[[], None] = lambda: None
        central.on_more_services = self._end_unfit

    @property
    def are_under_way(self) -> bool:
        """Whether anything runs, or a camera is kept awake."""
        return bool(self._running or self._held)

    # -- what the daemon calls

    async def wake(self, address: str, protocol: str, timeout_s: float) -> None:
        """Wake a camera and switch its access point on; raises NotPaired, WakeFailed and others."""
        await self._run(address, self._wake(address, _kind_of(protocol)), timeout_s, WakeFailed)

    async def advertise(self, key: str, data: bytes, timeout_s: int) -> None:
        """Advertise for so long, or until it is cancelled; raises BluetoothUnavailable."""
        await self._run(key, self._advertise(data, timeout_s), timeout_s + self._limits.answer_s, WakeFailed)

    async def search(self, key: str, searching: Coroutine[Any, Any, None], duration_s: int) -> None:
        """Carry a search out that lasts so long, or until it is cancelled; raises BluetoothUnavailable."""
        limit_s = duration_s + self._limits.connect_s
        await self._run(key, searching, limit_s, BluetoothUnavailable)

    async def restart_access_point(self, address: str, protocol: str) -> None:
        """Switch an access point off and on; raises NotSupported, NotPaired, WakeFailed and others, and
        CameraBusy for a camera that records and that is not kept awake by `wake`."""
        kind = _commanded(protocol, "restart its access point")
        work = self._restart_access_point(address, kind)
        await self._run(address, work, self._limits.sleep_s, WakeFailed)

    async def reboot(self, address: str, protocol: str) -> None:
        """Reboot a camera; raises CameraBusy, and as restart_access_point."""
        work = self._reboot(address, _commanded(protocol, "reboot"))
        await self._run(address, work, self._limits.sleep_s, WakeFailed)

    async def sleep(self, address: str, protocol: str) -> None:
        """Put a camera to sleep; raises NotPaired, CameraBusy, WakeFailed and others."""
        await self._run(address, self._sleep(address, _kind_of(protocol)), self._limits.sleep_s, WakeFailed)

    async def command(self, address: str, protocol: str, command: CameraCommand) -> CameraAnswer:
        """Have a camera carry out a command, and disconnect; raises NotPaired, DeviceNotReachable,
        Unconfirmed and others."""
        kind = _kind_of(protocol)
        if not issubclass(kind, CommandedCamera):
            raise InvalidRequest(f"a camera of the protocol {protocol!r} takes no commands over Bluetooth")
        driver = kind.DRIVER()
        work = self._command(address, kind, driver, command)
        try:
            return await self._run(address, work, self._limits.command_s, DeviceNotReachable)
        except (DeviceNotReachable, BluetoothUnavailable, Cancelled):
            if driver.may_have_obeyed:
                raise Unconfirmed(UNCONFIRMED) from None
            raise

    async def pair(self, address: str, protocol: str, own: Collection[str]) -> PairedCamera:
        """Pair with a camera and read its credentials; a bond at one of `own`, addresses of adapters, that
        the camera has provably lost is replaced. Raises PairingFailed and others."""
        work = self._pair(address, _kind_of(protocol), own)
        return await self._run(address, work, self._limits.pairing_s, PairingFailed)

    async def unpair(self, address: str, adapter: str) -> None:
        """Remove the bond with a camera, if there is one, at the adapter with an address; what runs with it
        ends. Raises BluetoothUnavailable, also if it is not known."""
        await self.cancel(address)
        self.release(address)
        await self._run(
            address, self._central.unbond(address, adapter), self._limits.sleep_s, BluetoothUnavailable
        )

    async def bonds(self, address: str) -> HostBonds:
        """At which adapters this host has a bond with a camera, once an operation with it that was cancelled
        has ended: it may have to remove one. Raises BluetoothUnavailable if it is not known."""
        running = self._running.get(address)
        if running is not None and running.cancelling():
            await asyncio.wait({running})
        return await self._central.bonds(address)

    async def cancel(self, address: str) -> None:
        """End what runs with a camera or has a key, and stop keeping the camera awake; returns once that has
        ended."""
        running = self._running.get(address)
        if running is not None:
            running.cancel()
            await asyncio.wait({running})
        self.release(address)

    def release(self, address: str) -> None:
        """Stop keeping a camera awake: it is disconnected."""
        held = self._held.get(address)
        if held is not None:
            held.cancel()

    async def cancel_all(self) -> None:
        """As `cancel`, for all."""
        for address in {*self._running, *self._held}:
            await self.cancel(address)

    def end_links(self, paths: Collection[str]) -> None:
        """Disconnect devices that an earlier process had connected before it was killed."""
        objects = self._central.objects
        for path in paths:
            if objects.is_connected(path):
                objects.set_own(path, is_own=True)
                address = objects.devices[path].get("Address", "")
                if address not in self._running and address not in self._held:
                    self._central.let_go(path)

    def _end_unfit(self, address: str) -> None:
        """End what runs with a camera that has become more than one, and disconnect it."""
        for task in (self._running.get(address), self._held.get(address)):
            if task is not None:
                task.cancel()

    # -- one at a time

    async def _run(
        self,
        address: str,
        work: Coroutine[Any, Any, _T],
        limit_s: float,
        failed: Callable[[str], WifimgrdError],
    ) -> _T:
        """Run an operation as the only one with this camera; `failed` makes the error of a Trouble."""
        if address in self._running:
            work.close()
            raise Busy("another operation with this camera is under way")
        self._central.objects.kept.add(address)
        task = asyncio.create_task(self._within(address, work, limit_s, failed))
        self._running[address] = task
        task.add_done_callback(partial(self._ended, address, work))
        try:
            return await task
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                task.cancel()
                await asyncio.wait({task})
                raise
            if why := self._central.why_unfit(address):
                raise failed(why) from None
            raise Cancelled("the operation was cancelled") from None

    def _ended(self, address: str, work: Coroutine[Any, Any, Any], _: asyncio.Task[Any]) -> None:
        work.close()  # it has not begun if it was cancelled at once
        del self._running[address]
        if address not in self._held:
            self._central.objects.kept.discard(address)
        self.on_idle()

    async def _within(
        self,
        address: str,
        work: Coroutine[Any, Any, _T],
        limit_s: float,
        failed: Callable[[str], WifimgrdError],
    ) -> _T:
        deadline = asyncio.timeout(limit_s)
        try:
            async with deadline:
                return await work
        except Trouble as trouble:
            if why := self._central.why_unfit(address):
                raise failed(why) from None
            if isinstance(trouble, LinkLost):  # the adapter's, if it was that, is told after the link's end
                objects = self._central.objects
                await objects.until(lambda: objects.powered_adapter() is None, self._limits.late_s)
            self._central.radio.require_ready()
            raise failed(str(trouble)) from None
        except TimeoutError:
            if not deadline.expired():
                raise BluetoothUnavailable(NO_ANSWER) from None
            raise failed(f"it took longer than {limit_s:g} s") from None

    # -- what they do

    async def _wake(self, address: str, kind: type[BluetoothCamera]) -> None:
        try:
            await self._wake_once(address, kind)
        except LinkLost:  # such as that of a camera that was just falling asleep
            await self._wake_once(address, kind)

    async def _wake_once(self, address: str, kind: type[BluetoothCamera]) -> None:
        camera, link = await self._connected(address, kind)
        await self._or_disconnect(link, camera.wake())
        self._hold(address, link, camera)

    async def _restart_access_point(self, address: str, kind: type[CommandedCamera]) -> None:
        was_held = address in self._held
        camera, link = await self._connected(address, kind)
        # A camera that is kept awake was woken to be joined: only one for which the link was made may work.
        await self._or_disconnect(link, camera.restart_access_point(unless_recording=not was_held))
        if was_held:
            self._hold(address, link, camera)
        else:
            self._central.let_go(link.path)

    async def _reboot(self, address: str, kind: type[CommandedCamera]) -> None:
        camera, link = await self._connected(address, kind)
        await self._or_disconnect(link, camera.reboot())
        self._central.let_go(link.path)

    async def _sleep(self, address: str, kind: type[BluetoothCamera]) -> None:
        camera, link = await self._connected(address, kind)
        await self._or_disconnect(link, camera.sleep())
        self._central.let_go(link.path)

    async def _command(
        self,
        address: str,
        kind: type[CommandedCamera],
        driver: GoProBluetoothDriver,
        command: CameraCommand,
    ) -> CameraAnswer:
        await self._end_hold(address)
        link = await self._central.connect_bonded(address, pauses_s=self._limits.command_pauses_s)
        answer = await self._or_disconnect(link, _carried_out(kind(link), driver, command))
        self._central.let_go(link.path)
        return answer

    async def _pair(self, address: str, kind: type[BluetoothCamera], own: Collection[str]) -> PairedCamera:
        await self._end_hold(address)
        link, is_new = await self._central.bond(address, kind.SERVICE, kind.wants_bond, own)
        camera = kind(link)
        try:
            paired = await camera.pair()
        except BaseException:
            if is_new:
                self._central.undo(address, link)
            else:
                self._central.let_go(link.path)
            raise
        self._hold(address, link, camera)
        return paired

    async def _advertise(self, data: bytes, timeout_s: int) -> None:
        async with (
            self._central.radio.advertising() as adapter,
            self.beacons.advertise(adapter, data, timeout_s) as released,
        ):
            objects = self._central.objects
            await objects.until(lambda: released.is_set() or objects.powered_adapter() is None, timeout_s)
        self._central.radio.require_ready()

    async def _or_disconnect(self, link: Link, work: Coroutine[Any, Any, _T]) -> _T:
        try:
            return await work
        except LinkLost:
            raise
        except BaseException:
            self._central.let_go(link.path)
            raise

    # -- keeping awake

    def _hold(self, address: str, link: Link, camera: BluetoothCamera) -> None:
        """Keep a camera connected and awake until `release`, or for `hold_s`."""
        task = self._held[address] = self._tasks.start("hold", self._keep(camera))
        task.add_done_callback(partial(self._hold_ended, address, link))

    async def _keep(self, camera: BluetoothCamera) -> None:
        try:
            async with asyncio.timeout(self._limits.hold_s):
                await camera.keep_awake()
        except (Trouble, TimeoutError) as end:
            _log.debug("hold_ended", reason=str(end))

    def _hold_ended(self, address: str, link: Link, task: asyncio.Task[None]) -> None:
        if self._held.get(address) is task:  # else another operation has taken the link over
            del self._held[address]
            if address not in self._running:
                self._central.objects.kept.discard(address)
            self._central.let_go(link.path)
            self.on_idle()

    async def _connected(self, address: str, kind: type[_Camera]) -> tuple[_Camera, Link]:
        """Connect, or use the link of a camera that is kept awake."""
        await self._end_hold(address)
        connect = self._central.connect_bonded if kind.NEEDS_BOND else self._central.connect_known
        link = await connect(address)
        return kind(link), link

    async def _end_hold(self, address: str) -> None:
        """Stop keeping a camera awake without disconnecting it."""
        held = self._held.pop(address, None)
        if held is not None:
            held.cancel()
            await asyncio.wait({held})


async def _carried_out(
    camera: CommandedCamera, driver: GoProBluetoothDriver, command: CameraCommand
) -> CameraAnswer:
    await camera.start()
    return await carry_out(driver, command, camera.exchange, lost=(Trouble,))


def _kind_of(protocol: str) -> type[BluetoothCamera]:
    """How a camera of a protocol is spoken to; raises InvalidRequest."""
    try:
        return _PROTOCOLS[protocol]
    except KeyError:
        raise InvalidRequest(f"there is no protocol {protocol!r}") from None


def _commanded(protocol: str, what: str) -> type[CommandedCamera]:
    """The same, for a camera that takes commands; raises NotSupported, too."""
    kind = _kind_of(protocol)
    if not issubclass(kind, CommandedCamera):
        raise NotSupported(f"a camera of the protocol {protocol!r} does not {what}")
    return kind
