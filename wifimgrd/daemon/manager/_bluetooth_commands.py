"""The commands about sleeping cameras: wake, sleep, pair, unpair, and searches over Bluetooth."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

import structlog

from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._lookout import Lookout
from wifimgrd.daemon.manager._operations import Operations
from wifimgrd.daemon.manager._pairing import Pairing
from wifimgrd.daemon.manager._scans import Scans
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.daemon.ports import CameraBluetooth
from wifimgrd.domain.camera_model import Bluetooth
from wifimgrd.domain.commands import PAIR, RECOVER, SLEEP, WAKE
from wifimgrd.domain.device import ConnectionPhase, DeviceId, DeviceState, PowerState
from wifimgrd.domain.errors import (
    Busy,
    CameraBusy,
    NotPaired,
    NotSupported,
    WifimgrdError,
)
from wifimgrd.domain.power import (
    BluetoothStatus,
    WakeRequest,
    codename_of,
    supported,
)
from wifimgrd.domain.records import BluetoothRecord, bluetooth_record
from wifimgrd.domain.registration import parse_bluetooth_address

_log = structlog.get_logger()

_SLEEP_S: Final = 30.0
_CLOCK_US: Final = 1_000_000
"""The times at which networks were received are of whole seconds."""
_CANCELLED: Final = "the operation was cancelled by another command"


class BluetoothCommands:
    """Wakes, pairs and finds cameras by commands of clients."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        waking: Waking,
        scans: Scans,
        pairing: Pairing,
        bluetooth: CameraBluetooth,
        operations: Operations,
    ) -> None:
        self._state = state
        self._connections = connections
        self._waking = waking
        self._scans = scans
        self._pairing = pairing
        self._bluetooth = bluetooth
        self._operations = operations

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
        if self._to_wake(device_id) is None:
            return
        await self._waking.require_bluetooth()
        if (wanted := self._to_wake(device_id)) is None:  # it may have been connected, or removed, meanwhile
            return
        entry, request = wanted
        if entry.operation is None:
            self._state.show_activity(entry, ConnectionPhase.WAKING)
        await self._operations.run(entry, WAKE.name, partial(self._wake, entry, request), wait=wait)

    def _to_wake(self, device_id: DeviceId) -> tuple[DeviceEntry, WakeRequest] | None:
        """A device whose camera may be woken now, and how that is done; None if the camera is awake."""
        entry = self._state.entry_to_change(device_id)
        supported(self._state.model(entry.device))
        is_awake = entry.state is DeviceState.CONNECTED or entry.sleep.sight.state is PowerState.AWAKE
        if is_awake and entry.operation is None:
            return None
        if entry.state is not DeviceState.DISCONNECTED:
            raise Busy(f"the camera is {entry.state.value}")
        return entry, self._waking.request(entry)

    async def sleep(self, device_id: DeviceId, *, wait: bool) -> None:
        """Disconnect a camera and put it to sleep; a sleeping one stays as it is.

        Raises DeviceNotFound, Busy, NotSupported, NotPaired, BluetoothUnavailable, CameraBusy if it
        records, or may; with `wait` also CameraBusy, WakeFailed, Cancelled.
        """
        entry, request = self._to_put_to_sleep(device_id)
        if entry.state is DeviceState.DISCONNECTED and entry.sleep.sight.state is PowerState.ASLEEP:
            self._state.expect(entry, connected=False)
            return
        await self._waking.require_bluetooth()
        entry, request = self._to_put_to_sleep(device_id)  # it may record, or may be removed, meanwhile
        await self._operations.run(entry, SLEEP.name, partial(self._sleep, entry, request), wait=wait)

    def _to_put_to_sleep(self, device_id: DeviceId) -> tuple[DeviceEntry, WakeRequest]:
        """A device whose camera may be put to sleep now, and how it is reached."""
        entry = self._state.entry_to_change(device_id)
        model = self._state.model(entry.device)
        if not supported(model).sleep:
            raise NotSupported(f"cameras of the model {model.device_name} cannot be put to sleep")
        request = self._waking.request(entry)
        if entry.may_record:
            raise CameraBusy("the camera records, or may: stop that first")
        return entry, request

    async def pair(self, device_id: DeviceId, *, wait: bool, address: str | None = None) -> None:
        """Pair the camera of a device: the one with an address, else the one that it was paired with before,
        else the only one of its model in pairing mode.

        Raises DeviceNotFound, Busy, NotSupported, InvalidRequest, BluetoothUnavailable; with `wait` also
        PairingFailed, NotConnected, Cancelled.
        """
        self._pairable(self._state.entry_to_change(device_id))
        given = None if address is None else parse_bluetooth_address(address)
        await self._waking.require_bluetooth()
        entry = self._state.entry_to_change(device_id)
        bluetooth = self._pairable(entry)
        wanted = entry.device.bluetooth_address if given is None else given
        work = partial(self._pairing.pair, entry, bluetooth, wanted)
        await self._operations.run(entry, PAIR.name, work, wait=wait)

    async def unpair(self, device_id: DeviceId) -> None:
        """End a pairing that runs, and forget the camera; raises DeviceNotFound, Busy, NotSupported,
        BluetoothUnavailable."""
        entry = self._state.entry_to_change(device_id)
        self._pairable(entry)
        if entry.operation is not None and entry.operation.name != RECOVER.name:
            await self._operations.end(entry.operation)
            entry = self._state.entry_to_change(device_id)
        await self._pairing.unpair(entry)

    def commanded(self, entry: DeviceEntry) -> None:
        """A client is about to have a device connected or disconnected: a wake of its own ends."""
        if entry.operation is not None and entry.operation.name == WAKE.name:
            entry.operation.task.cancel()

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed: the keys of its camera are, too."""
        self._waking.forget(entry)
        if entry.operation is not None:
            entry.operation.task.cancel()
        self._pairing.removed(entry)

    async def stop(self) -> None:
        """End all that runs over Bluetooth."""
        await self._operations.stop()
        await self._pairing.stop()

    # -- what they do

    async def _wake(self, entry: DeviceEntry, request: WakeRequest) -> None:
        lookout = Lookout(partial(self._is_received, entry, self._state.clock()))
        async with self._waking.awake(entry, request, lookout):
            pass

    async def _is_received(self, entry: DeviceEntry, since_us: int, _: bool) -> bool | None:
        """Whether the network of a device is on the air: by a scan of all channels on the adapter that it
        would get, which gives way to an attempt, or because another adapter has received it since then. None
        if it is not known: no adapter is free."""
        interface = self._state.allocator.would_get(self._connections.claim(entry.device))
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
        except NotPaired as error:
            await self._waking.failed(entry, error)
            raise
        self._waking.answered(entry)
        _log.info("asleep", device=entry.device.id, device_name=entry.device.name)
        self._waking.saw(entry, PowerState.ASLEEP)

    def _pairable(self, entry: DeviceEntry) -> Bluetooth:
        """How the camera of a device is paired; raises NotSupported."""
        model = self._state.model(entry.device)
        bluetooth = supported(model)
        if not bluetooth.pairing:
            raise NotSupported(f"cameras of the model {model.device_name} need not be paired")
        return bluetooth
