"""The daemon as its clients see it: a live copy of its objects, and its commands."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import Variant
from wifimgrd.dbus.client.live_copy import NO_ANSWER, LiveCopy
from wifimgrd.dbus.client.outcome import Outcome
from wifimgrd.dbus.client.records import AirRecord, NetworkRecord
from wifimgrd.dbus.client.variants import variant_of
from wifimgrd.dbus.errors import with_own_errors
from wifimgrd.domain.errors import InternalError
from wifimgrd.runtime.tasks import Tasks

_ANSWER_S: Final = 10.0
"""What a command that waits for nothing but the daemon itself may take to be answered."""
_SLOW_ANSWER_S: Final = 30.0
"""The same for one that waits for a disk or for a link to be taken down."""
_COMMANDS_AT_ONCE: Final = 64
"""A message bus bears 128 calls of one client without reply (dbus-daemon(1), max_replies_per_connection)."""
_SOCKETS_AT_ONCE: Final = 32
_NOT_WAITING: Final = {"wait": Variant("b", False)}


class HubClient(LiveCopy):
    """The daemon's objects, and the commands to it.

    Commands raise the errors of `wifimgrd.domain.errors`; BackendUnavailable while the daemon is away.
    A command's effects are in the copy when its call returns.
    """

    def __init__(self, bus: str = "system", tasks: Tasks | None = None) -> None:
        """`bus` is `system`, `session` or a D-Bus address; `tasks` are stopped with the client."""
        super().__init__(bus, tasks)
        self._places = asyncio.Semaphore(_COMMANDS_AT_ONCE)
        self._sockets_on_their_way = asyncio.Semaphore(_SOCKETS_AT_ONCE)

    async def create_device(self, properties: Mapping[str, Any]) -> int:
        """Register a device and return its id.

        Keys: `codename`, `connection_type`, `ssid` (str or bytes), `password`, `name` (optional),
        `idempotency_key` (optional). Values are plain Python values; also ill-typed ones are passed
        on, so that the daemon says what is wrong. Raises InvalidRequest with `fields` keyed by those
        names.
        """
        [path] = await self._command(
            names.ROOT_PATH, names.MANAGER, "CreateDevice", "a{sv}", [_explained(properties)]
        )
        device_id = names.device_id_of(path)
        if device_id is None:
            raise InternalError(f"wifimgrd answered with {path}, which is no device")
        return device_id

    async def update_device(self, device_id: int, properties: Mapping[str, Any]) -> None:
        """Change `name`, `ssid` and `password`, each optional."""
        await self._on_device(device_id, "Update", _explained(properties))

    async def remove_device(self, device_id: int) -> None:
        """Disconnect and forget a device; returns when all of it has happened."""
        await self._command(
            names.ROOT_PATH, names.MANAGER, "RemoveDevice", "o", [names.device_path(device_id)]
        )

    async def connect_device(self, device_id: int, *, wait: bool = False, timeout_s: float = 25) -> None:
        """Connect; with `wait`, until the attempt has ended, as success or as the error that says
        why. Raises TimeoutError when it has not ended `timeout_s` seconds after it began; it goes on.
        """
        outcome = Outcome(self, device_id, wanted="connected")
        with outcome:
            await self._on_device(device_id, "Connect", _NOT_WAITING, _ANSWER_S, outcome.begin)
            if wait:
                await outcome.reached(timeout_s)

    async def disconnect_device(self, device_id: int, *, timeout_s: float = 25) -> None:
        """Disconnect, and wait until that is done; raises TimeoutError, the rest goes on."""
        outcome = Outcome(self, device_id, wanted="disconnected")
        with outcome:
            await self._on_device(device_id, "Disconnect", _NOT_WAITING, _ANSWER_S, outcome.begin)
            await outcome.reached(timeout_s)

    async def open_connection(self, device_id: int, port: int) -> socket.socket:
        """A TCP socket to a connected device's camera, not blocking; the caller closes it.

        Raises DeviceNotReachable, InterfaceLost.
        """
        # As many as a message bus bears on their way to one client that does not read (dbus-daemon(1),
        # max_outgoing_unix_fds), with room to spare.
        async with self._sockets_on_their_way:
            connection = self._connected()
            with with_own_errors(NO_ANSWER):
                return await connection.call_for_socket(
                    names.BUS_NAME,
                    names.device_path(device_id),
                    names.DEVICE,
                    "OpenConnection",
                    "qa{sv}",
                    [port, {}],
                )

    async def search_air(self, interface: str | None = None) -> AirRecord:
        """Search on every idle interface, or on one, and say what is in the air; raises
        InterfaceNotFound."""
        options = {} if interface is None else {"interface": variant_of(interface)}
        scanned, skipped = await self._command(names.ROOT_PATH, names.MANAGER, "Scan", "a{sv}", [options])
        [networks] = await self._command(names.ROOT_PATH, names.MANAGER, "GetNetworks", "a{sv}", [options])
        return AirRecord(tuple(map(NetworkRecord.of, networks)), tuple(scanned), skipped)

    async def simulate(self, member: str, signature: str, *arguments: Any) -> None:
        """Call a method of the simulated world; raises DeviceNotFound where there is none."""
        await self._command(names.SIMULATOR_PATH, names.SIMULATOR, member, signature, arguments)

    async def _on_device(
        self,
        device_id: int,
        member: str,
        options: Mapping[str, Any],
        timeout_s: float = _SLOW_ANSWER_S,
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> None:
        path = names.device_path(device_id)
        await self._command(path, names.DEVICE, member, "a{sv}", [options], timeout_s, on_reply)

    async def _command(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str,
        body: Any,
        timeout_s: float = _SLOW_ANSWER_S,
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        async with self._places:
            connection = self._connected()
            with with_own_errors(NO_ANSWER):
                try:
                    return await connection.call(
                        names.BUS_NAME, path, interface, member, signature, body, timeout_s, on_reply
                    )
                except TimeoutError:
                    self._unanswered(connection)
                    raise


def _explained(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties for D-Bus; a refusal is to say what is wrong field by field."""
    return {name: variant_of(value) for name, value in properties.items()} | {"explain": variant_of(True)}
