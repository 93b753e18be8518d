"""The daemon for its clients: a live copy of its objects, and its commands."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final

from wifimgrd.bus.connection import Variant
from wifimgrd.bus.values import typed
from wifimgrd.client._command_result import CommandResult
from wifimgrd.client._live_objects import LATE, LiveObjects
from wifimgrd.domain.check import NOTHING_MORE, Wanted
from wifimgrd.domain.commands import BLUETOOTH, CAMERA, OPTIONAL_INTERFACES, POWER, WAIT, DeviceCommand
from wifimgrd.domain.errors import BackendUnavailable, InternalError, NotSupported
from wifimgrd.domain.records import (
    BluetoothRecord,
    CheckRecord,
    FindingRecord,
    HistoryRecord,
    NetworkRecord,
    OutcomeRecord,
    ResultRecord,
    SearchRecord,
    SignalHistoryRecord,
    TakeRecord,
)
from wifimgrd.domain.rig import Everyone
from wifimgrd.domain.time_limits import (
    ANSWER_S,
    CONNECT_S,
    CREATE_S,
    DIALOGUE_S,
    GROUP_S,
    OPERATION_S,
    RECORD_S,
    RECOVERY_S,
    REMOVE_S,
    SEARCH_S,
)
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import names
from wifimgrd.wire.errors import with_own_errors
from wifimgrd.wire.properties import has_interface, record_of

_COMMANDS_AT_ONCE: Final = 64
"""A message bus allows 128 calls of one client without reply (dbus-daemon(1), max_replies_per_connection)."""
_SOCKETS_AT_ONCE: Final = 32
_NOT_WAITING: Final = {"wait": Variant("b", False)}


class HubClient(LiveObjects):
    """The daemon's objects, and the commands to it.

    Commands raise the errors of `wifimgrd.domain.errors`, and BackendUnavailable while the daemon is away.
    The effects of a command are in the copy when its call returns.
    """

    def __init__(self, bus: str = "system", tasks: Tasks | None = None, *, interactive: bool = False) -> None:
        """`bus` is `system`, `session` or a D-Bus address; `tasks` are stopped with the client.
        `interactive`: for a command that needs it, polkit may ask the user for a password."""
        super().__init__(bus, tasks)
        self._is_interactive = interactive
        self._places = asyncio.Semaphore(_COMMANDS_AT_ONCE)
        self._sockets_on_their_way = asyncio.Semaphore(_SOCKETS_AT_ONCE)

    async def create_device(self, properties: Mapping[str, object]) -> int:
        """Register a device and return its id.

        Keys: `codename`, `connection_type`, `ssid` (str or bytes), `password`, or `bluetooth_address` instead
        of these two; `name` (optional), `idempotency_key` (optional). Values are plain Python values. Values
        of a wrong type are passed on, so that the daemon reports what is wrong. Raises InvalidRequest with
        `fields` keyed by those names.
        """
        reply = await self._command(
            names.ROOT_PATH, names.MANAGER, "CreateDevice", "a{sv}", [_explained(properties)], CREATE_S
        )
        [path] = typed(tuple[str], reply)
        device_id = names.device_id_of(path)
        if device_id is None:
            raise InternalError(f"wifimgrd answered with {path}, which is not a device")
        return device_id

    async def update_device(self, device_id: int, properties: Mapping[str, object]) -> None:
        """Change a registered device. The keys are those of the method `Update`, each optional."""
        await self._on_device(device_id, "Update", _explained(properties))

    async def remove_device(self, device_id: int, *, history: bool = False) -> None:
        """Disconnect and remove a device; returns when both are done. `history`: delete its history, too."""
        body = [names.device_path(device_id), {"history": Variant("b", history)}]
        await self._command(names.ROOT_PATH, names.MANAGER, "RemoveDevice", "oa{sv}", body, REMOVE_S)

    async def command_device(
        self,
        command: DeviceCommand,
        device_id: int,
        switches: Mapping[str, bool | str] = MappingProxyType({}),
        *,
        wait_s: float = 0,
        until_waiting: bool = False,
    ) -> None:
        """Begin a command. With `wait_s` this returns when it has succeeded, or raises the error by which it
        failed; TimeoutError if it has not ended so many seconds after its beginning. It goes on then.

        A device that waits for an adapter waits within that time; with `until_waiting` this returns as soon
        as it waits.
        """
        options = {name: _variant(value) for name, value in switches.items()}
        if command.reaches is None:
            await self._operate(command, device_id, options, wait_s)
            return
        result = CommandResult(self, device_id, command.reaches, until_waiting=until_waiting)
        with result, self.pinging():
            await self._on_device(device_id, command.member, options | _NOT_WAITING, CONNECT_S, result.start)
            if wait_s > 0:
                await result.reached(wait_s)

    async def _operate(
        self, command: DeviceCommand, device_id: int, options: Mapping[str, Variant], wait_s: float
    ) -> None:
        """Carry out a command that leads to no state: the reply is its end, if that is waited for."""
        path, face = names.device_path(device_id), f"{names.BUS_NAME}.{command.interface}"
        device, may_lack = self.devices.get(device_id), command.interface in OPTIONAL_INTERFACES
        if device is not None and may_lack and not has_interface(device, command.interface):
            what = {POWER: "woken", BLUETOOTH: "paired", CAMERA: "commanded"}[command.interface]
            raise NotSupported(f"cameras of the model {device.codename} cannot be {what} by this hub")
        waits = wait_s > 0 and WAIT in command.options
        if waits:
            options = {**options, WAIT: Variant("b", True)}
        call = self._command(path, face, command.member, "a{sv}", [options], wait_s + OPERATION_S)
        async with asyncio.timeout(wait_s if waits else None):
            await call

    async def search_bluetooth(self, seconds: int | None = None) -> list[BluetoothRecord]:
        """Search for cameras over Bluetooth and return those that are known then; raises InvalidRequest,
        BluetoothUnavailable, Busy."""
        options = {} if seconds is None else {"seconds": _variant(seconds)}
        rows = await self._rows("SearchBluetooth", options, (seconds or 0) + OPERATION_S)
        return [record_of(BluetoothRecord, row) for row in rows]

    async def bluetooth_devices(self) -> list[BluetoothRecord]:
        """The cameras that were heard over Bluetooth lately, without a search."""
        return [record_of(BluetoothRecord, row) for row in await self._rows("GetBluetoothDevices", {})]

    async def record(
        self, device_ids: Iterable[int], *, on: bool, everyone: Everyone = Everyone.NOBODY
    ) -> list[ResultRecord]:
        """Start or stop recording on several cameras at once, on those of a list and on `everyone`, each with
        a result of its own. Raises NotAuthorized."""
        member = "StartRecording" if on else "StopRecording"
        options = {
            "all": Variant("b", everyone is not Everyone.NOBODY),
            "connected": Variant("b", everyone is Everyone.CONNECTED),
        }
        body = [list(map(names.device_path, device_ids)), options]
        reply = await self._command(names.ROOT_PATH, names.MANAGER, member, "aoa{sv}", body, RECORD_S)
        rows = typed(tuple[list[dict[str, object]]], reply)[0]
        return [record_of(ResultRecord, row) for row in rows]

    async def connect_group(self, name: str, *, partial: bool = False) -> list[OutcomeRecord]:
        """Connect the devices of a group, and disconnect others that have the adapters for that; each member
        has a result of its own. Without `partial` nothing is changed where not every member can have an
        adapter.

        Raises GroupNotFound, NoInterfaceAvailable, DeviceNotReachable, Busy.
        """
        body = [name, {"partial": Variant("b", partial)}]
        reply = await self._command(names.ROOT_PATH, names.MANAGER, "ConnectGroup", "sa{sv}", body, GROUP_S)
        rows = typed(tuple[list[dict[str, object]]], reply)[0]
        return [record_of(OutcomeRecord, row) for row in rows]

    async def check(
        self,
        wanted: Wanted = NOTHING_MORE,
        *,
        device_ids: Iterable[int] | None = None,
        group: str | None = None,
    ) -> CheckRecord:
        """Whether some devices are ready, those of a group, or by default the expected ones; raises
        InvalidRequest, DeviceNotFound, GroupNotFound."""
        asked = {
            "recording": wanted.recording or None,
            "battery": wanted.battery,
            "time_left": wanted.time_left_us,
            "clock": wanted.clock_us,
            "group": group,
        }
        options = {name: _variant(value) for name, value in asked.items() if value is not None}
        if device_ids is not None:
            options["devices"] = Variant("ao", list(map(names.device_path, device_ids)))
        reply = await self._command(names.ROOT_PATH, names.MANAGER, "Check", "a{sv}", [options])
        ok, checked, rows = typed(tuple[bool, list[str], list[dict[str, object]]], reply)
        ids = (names.device_id_of(path) for path in checked)
        return CheckRecord(
            ok,
            tuple(one for one in ids if one is not None),
            tuple(record_of(FindingRecord, row) for row in rows),
        )

    async def open_connection(self, device_id: int, port: int) -> socket.socket:
        """A TCP socket to the camera of a connected device, non-blocking; the caller closes it.

        Raises DeviceNotReachable, InterfaceLost.
        """
        # As many as a message bus holds on their way to one client that does not read (dbus-daemon(1),
        # max_outgoing_unix_fds), with a margin.
        async with self._sockets_on_their_way:
            connection = self._connected()
            async with self._answering():
                return await connection.call_for_socket(
                    names.BUS_NAME,
                    names.device_path(device_id),
                    names.DEVICE,
                    "OpenConnection",
                    "qa{sv}",
                    [port, {}],
                    auto_start=False,
                )

    async def search_networks(self, interface: str | None = None) -> SearchRecord:
        """Scan on every idle interface, or on one, and return the networks found; raises
        InterfaceNotFound."""
        options = {} if interface is None else {"interface": _variant(interface)}
        reply = await self._command(names.ROOT_PATH, names.MANAGER, "Scan", "a{sv}", [options], SEARCH_S)
        scanned, skipped = typed(tuple[list[str], dict[str, str]], reply)
        networks = await self._rows("GetNetworks", options)
        return SearchRecord(tuple(record_of(NetworkRecord, row) for row in networks), tuple(scanned), skipped)

    async def recover_interface(self, interface: str, step: str) -> None:
        """Carry a recovery step out on an idle interface; raises InterfaceNotFound, Busy, InvalidRequest, and
        why it has failed."""
        body = [interface, step, {}]
        await self._command(names.ROOT_PATH, names.MANAGER, "RecoverInterface", "ssa{sv}", body, RECOVERY_S)

    async def guess_codename(self, ssid: bytes) -> str | None:
        """The camera model of a network that was received recently, without a scan."""
        networks = (record_of(NetworkRecord, row) for row in await self._rows("GetNetworks", {}))
        return next((one.codename for one in networks if one.ssid == ssid and one.codename), None)

    async def history(
        self, device_id: int | None = None, before: int | None = None, limit: int | None = None
    ) -> list[HistoryRecord]:
        """Rows of the history, the newest first: of one device, before the row with an id, at most so many;
        raises InvalidRequest."""
        wanted = {"device_id": device_id, "before": before, "limit": limit}
        options = {name: _variant(value) for name, value in wanted.items() if value is not None}
        return [record_of(HistoryRecord, row) for row in await self._rows("GetHistory", options)]

    async def takes(
        self,
        since_us: int | None = None,
        until_us: int | None = None,
        limit: int | None = None,
        before: int | None = None,
    ) -> list[TakeRecord]:
        """Takes, the newest first: those that lasted at some time from one moment on and before another, at
        most so many, with rows before the one with an id; raises InvalidRequest."""
        wanted = {"since": since_us, "until": until_us, "limit": limit, "before": before}
        options = {name: _variant(value) for name, value in wanted.items() if value is not None}
        return [record_of(TakeRecord, row) for row in await self._rows("GetTakes", options)]

    async def signal_history(
        self, device_id: int, since_us: int = 0, until_us: int = 0
    ) -> SignalHistoryRecord:
        """The signal and the battery of a device in a span of time, microseconds since the epoch; 0 = all
        that is kept, until now."""
        path, body = names.device_path(device_id), [since_us, until_us, {}]
        reply = await self._command(path, names.DEVICE, "GetSignalHistory", "tta{sv}", body)
        step_us, samples = typed(tuple[int, list[tuple[int, int, int]]], reply)
        reply = await self._command(path, names.DEVICE, "GetBatteryHistory", "tta{sv}", body)
        levels = dict(typed(tuple[int, list[tuple[int, int]]], reply)[1])
        return SignalHistoryRecord(step_us, samples, [levels.get(at) for at, *_ in samples])

    async def diagnose(self) -> str:
        """The daemon's report of a fault, with aliases for names; raises NotAuthorized."""
        [text] = await self._command(names.ROOT_PATH, names.MANAGER, "Diagnose", "a{sv}", [{}])
        return str(text)

    async def simulate(self, member: str, signature: str, *arguments: object) -> None:
        """Call a method of the simulated world; raises DeviceNotFound if there is none."""
        await self._command(names.SIMULATOR_PATH, names.SIMULATOR, member, signature, arguments)

    async def _rows(
        self, member: str, options: Mapping[str, Variant], timeout_s: float = ANSWER_S
    ) -> list[dict[str, object]]:
        reply = await self._command(names.ROOT_PATH, names.MANAGER, member, "a{sv}", [options], timeout_s)
        return typed(tuple[list[dict[str, object]]], reply)[0]

    async def _on_device(
        self,
        device_id: int,
        member: str,
        options: Mapping[str, object],
        timeout_s: float = ANSWER_S,
        on_reply: Callable[[list[object]], None] | None = None,
    ) -> None:
        path = names.device_path(device_id)
        await self._command(path, names.DEVICE, member, "a{sv}", [options], timeout_s, on_reply)

    async def _command(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str,
        body: Sequence[object],
        timeout_s: float = ANSWER_S,
        on_reply: Callable[[list[object]], None] | None = None,
    ) -> list[object]:
        async with self._places:
            connection = self._connected()
            if self._is_interactive:
                timeout_s += DIALOGUE_S
            async with self._answering():
                return await connection.call(
                    names.BUS_NAME,
                    path,
                    interface,
                    member,
                    signature,
                    body,
                    timeout_s,
                    on_reply,
                    interactive=self._is_interactive,
                    auto_start=False,
                )

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        """Convert the exceptions of a call. One that takes too long is not evidence against the daemon, whose
        other answers count; a ping that is not answered ends it early."""
        with with_own_errors(LATE):
            try:
                async with self._heartbeat.answering():
                    yield
            except TimeoutError:
                raise BackendUnavailable(self._reason or LATE) from None


def _explained(properties: Mapping[str, object]) -> dict[str, Variant]:
    """Properties for D-Bus; an error has a sentence for each field at fault."""
    return {name: _variant(value) for name, value in properties.items()} | {"explain": _variant(True)}


def _variant(value: object) -> Variant:
    """Wrap a plain value, of any JSON type or bytes, for D-Bus; None becomes an empty array.

    A text that D-Bus cannot carry (NUL, lone surrogates) is passed as its bytes.
    """
    match value:
        case bool():
            return Variant("b", value)
        case str():
            data = value.encode("utf-8", "surrogatepass")
            carried = "\0" not in value and data.decode("utf-8", "replace") == value
            return Variant("s", value) if carried else Variant("ay", data)
        case bytes():
            return Variant("ay", value)
        case int():
            return Variant("x", value) if -(2**63) <= value < 2**63 else Variant("d", float("inf"))
        case float():
            return Variant("d", value)
        case list() | tuple():
            return Variant("av", [_variant(item) for item in value])
        case dict():
            return Variant("a{sv}", {str(key): _variant(item) for key, item in value.items()})
        case _:
            return Variant("av", [])
