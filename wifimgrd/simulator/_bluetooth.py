"""Bluetooth in a simulated world: its cameras advertise, are paired, sleep and wake."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from wifimgrd.camera.conversations import carry_out, now_us
from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.gopro_messages import REBOOT
from wifimgrd.camera.drivers.protocol import MICROSECONDS, Answer, Request
from wifimgrd.daemon.ports import BackendMemory, BluetoothListener
from wifimgrd.domain.bonds import HostBonds
from wifimgrd.domain.camera import CameraAnswer, CameraCommand
from wifimgrd.domain.device import PowerState
from wifimgrd.domain.errors import (
    BluetoothUnavailable,
    Busy,
    CameraBusy,
    DeviceNotReachable,
    NotPaired,
    NotSupported,
    PairingFailed,
    WakeFailed,
)
from wifimgrd.domain.power import (
    Advertiser,
    BluetoothState,
    BluetoothStatus,
    PairedCamera,
    WakeRequest,
)
from wifimgrd.simulator._camera import Camera
from wifimgrd.simulator._faults import Faults
from wifimgrd.simulator._scenario import BluetoothKind, Times
from wifimgrd.simulator.emulators import GOPRO_NUMBERS, GoProBluetooth, GoProEmulator, OscEmulator

_READY: Final = BluetoothStatus(BluetoothState.READY)
_OFF: Final = BluetoothStatus(BluetoothState.OFF, "the simulated Bluetooth adapter is switched off")
ADAPTER: Final = "02:00:00:00:00:B1"
"""The address of the adapter."""
_BONDS: Final = "bluetooth-bonds"
_FORGOTTEN: Final = "the camera has forgotten this hub: pair it again"
_ANSWER_US: Final = 2000
"""How long an answer takes: one that took no time says that there was nothing to do."""
_OK: Final = b"\0"
"""The status of an answer to a command that is obeyed."""
_TRIES: Final = 6
"""How often a connection that ends at once is tried."""
_REFUSED: Final = "the camera refused the connection {} times"
_MAY_HAVE_FORGOTTEN: Final = "if this stays so, it may have forgotten this hub: pair it again"
_OF_OTHERS: Final = "this hub has not made the bond that the camera has lost"
_UNKNOWN_HOST: Final = "the camera does not know this hub: pair it while it is connected over Wi-Fi"
_STRANGER: Final = "the camera is not paired with this hub"


class SimulatedBluetooth:
    """Implements `wifimgrd.daemon.ports.CameraBluetooth`."""

    def __init__(
        self, cameras: Mapping[bytes, Camera], faults: Faults, times: Times, memory: BackendMemory
    ) -> None:
        self._cameras = cameras
        self._faults = faults
        self._times = times
        self._memory = memory
        self.bonded = set((memory.recall(_BONDS) or "").split())
        """The addresses of the cameras that the host has keys of, also those that others have paired."""
        self.listener: BluetoothListener | None = None
        """The hub, from `start` to `stop`."""
        self._busy: set[str] = set()
        self._is_off = False
        self.on_wake: Callable[[Camera], None] = lambda _: None
        """Called to switch a camera's Wi-Fi on."""
        self.on_sleep: Callable[[Camera], None] = lambda _: None
        """Called to switch it off."""
        self.on_wifi_off: Callable[[Camera], None] = lambda _: None
        """Called to switch off only that."""
        self.on_reboot: Callable[[Camera], None] = lambda _: None
        """Called to reboot one."""
        self.on_connect: Callable[[Camera], None] = lambda _: None
        """Called when a connection is made for a command."""

    @property
    def status(self) -> BluetoothStatus:
        """READY, unless the fault `bluetooth-off` is set."""
        return _OFF if self._is_off else _READY

    async def start(self, listener: BluetoothListener) -> None:
        """The state is known at once."""
        self.listener = listener

    async def stop(self) -> None:
        """Nothing runs but what its caller cancels."""
        self.listener = None

    async def look_again(self) -> None:
        """The state is always known."""

    def switch(self, *, is_off: bool) -> None:
        """Switch the adapter off or on."""
        if is_off != self._is_off:
            self._is_off = is_off
            if self.listener is not None:
                self.listener.bluetooth_changed(self.status)

    async def search(self, seconds: int, targets: Sequence[tuple[str, str]]) -> None:
        """See CameraBluetooth.search; it takes as long as the scenario says, at most `seconds`."""
        self._require()
        await asyncio.sleep(min(seconds, self._times.search_s))
        self._require()
        heard = [seen for camera in self._cameras.values() if (seen := self._heard(camera, targets))]
        if heard and self.listener is not None:
            self.listener.advertised(heard)

    def _heard(self, camera: Camera, targets: Sequence[tuple[str, str]]) -> Advertiser | None:
        """The advertisement of a camera, if a search for these finds it."""
        kind = camera.plan.bluetooth
        if kind is None or not camera.advertises:
            return None
        if isinstance(camera.emulator, OscEmulator) and not camera.emulator.is_bluetooth_on:
            return None
        for service, pattern in targets:
            by_service = service != "" and service == kind.service
            if by_service or (pattern and re.fullmatch(pattern, camera.bluetooth_name)):
                return Advertiser(
                    camera.bluetooth_address,
                    camera.bluetooth_name,
                    service if by_service else "",
                    -60,
                    self._state(camera, kind),
                    is_on=camera.is_on if kind is BluetoothKind.GOPRO else None,
                    pairing_mode=kind is not BluetoothKind.INSTA360 and camera.plan.pairing_mode,
                    serial=camera.bluetooth_name[-4:],
                    model_id=GOPRO_NUMBERS.get(camera.plan.camera_model),
                )
        return None

    @staticmethod
    def _state(camera: Camera, kind: BluetoothKind) -> PowerState | None:
        """The power state that its advertisement says: only that of a GoPro does."""
        if kind is not BluetoothKind.GOPRO:
            return None
        return PowerState.AWAKE if camera.is_on and not camera.is_wifi_off else PowerState.ASLEEP

    async def wake(self, request: WakeRequest) -> None:
        """See CameraBluetooth.wake."""
        self._require()
        if not request.beacon:
            async with self._alone(request.key):
                camera = await self._reach(request.key)
                await asyncio.sleep(self._times.wake_s)
                self.on_wake(camera)
            return
        is_heard = False
        for camera in self._cameras.values():
            hears = camera.plan.bluetooth is BluetoothKind.INSTA360 and camera.advertises
            if hears and camera.bluetooth_name[-6:].encode() in request.beacon:
                await asyncio.sleep(self._times.wake_s)
                self.on_wake(camera)
                is_heard = True
        await asyncio.sleep(request.timeout_s if is_heard else self._times.absent_s)

    async def release(self, key: str) -> None:
        """Simulated cameras stay awake."""

    async def restart_access_point(self, address: str, service: str) -> None:
        """See CameraBluetooth.restart_access_point."""
        self._require()
        if service != BluetoothKind.GOPRO.service:
            raise NotSupported("the simulated camera does not restart its access point")
        async with self._alone(address):
            camera = await self._reach(address)
            self.on_connect(camera)
            _require_idle(camera)
            self.on_wifi_off(camera)
            try:
                await asyncio.sleep(self._times.wake_s)
            finally:
                if camera.is_on:  # nobody has switched it off meanwhile
                    self.on_wake(camera)

    async def reboot(self, address: str, service: str) -> None:
        """See CameraBluetooth.reboot."""
        self._require()
        if service != BluetoothKind.GOPRO.service:
            raise NotSupported("the simulated camera does not reboot")
        async with self._alone(address):
            camera = await self._reach(address)
            _require_idle(camera)
            if not isinstance(camera.emulator, GoProEmulator):
                self.on_reboot(camera)
            elif GoProBluetooth(camera.emulator).answer(REBOOT) != REBOOT + _OK:
                raise WakeFailed("the camera refused to reboot")

    async def sleep(self, address: str, service: str) -> None:  # noqa: ARG002 - all sleep alike
        """See CameraBluetooth.sleep."""
        self._require()
        async with self._alone(address):
            camera = await self._reach(address)
            self.on_sleep(camera)

    async def command(self, address: str, service: str, command: CameraCommand) -> CameraAnswer:  # noqa: ARG002
        """See CameraBluetooth.command."""
        self._require()
        async with self._alone(address):
            try:
                camera = await self._reach(address)
            except WakeFailed as error:
                raise DeviceNotReachable(error.message) from None
            self.on_connect(camera)
            if not isinstance(camera.emulator, GoProEmulator):
                raise DeviceNotReachable("the simulated camera has no driver")
            await asyncio.sleep(self._times.wake_s)
            emulated = GoProBluetooth(camera.emulator)

            async def exchange(request: Request) -> Answer:
                await asyncio.sleep(_ANSWER_US / MICROSECONDS)
                if not (message := emulated.answer(request.data)):
                    raise DeviceNotReachable("the camera does not answer")
                return Answer(message[1], message[2:]).timed(now_us(), _ANSWER_US)

            return await carry_out(GoProBluetoothDriver(), command, exchange, lost=(DeviceNotReachable,))

    async def pair(
        self,
        address: str,
        service: str,  # noqa: ARG002 - all pair alike
        own: Collection[str],
    ) -> PairedCamera:
        """See CameraBluetooth.pair."""
        self._require()
        async with self._alone(address):
            camera = self._at(address)
            if camera is None:
                await asyncio.sleep(self._times.absent_s)
                raise PairingFailed("no answer: the camera is out of range, or switched off")
            await asyncio.sleep(self._times.wake_s)
            if refusals := camera.refusals(_TRIES):
                raise PairingFailed(_REFUSED.format(refusals))
            if _registers_hosts(camera):
                if not _knows_host(camera):
                    raise PairingFailed(_UNKNOWN_HOST)
                return self._paired(camera)
            if not camera.plan.pairing_mode:
                raise PairingFailed("the camera refused: switch it to pairing mode")
            is_lost = bool(self._faults.bond_lost.get(camera.plan.ssid.data))
            is_new = address not in self.bonded or is_lost
            if is_new and ADAPTER not in own and address in self.bonded:
                raise PairingFailed(_OF_OTHERS)
            if is_new and self.listener is not None:
                self.listener.bonding(address, ADAPTER)
            self._set_bonds(self.bonded | {address})
            self._faults.bond_lost.clear(camera.plan.ssid.data)
            return self._paired(camera)

    def _paired(self, camera: Camera) -> PairedCamera:
        self.on_wake(camera)
        plan = camera.plan
        return PairedCamera(plan.ssid.data, plan.passphrase, plan.camera_model)

    async def unpair(self, address: str, adapter: str) -> None:  # noqa: ARG002 - there is one
        """See CameraBluetooth.unpair."""
        self._require()
        self._set_bonds(self.bonded - {address})

    async def bonds(self, address: str) -> HostBonds:
        """See CameraBluetooth.bonds."""
        self._require()
        adapters = frozenset({ADAPTER})
        return HostBonds(adapters if address in self.bonded else frozenset(), adapters)

    def _set_bonds(self, bonds: set[str]) -> None:
        self.bonded = bonds
        self._memory.note(_BONDS, " ".join(sorted(bonds)) or None)

    async def _reach(self, address: str) -> Camera:
        """The paired camera with an address, or one that knows this host; raises NotPaired, also if it has no
        key for this host, as newer versions of BlueZ tell, and WakeFailed."""
        camera = self._at(address)
        if address not in self.bonded and (camera is None or not _registers_hosts(camera)):
            raise NotPaired(_STRANGER)
        if camera is None:
            await asyncio.sleep(self._times.absent_s)
            raise WakeFailed("no answer: the camera is out of range, or switched off")
        if _registers_hosts(camera) and not _knows_host(camera):
            raise WakeFailed(_UNKNOWN_HOST)
        if refusals := camera.refusals(_TRIES):
            raise WakeFailed(f"{_REFUSED.format(refusals)}: {_MAY_HAVE_FORGOTTEN}")
        if self._faults.bond_lost.get(camera.plan.ssid.data):
            raise NotPaired(_FORGOTTEN)
        return camera

    def _at(self, address: str) -> Camera | None:
        """The camera in range with an address."""
        for camera in self._cameras.values():
            if camera.advertises and camera.bluetooth_address == address:
                return camera
        return None

    def _require(self) -> None:
        if self._is_off:
            raise BluetoothUnavailable(_OFF.reason)

    def _alone(self, key: str) -> _Alone:
        return _Alone(self._busy, key)


def _require_idle(camera: Camera) -> None:
    if camera.emulated is not None and camera.emulated.is_recording:
        raise CameraBusy("the camera is recording")


def _registers_hosts(camera: Camera) -> bool:
    return isinstance(camera.emulator, OscEmulator) and camera.emulator.registers_hosts


def _knows_host(camera: Camera) -> bool:
    return isinstance(camera.emulator, OscEmulator) and bool(camera.emulator.hosts)


class _Alone:
    """One operation for one camera; raises Busy if another one runs."""

    def __init__(self, busy: set[str], key: str) -> None:
        self._busy = busy
        self._key = key

    async def __aenter__(self) -> None:
        if self._key in self._busy:
            raise Busy("another Bluetooth operation of this camera runs")
        self._busy.add(self._key)

    async def __aexit__(self, *_: object) -> None:
        self._busy.discard(self._key)
