"""The commands about sleeping cameras: wake, sleep, pair, unpair, and searches over Bluetooth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from wifimgrd.domain import sentences
from wifimgrd.domain.camera_model import Bluetooth
from wifimgrd.domain.commands import PAIR, SLEEP, WAKE
from wifimgrd.domain.device import ConnectionPhase, DeviceId, DeviceState, PowerState, Ssid
from wifimgrd.domain.errors import (
    Busy,
    CameraBusy,
    Cancelled,
    ErrorCode,
    InternalError,
    InvalidRequest,
    NotPaired,
    NotSupported,
    PairingFailed,
    WifimgrdError,
)
from wifimgrd.domain.events import DeviceUpdated, OperationFailed
from wifimgrd.domain.power import (
    Advertiser,
    BluetoothStatus,
    PairedCamera,
    WakeRequest,
    Wakes,
    codename_of,
    matches,
    pairing_error,
    supported,
)
from wifimgrd.domain.records import BluetoothRecord, bluetooth_record
from wifimgrd.domain.registration import PairingRegistration, parse_bluetooth_address
from wifimgrd.manager._connections import Connections
from wifimgrd.manager._entry import DeviceEntry, Operation
from wifimgrd.manager._looking import Looking
from wifimgrd.manager._scans import Scans
from wifimgrd.manager._state import HubState
from wifimgrd.manager._waking import Waking
from wifimgrd.ports import CameraBluetooth
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_PAIRING_SEARCH_S: Final = 10
PAIRING_S: Final = 60.0
"""How long a pairing may take, with the search for the camera."""
_SLEEP_S: Final = 30.0
_NAMED: Final = 8
"""How many cameras an error names, those that were received best."""
_LONGEST_NAME: Final = 40
_CLOCK_US: Final = 1_000_000
"""The times at which networks were received are of whole seconds."""
_CANCELLED: Final = "the operation was cancelled by another command"


class Power:
    """Wakes, pairs and finds cameras by commands of clients."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        waking: Waking,
        scans: Scans,
        bluetooth: CameraBluetooth,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._connections = connections
        self._waking = waking
        self._scans = scans
        self._bluetooth = bluetooth
        self._tasks = tasks
        self._pairing: set[str] = set()
        """The addresses of the cameras that are being paired."""

    @property
    def status(self) -> BluetoothStatus:
        """Whether this host has Bluetooth now."""
        return self._bluetooth.status

    # -- searches

    async def search(self, seconds: int) -> None:
        """Search for cameras of all models; raises BluetoothUnavailable, Busy."""
        await self._waking.search(seconds, self._state.settings.models.values())

    def records(self) -> list[BluetoothRecord]:
        """The cameras that were heard lately, the strongest first."""
        models = self._state.settings.models.values()
        found = [
            bluetooth_record(one, codename_of(models, one), self._waking.device_of(one))
            for one in self._waking.heard.values()
        ]
        return sorted(found, key=lambda one: (-(one.rssi or -1000), one.address))

    # -- commands

    async def wake(self, device_id: DeviceId, *, wait: bool) -> None:
        """Wake a camera; one that is awake stays as it is.

        Raises DeviceNotFound, Busy, NotSupported, NotPaired, BluetoothUnavailable; with `wait` also
        WakeFailed, Cancelled.
        """
        entry = self._state.entry_to_change(device_id)
        supported(self._state.model(entry.device))
        is_awake = entry.state is DeviceState.CONNECTED or entry.sight.state is PowerState.AWAKE
        if is_awake and entry.operation is None:
            return
        if entry.state is not DeviceState.DISCONNECTED:
            raise Busy(f"the device is {entry.state.value}")
        request = self._waking.request(entry)
        self._waking.require_bluetooth()
        if entry.operation is None:
            self._waking.set_phase(entry, ConnectionPhase.WAKING)
        await self._run(entry, WAKE.name, partial(self._wake, entry, request), wait=wait)

    async def sleep(self, device_id: DeviceId, *, wait: bool) -> None:
        """Disconnect a camera and put it to sleep; a sleeping one stays as it is.

        Raises DeviceNotFound, Busy, NotSupported, NotPaired, BluetoothUnavailable, CameraBusy if it is
        known to record; with `wait` also CameraBusy, WakeFailed, Cancelled.
        """
        entry = self._state.entry_to_change(device_id)
        model = self._state.model(entry.device)
        bluetooth = supported(model)
        if not bluetooth.sleep:
            raise NotSupported(f"cameras of the model {model.device_name} cannot be put to sleep")
        request = self._waking.request(entry)
        if entry.camera.reading.is_recording:
            raise CameraBusy("the camera records: stop that first")
        if entry.state is DeviceState.DISCONNECTED and entry.sight.state is PowerState.ASLEEP:
            return
        self._waking.require_bluetooth()
        await self._run(entry, SLEEP.name, partial(self._sleep, entry, request), wait=wait)

    async def pair(self, device_id: DeviceId, *, wait: bool, address: str | None = None) -> None:
        """Pair the camera of a device: the one with an address, else the one that it was paired with before,
        else the only one of its model in pairing mode.

        Raises DeviceNotFound, Busy, NotSupported, InvalidRequest, BluetoothUnavailable; with `wait` also
        PairingFailed, Cancelled.
        """
        entry = self._state.entry_to_change(device_id)
        bluetooth = self._pairable(entry)
        wanted = entry.device.bluetooth_address if address is None else parse_bluetooth_address(address)
        self._waking.require_bluetooth()
        await self._run(entry, PAIR.name, partial(self._pair, entry, bluetooth, wanted), wait=wait)

    async def unpair(self, device_id: DeviceId) -> None:
        """End a pairing that runs, and forget the camera; raises DeviceNotFound, Busy, NotSupported,
        BluetoothUnavailable."""
        entry = self._state.entry_to_change(device_id)
        self._pairable(entry)
        if entry.operation is not None:
            await self._end(entry.operation)
        address = entry.device.bluetooth_address
        if not address:
            return
        self._waking.require_bluetooth()
        await self._bluetooth.unpair(address)
        _log.info("unpaired", device=device_id, device_name=entry.device.name)
        await self._remember(entry, "")

    @asynccontextmanager
    async def introduced(self, registration: PairingRegistration) -> AsyncIterator[tuple[str, PairedCamera]]:
        """Pair the camera of a new device; yields its codename, and what it says of its network. No other
        device gets the camera meanwhile; its keys are removed if none has it in the end.

        Raises Busy, InvalidRequest, PairingFailed, BluetoothUnavailable.
        """
        self._waking.require_bluetooth()
        address = registration.bluetooth_address
        with self._alone_with(address):
            codename, camera = await self._identify(registration)
            try:
                yield codename, camera
            except BaseException:
                if self._holder(address) is None:
                    await self._bluetooth.unpair(address)
                raise

    async def _identify(self, registration: PairingRegistration) -> tuple[str, PairedCamera]:
        address = registration.bluetooth_address
        try:
            async with asyncio.timeout(PAIRING_S):
                models = self._state.settings.models
                seen = self._waking.heard.get(address)
                if seen is None:
                    seen = await self._waking.find(address, _PAIRING_SEARCH_S, models.values())
                if seen is None:
                    raise PairingFailed(f"no camera with the address {address} is in range")
                fitting = [one for one in models.values() if matches(one, seen) and one.bluetooth]
                model = models.get(registration.codename or "") or next(iter(fitting), None)
                if model is None or model.bluetooth is None or not model.bluetooth.pairing:
                    raise PairingFailed(f"{address} is not a camera that says what its network is")
                camera = await self._bluetooth.pair(address, model.bluetooth.service)
        except TimeoutError:
            raise PairingFailed(f"the camera was not paired within {PAIRING_S:g} s") from None
        codename = registration.codename or codename_of(models.values(), seen, camera.model)
        if not codename:
            await self._bluetooth.unpair(address)
            sentence = f'The camera says that it is "{camera.model}": choose its model.'
            raise InvalidRequest(f"codename: {sentence}", {"codename": (sentence,)})
        return codename, camera

    async def attach(
        self, address: str, camera: PairedCamera, key: str | None, request: bytes
    ) -> DeviceId | None:
        """The device that was registered by typing the network of a camera that is paired now, and has none
        yet; None if there is no such device. It is found under the idempotency key of the request, too."""
        for entry in self._state.registry.sharing(Ssid(camera.ssid)):
            bluetooth = self._state.model(entry.device).bluetooth
            is_pairable = bluetooth is not None and bluetooth.pairing
            if is_pairable and not entry.device.bluetooth_address and not entry.removing:
                await self._remember(entry, address, key, request)
                return entry.device.id
        return None

    def paired(self, entry: DeviceEntry) -> None:
        """A device was registered whose camera was just paired."""
        self._waking.paired(entry)

    def commanded(self, entry: DeviceEntry) -> None:
        """A client is about to have a device connected or disconnected: a wake of its own ends."""
        if entry.operation is not None and entry.operation.name == WAKE.name:
            entry.operation.task.cancel()

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed: the keys of its camera are, too."""
        self._waking.forget(entry)
        if entry.operation is not None:
            entry.operation.task.cancel()
        if address := entry.device.bluetooth_address:
            self._unpair_later(address)

    def _unpair_later(self, address: str) -> None:
        self._tasks.start("unpair", self._bluetooth.unpair(address), expected=(WifimgrdError,))

    async def stop(self) -> None:
        """End all operations."""
        await self._tasks.stop()

    # -- operations

    async def _run(
        self, entry: DeviceEntry, name: str, work: Callable[[], Awaitable[None]], *, wait: bool
    ) -> None:
        """Start an operation, or join the same one that runs; raises Busy if another one does."""
        operation = entry.operation
        if operation is None:
            task = self._tasks.start(name, self._carry_out(entry, name, work), expected=(WifimgrdError,))
            operation = entry.operation = Operation(name, task)
        elif operation.name != name:
            raise Busy(f"another command of the device runs: {operation.name}")
        if wait:
            operation.awaited = True
            try:
                await asyncio.shield(operation.task)
            except asyncio.CancelledError:
                if operation.task.cancelled():
                    raise Cancelled(_CANCELLED) from None
                raise

    async def _carry_out(self, entry: DeviceEntry, name: str, work: Callable[[], Awaitable[None]]) -> None:
        error: WifimgrdError | None = None
        try:
            await work()
        except WifimgrdError as failure:
            error = failure
            raise
        except asyncio.CancelledError:
            error = Cancelled(_CANCELLED)
            raise
        except Exception as crash:
            _log.exception("operation_crashed", device=entry.device.id, operation=name)
            error = InternalError("the operation ended with an internal error")
            raise error from crash
        finally:
            operation, entry.operation = entry.operation, None
            if error is not None:
                self._report(entry, name, error, awaited=operation is not None and operation.awaited)

    def _report(self, entry: DeviceEntry, name: str, error: WifimgrdError, *, awaited: bool) -> None:
        device = entry.device
        if error.code is not ErrorCode.CANCELLED and name != WAKE.name:
            _log.warning(
                f"{name}_failed",
                device=device.id,
                device_name=device.name,
                code=error.code,
                reason=error.message,
            )
        if not awaited and self._state.entries.get(device.id) is entry:
            self._state.publish(OperationFailed(device.id, name, error.code, error.message))

    @staticmethod
    async def _end(operation: Operation) -> None:
        operation.task.cancel()
        await asyncio.wait((operation.task,))

    async def _wake(self, entry: DeviceEntry, request: WakeRequest) -> None:
        looking = Looking(partial(self._is_received, entry, self._state.clock()))
        try:
            async with self._waking.awake(entry, request, looking):
                pass
        finally:
            if entry.state is DeviceState.DISCONNECTED:
                self._waking.set_phase(entry, None)

    async def _is_received(self, entry: DeviceEntry, since_us: int, _: bool) -> bool | None:
        """Whether the network of a device is on the air: by a scan of all channels on the adapter that it
        would get, which gives way to an attempt, or because another adapter has received it since then. None
        if it is not known: no adapter is free."""
        interface = self._state.allocator.would_get(self._connections.claim(entry))
        try:
            scanned = [] if interface is None else (await self._scans.scan(interface)).scanned
            networks = await self._scans.networks()
        except WifimgrdError:
            return None
        for one in networks:
            is_recent = one.last_seen_us >= since_us - _CLOCK_US
            if one.ssid == entry.device.ssid and (
                is_recent or (not one.last_seen_us and interface in one.interfaces)
            ):
                return True
        return False if scanned else None

    async def _sleep(self, entry: DeviceEntry, request: WakeRequest) -> None:
        await self._connections.disconnect(entry.device.id)
        try:
            async with asyncio.timeout(_SLEEP_S):
                await self._bluetooth.sleep(request.key, request.service)
        except NotPaired:
            self._waking.bond_lost(entry)
            raise
        _log.info("asleep", device=entry.device.id, device_name=entry.device.name)
        self._waking.saw(entry, PowerState.ASLEEP)

    async def _pair(self, entry: DeviceEntry, bluetooth: Bluetooth, wanted: str) -> None:
        deadline = asyncio.get_running_loop().time() + PAIRING_S
        try:
            async with asyncio.timeout_at(deadline):
                address = wanted or await self._only_one(entry)
            with self._alone_with(address, entry):
                async with asyncio.timeout_at(deadline):
                    camera = await self._bluetooth.pair(address, bluetooth.service)
                await self._take(entry, address, camera)
        except TimeoutError:
            raise PairingFailed(f"the camera was not paired within {PAIRING_S:g} s") from None

    async def _take(self, entry: DeviceEntry, address: str, camera: PairedCamera) -> None:
        """Store a camera that was paired for a device, if it is the one; raises PairingFailed."""
        ssid, before = entry.device.ssid, entry.device.bluetooth_address
        if camera.ssid and camera.ssid != ssid.octets:
            if address != before:
                await self._bluetooth.unpair(address)
            raise PairingFailed(pairing_error(ssid, camera.ssid))
        _log.info("paired", device=entry.device.id, device_name=entry.device.name, address=address)
        try:
            await self._remember(entry, address)
        except BaseException:
            if entry.removing:  # the keys of a device that is gone, which `removed` did not know yet
                self._unpair_later(address)
            raise
        if before not in ("", address):
            self._unpair_later(before)

    async def _only_one(self, entry: DeviceEntry) -> str:
        """The address of the only camera of the model that is in pairing mode; raises PairingFailed."""
        model = self._state.model(entry.device)
        await self._waking.search(_PAIRING_SEARCH_S, [model])
        taken = {one.device.bluetooth_address for one in self._state.entries.values() if one is not entry}
        found = [
            one
            for one in self._waking.heard.values()
            if one.pairing_mode and matches(model, one) and one.address not in taken
        ]
        if len(found) == 1:
            return found[0].address
        if not found:
            raise PairingFailed(f"no {model.device_name} in pairing mode is in range")
        found.sort(key=lambda one: -(one.rssi or -1000))
        named = ", ".join(sorted(map(_title, found[:_NAMED])))
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise PairingFailed(f"several cameras are in pairing mode, give the address of one: {named}{more}")

    def _holder(self, address: str) -> DeviceEntry | None:
        """The device that has the camera with an address."""
        entries = self._state.entries.values()
        return next((one for one in entries if one.device.bluetooth_address == address), None)

    @contextmanager
    def _alone_with(self, address: str, entry: DeviceEntry | None = None) -> Iterator[None]:
        """Let no other device get a camera meanwhile; raises PairingFailed if another than `entry` has it,
        Busy if it is being paired."""
        holder = self._holder(address)
        if holder is not None and holder is not entry:
            raise PairingFailed(f"that camera is {sentences.title(holder.device.id, holder.device.name)}")
        if address in self._pairing:
            raise Busy("that camera is being paired for another device")
        self._pairing.add(address)
        try:
            yield
        finally:
            self._pairing.discard(address)

    def _pairable(self, entry: DeviceEntry) -> Bluetooth:
        """How the camera of a device is paired; raises NotSupported."""
        model = self._state.model(entry.device)
        bluetooth = supported(model)
        if not bluetooth.pairing:
            raise NotSupported(f"cameras of the model {model.device_name} need not be paired")
        return bluetooth

    async def _remember(
        self, entry: DeviceEntry, address: str, key: str | None = None, request: bytes = b""
    ) -> None:
        """Store the camera that is paired for a device, or that none is, safe on disk on return."""
        entry.wakes = Wakes()
        if address:
            self._waking.paired(entry)
        async with entry.editing:
            changed = replace(entry.device, bluetooth_address=address)
            await self._state.store.update(changed, key=key, request=request)
            self._state.record(entry, replace(entry.device, bluetooth_address=address))
        self._state.publish(DeviceUpdated(self._state.status(entry)))


def _title(seen: Advertiser) -> str:
    return f"{seen.name[:_LONGEST_NAME]} ({seen.address})" if seen.name else seen.address
