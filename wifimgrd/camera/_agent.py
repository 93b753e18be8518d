"""The agent that bluetoothd asks about pairings: those that this process has started are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from wifimgrd.bus.connection import BusConnection, BusError, MethodCall
from wifimgrd.camera._radio import Radio
from wifimgrd.domain.errors import BluetoothUnavailable
from wifimgrd.proxies.bluez import definitions as bluez
from wifimgrd.proxies.bluez.objects import NO_ANSWER, AgentManager
from wifimgrd.wire import camera_calls as calls

AGENT_PATH: Final = calls.PATH + "/agent"
_CAPABILITY: Final = "NoInputNoOutput"
"""Cameras show nothing and ask for nothing: the user has put them into their pairing mode."""


class Agent:
    """The agent, registered with the bluetoothd that runs."""

    def __init__(self, connection: BusConnection, radio: Radio) -> None:
        self._connection = connection
        self._radio = radio
        self._registered_at = ""
        """The bluetoothd that knows it."""
        self._accepted: set[str] = set()
        """The object paths of the devices that are being paired."""

    async def register(self) -> None:
        """Register with the bluetoothd that runs; raises BluetoothUnavailable."""
        owner = self._radio.objects.owner
        if owner and self._registered_at != owner:
            try:
                await AgentManager(self._connection).register(AGENT_PATH, _CAPABILITY)
            except BusError as error:
                if error.name != bluez.ALREADY_EXISTS:
                    raise self._radio.refusal(error) from None
            except TimeoutError:
                raise BluetoothUnavailable(NO_ANSWER) from None
            self._registered_at = owner

    @contextmanager
    def accepting(self, path: str) -> Iterator[None]:
        """Accept the pairing with a device meanwhile."""
        self._accepted.add(path)
        try:
            yield
        finally:
            self._accepted.discard(path)

    def answer(self, call: MethodCall) -> None:
        """Answer what bluetoothd asks."""
        device = call.body[0] if call.body else ""
        match call.member:
            case "Release" | "Cancel":
                self._connection.reply(call)
            case "RequestAuthorization" | "RequestConfirmation" if device in self._accepted:
                self._connection.reply(call)
            case _:
                self._connection.reply_error(call, bluez.REJECTED, "no such pairing was started here")
