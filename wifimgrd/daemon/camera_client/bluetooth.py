"""Cameras over Bluetooth, by the process `wifimgrd-camera`, which the bus starts when it is called.

While that does not run, whether there is Bluetooth follows from the kernel and from who is on the bus.
Nothing here calls bluetoothd, which would start one that was stopped on purpose.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from typing import Final, TypedDict

import structlog

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange, Signal
from wifimgrd.bus.values import typed
from wifimgrd.daemon.camera_client._process import NO_ANSWER, NOT_INSTALLED, CameraProcess, unanswered
from wifimgrd.daemon.camera_client._results import Result, command_result
from wifimgrd.daemon.ports import BluetoothListener
from wifimgrd.domain.bonds import UNKNOWN, HostBonds
from wifimgrd.domain.camera import CameraAnswer, CameraCommand
from wifimgrd.domain.device import Passphrase, PowerState
from wifimgrd.domain.errors import BluetoothUnavailable, NotSupported, WifimgrdError
from wifimgrd.domain.power import (
    Advertiser,
    BluetoothState,
    BluetoothStatus,
    PairedCamera,
    WakeRequest,
)
from wifimgrd.domain.time_limits import BLUETOOTH_S
from wifimgrd.kernel.bluetooth import has_adapter, is_blocked
from wifimgrd.proxies.bluez.definitions import ADAPTER, BLUEZ
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_calls as calls
from wifimgrd.wire import camera_names as names
from wifimgrd.wire.camera_readings import decode
from wifimgrd.wire.private_calls import Member

_log = structlog.get_logger()

_MARGIN_S: Final = 15.0
"""By which a call may exceed what it asks for: the process may have to be started."""
_SLEEP_S: Final = 60.0
_COMMAND_S: Final = 10.0
_PAIR_S: Final = 75.0
_MISSING: Final = BluetoothStatus(BluetoothState.ABSENT, NOT_INSTALLED)
_NO_ADAPTER: Final = BluetoothStatus(BluetoothState.ABSENT, names.NO_ADAPTER)
_BLOCKED: Final = BluetoothStatus(BluetoothState.OFF, names.BLOCKED)
_NO_BLUEZ: Final = BluetoothStatus(BluetoothState.ABSENT, names.NOT_INSTALLED)
_NOT_RUNNING: Final = BluetoothStatus(BluetoothState.OFF, names.NOT_RUNNING)
_READY: Final = BluetoothStatus(BluetoothState.READY)
_BASE: Final = "-0000-1000-8000-00805f9b34fb"
"""The rest of a whole UUID after the 32 bits of a short one (Core Specification, vol. 3, part B, 2.5.1)."""


class _Row(TypedDict, total=False):
    """A device in the signal Advertised."""

    address: str
    name: str
    service: str
    rssi: int
    power_state: str
    access_point: bool
    pairing_mode: bool
    serial: str
    model_id: int


class _Paired(TypedDict, total=False):
    """The reply of Pair."""

    ssid: bytes
    password: str
    model: str
    serial: str


class ProcessBluetooth:
    """Implements `wifimgrd.daemon.ports.CameraBluetooth`."""

    def __init__(self, connection: BusConnection, tasks: Tasks) -> None:
        self._connection = connection
        self._tasks = tasks
        self._process = CameraProcess(connection)
        self._searches = count()
        """Numbers them."""
        self._listener: BluetoothListener | None = None
        self._is_installed = False
        self._has_bluez = False
        self._has_bluetoothd = False
        self._is_running = False
        """Whether the process has its name."""
        self._reported: BluetoothStatus | None = None
        """The status that the process reports while it runs."""
        self._links: set[str] = set()
        """The object paths of the cameras that the process has connected."""
        self._left: set[str] = set()
        """Those of them that a process before it had, and that it was told to end."""
        self._published = _MISSING

    @property
    def status(self) -> BluetoothStatus:
        """The present state."""
        return self._published

    async def start(self, listener: BluetoothListener) -> None:
        """See CameraBluetooth.start."""
        self._listener = listener
        try:
            await self._watch()
            await self._read_installed()
            self._has_bluetoothd = await self._connection.name_owner(BLUEZ) is not None
            self._is_running = await self._connection.name_owner(calls.BUS_NAME) is not None
            if self._is_running:
                self._tasks.start("status", self._ask_status(), expected=(WifimgrdError,))
        except (BusError, BusClosed, TimeoutError) as error:
            _log.warning("bluetooth_not_watched", reason=str(error))
        self._evaluate()

    async def look_again(self) -> None:
        """See CameraBluetooth.look_again: the bus does not signal what it can start anew."""
        with suppress(BusError, BusClosed, TimeoutError):
            await self._read_installed()
        self._evaluate()

    async def _read_installed(self) -> None:
        reply = await self._connection.call_bus("ListActivatableNames", "", [])
        [installed] = typed(tuple[list[str]], reply)
        self._is_installed = self._is_running or calls.BUS_NAME in installed
        self._has_bluez = BLUEZ in installed

    async def stop(self) -> None:
        """See CameraBluetooth.stop."""
        self._listener = None
        await self._tasks.stop()

    async def _watch(self) -> None:
        connection = self._connection
        await connection.watch_owner(self._bluetoothd_changed, BLUEZ)
        await self._process.watch_running(self._process_changed)
        await self._process.watch(calls.STATUS_CHANGED.name, self._status_changed)
        await self._process.watch(calls.ADVERTISED.name, self._advertised)
        await self._process.watch(calls.UNFIT.name, self._unfit)
        await self._process.watch(calls.BONDING.name, self._bonding)
        await self._process.watch(calls.LINKS_CHANGED.name, self._links_changed)
        # Without a call: bluetoothd reports adapters to everybody.
        for member in ("InterfacesAdded", "InterfacesRemoved"):
            await connection.watch(
                self._adapters_changed, sender=BLUEZ, interface=bus_names.OBJECT_MANAGER, member=member
            )
        await connection.watch(
            self._adapters_changed,
            sender=BLUEZ,
            interface=bus_names.PROPERTIES,
            member="PropertiesChanged",
            arg0=ADAPTER,
        )

    # -- the state

    def _bluetoothd_changed(self, change: OwnerChange) -> None:
        self._has_bluetoothd = bool(change.after)
        self._evaluate()

    def _process_changed(self, change: OwnerChange) -> None:
        self._is_running = bool(change.after)
        self._is_installed = self._is_installed or self._is_running
        self._reported = None
        if change.before and self._links:  # it was killed: the next one, which this starts, ends them
            links, self._links = self._links, set()
            if left := links - self._left:  # once: one that does not end starts no process after another
                self._left |= left
                call = self._carry_out(calls.END_LINKS, [sorted(left)], BLUETOOTH_S)
                self._tasks.start("end-links", call, expected=(WifimgrdError,))
        if change.after:
            self._tasks.start("status", self._ask_status(), expected=(WifimgrdError,))
        self._evaluate()

    def _adapters_changed(self, _: Signal) -> None:
        self._evaluate()

    def _status_changed(self, signal: Signal) -> None:
        self._report(*typed(tuple[str, str], signal.body))

    async def _ask_status(self) -> None:
        self._report(*typed(tuple[str, str], await self._carry_out(calls.GET_STATUS, [], BLUETOOTH_S)))

    def _report(self, state: str, reason: str) -> None:
        with suppress(ValueError):  # of another version
            self._reported = BluetoothStatus(BluetoothState(state), reason)
            self._evaluate()

    def _evaluate(self) -> None:
        """Find out whether cameras can be reached, and tell the listener if that has changed."""
        if not self._is_installed:
            found = _MISSING
        elif self._reported is not None:
            found = self._reported
        elif not has_adapter():
            found = _NO_ADAPTER
        elif is_blocked():
            found = _BLOCKED
        elif self._has_bluetoothd:
            found = _READY
        else:
            found = _NOT_RUNNING if self._has_bluez else _NO_BLUEZ
        before, self._published = self._published, found
        if found != before and self._listener is not None:
            self._listener.bluetooth_changed(found)

    # -- what is heard

    def _advertised(self, signal: Signal) -> None:
        [rows] = typed(tuple[list[_Row]], signal.body)
        if self._listener is not None:
            self._listener.advertised([_advertiser(row) for row in rows if "address" in row])

    def _unfit(self, signal: Signal) -> None:
        address, reason = typed(tuple[str, str], signal.body)
        if self._listener is not None:
            self._listener.camera_unfit(address, reason)

    def _bonding(self, signal: Signal) -> None:
        address, adapter = typed(tuple[str, str], signal.body)
        if self._listener is not None and adapter:  # without one there, BlueZ does not pair
            self._listener.bonding(address, adapter)

    def _links_changed(self, signal: Signal) -> None:
        [links] = typed(tuple[list[str]], signal.body)
        self._links = set(links)
        self._left &= self._links

    # -- what cameras do

    async def search(self, seconds: int, targets: Sequence[tuple[str, str]]) -> None:
        """See CameraBluetooth.search."""
        key, listed = f"search-{next(self._searches)}", [list(target) for target in targets]
        async with self._cancelling(key):
            await self._carry_out(calls.SEARCH, [key, seconds, listed], 2.0 * seconds)

    async def wake(self, request: WakeRequest) -> None:
        """See CameraBluetooth.wake."""
        protocol = names.BEACON if request.beacon else _protocol(request.service)
        timeout_s = math.ceil(request.timeout_s)
        async with self._cancelling(request.key):
            body = [request.key, protocol, request.beacon, timeout_s]
            await self._carry_out(calls.WAKE, body, timeout_s)

    async def release(self, key: str) -> None:
        """See CameraBluetooth.release. A process that does not run keeps none awake, and is not started."""
        if self._is_running:
            await self._carry_out(calls.RELEASE, [key], BLUETOOTH_S)

    async def restart_access_point(self, address: str, service: str) -> None:
        """See CameraBluetooth.restart_access_point."""
        async with self._cancelling(address):
            await self._carry_out(calls.RESTART_ACCESS_POINT, [address, _protocol(service)], _SLEEP_S)

    async def reboot(self, address: str, service: str) -> None:
        """See CameraBluetooth.reboot."""
        async with self._cancelling(address):
            await self._carry_out(calls.REBOOT, [address, _protocol(service)], _SLEEP_S)

    async def sleep(self, address: str, service: str) -> None:
        """See CameraBluetooth.sleep."""
        async with self._cancelling(address):
            await self._carry_out(calls.SLEEP, [address, _protocol(service)], _SLEEP_S)

    async def command(self, address: str, service: str, command: CameraCommand) -> CameraAnswer:
        """See CameraBluetooth.command."""
        is_clock = command is CameraCommand.SET_CLOCK
        why = BluetoothUnavailable if is_clock else unanswered(BluetoothUnavailable)
        body, limit_s = [address, _protocol(service), command.value], _COMMAND_S + _MARGIN_S
        async with self._cancelling(address):
            reply = await self._process.carry_out(calls.COMMAND, body, limit_s, why)
        result, reading = typed(tuple[Result, dict[str, object]], reply)
        if "code" not in result:
            raise why(NO_ANSWER)
        return CameraAnswer(command_result(result), decode(reading))

    async def pair(self, address: str, service: str, own: Collection[str]) -> PairedCamera:
        """See CameraBluetooth.pair."""
        async with self._cancelling(address):
            reply = await self._carry_out(calls.PAIR, [address, _protocol(service), sorted(own)], _PAIR_S)
        [paired] = typed(tuple[_Paired], reply)
        return PairedCamera(
            paired.get("ssid", b""),
            Passphrase(secret) if (secret := paired.get("password", "")) else None,
            paired.get("model", ""),
            paired.get("serial", ""),
        )

    async def unpair(self, address: str, adapter: str) -> None:
        """See CameraBluetooth.unpair."""
        await self._carry_out(calls.UNPAIR, [address, adapter], BLUETOOTH_S)

    async def bonds(self, address: str) -> HostBonds:
        """See CameraBluetooth.bonds."""
        reply = await self._carry_out(calls.GET_BONDS, [address], BLUETOOTH_S)
        bonded, adapters = typed(tuple[list[str], list[str]], reply)
        return HostBonds(frozenset(bonded) - {UNKNOWN}, frozenset(adapters) - {UNKNOWN})

    async def _carry_out(self, method: Member, body: Sequence[object], limit_s: float) -> list[object]:
        """Call a method that takes as long as `limit_s`; raises the errors of the tree."""
        return await self._process.carry_out(method, body, limit_s + _MARGIN_S, BluetoothUnavailable)

    @asynccontextmanager
    async def _cancelling(self, key: str) -> AsyncIterator[None]:
        """If the caller is cancelled, have the process end the operation of a camera, or a search."""
        try:
            yield
        except asyncio.CancelledError:
            call = partial(self._carry_out, calls.CANCEL, [key], BLUETOOTH_S)
            self._tasks.start("cancel", call(), expected=(WifimgrdError,))
            raise


def _protocol(service: str) -> str:
    try:
        return names.PROTOCOLS[service]
    except KeyError:
        raise NotSupported(f"nothing is known of cameras with the service {service}") from None


def _short(uuid: str) -> str:
    """A UUID as the catalog has it: its 16 bits, if the rest is that of all short ones."""
    is_short = uuid.startswith("0000") and uuid.endswith(_BASE)
    return uuid[4 : -len(_BASE)] if is_short else uuid


def _advertiser(row: _Row) -> Advertiser:
    """One that is asleep is one whose Wi-Fi is off, if it says so."""
    state = None
    said = row.get("power_state")
    if "access_point" in row:
        state = PowerState.AWAKE if row["access_point"] else PowerState.ASLEEP
    elif said in (names.ASLEEP, names.AWAKE):
        state = PowerState(said)
    return Advertiser(
        row.get("address", ""),
        row.get("name", ""),
        _short(row.get("service", "")),
        row.get("rssi") or None,
        state,
        is_on=said == names.AWAKE if said else None,
        pairing_mode=row.get("pairing_mode", False),
        serial=row.get("serial", ""),
        model_id=row.get("model_id"),
    )
