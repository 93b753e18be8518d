"""NetworkManager over D-Bus, as far as the lab needs it: a second opinion beside the daemon that is under test.

https://networkmanager.dev/docs/api/1.42/spec.html
"""

import asyncio
import enum
import time
import uuid
from dataclasses import dataclass
from typing import Any, Self

from dbus_next.aio import MessageBus
from dbus_next.constants import BusType, MessageType
from dbus_next.message import Message
from dbus_next.signature import Variant

from .access_point import Camera
from .deadline import DeadlineError

_NAME = "org.freedesktop.NetworkManager"
_ROOT = "/org/freedesktop/NetworkManager"
_SETTINGS = f"{_ROOT}/Settings"
_DEVICE = f"{_NAME}.Device"


class DeviceState(enum.IntEnum):
    """NMDeviceState."""

    UNKNOWN = 0
    UNMANAGED = 10
    UNAVAILABLE = 20
    DISCONNECTED = 30
    PREPARE = 40
    CONFIG = 50
    NEED_AUTH = 60
    IP_CONFIG = 70
    IP_CHECK = 80
    SECONDARIES = 90
    ACTIVATED = 100
    DEACTIVATING = 110
    FAILED = 120


@dataclass(frozen=True)
class Transition:
    """One StateChanged of a device."""

    device: str  # object path
    state: DeviceState
    reason: int  # NMDeviceStateReason
    time_s: float  # time.monotonic


class BusError(RuntimeError):
    """The other side answered with an error, whose name this is."""


class NetworkManager:
    """A client of the running NetworkManager; `async with` connects it."""

    def __init__(self) -> None:
        self.transitions: list[Transition] = []
        self._bus = MessageBus(bus_type=BusType.SYSTEM)
        self._changed = asyncio.Condition()
        self._notifications: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._bus.connect()
        self._bus.add_message_handler(self._on_message)
        rule = f"type='signal',sender='{_NAME}',interface='{_DEVICE}',member='StateChanged'"
        await self._call("/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", rule,
                         destination="org.freedesktop.DBus")  # fmt: skip
        return self

    async def __aexit__(self, *_: object) -> None:
        self._bus.disconnect()

    async def device(self, interface: str) -> str:
        """Give the object path of an interface's device."""
        return str(await self._call(_ROOT, _NAME, "GetDeviceByIpIface", "s", interface))

    async def device_property(self, interface: str, name: str) -> Any:  # noqa: ANN401
        """Read a property of org.freedesktop.NetworkManager.Device."""
        return await self._get(await self.device(interface), _DEVICE, name)

    async def state(self, interface: str) -> DeviceState:
        """Read a device's state; UNKNOWN where NetworkManager has no such device (yet)."""
        try:
            return DeviceState(await self.device_property(interface, "State"))
        except BusError:
            return DeviceState.UNKNOWN

    async def join(self, interface: str, camera: Camera, password: str | None = None) -> str:
        """Start to connect an adapter to a camera, and give the active connection's object path."""
        device = await self.device(interface)
        options = {"persist": Variant("s", "volatile"), "bind-activation": Variant("s", "none")}
        _, active, _ = await self._call_all(
            _ROOT, _NAME, "AddAndActivateConnection2", "a{sa{sv}}ooa{sv}",
            _profile(interface, camera, password), device, "/", options,
        )  # fmt: skip
        return str(active)

    async def disconnect(self, interface: str) -> None:
        """End what the adapter does, and keep it from connecting by itself."""
        await self._call(await self.device(interface), _DEVICE, "Disconnect", "")

    async def wait_for_state(self, interface: str, *states: DeviceState, seconds: float = 20.0) -> DeviceState:
        """Wait until a device is in one of these states."""
        async with self._changed:
            try:
                async with asyncio.timeout(seconds):
                    while (now := await self.state(interface)) not in states:
                        await self._changed.wait()
            except TimeoutError:
                wanted = " or ".join(state.name for state in states)
                raise DeadlineError(f"{interface} not {wanted} within {seconds:g} s, but {now.name}") from None
        return now

    async def profiles(self) -> list[str]:
        """Give the object paths of all connection profiles."""
        return list(await self._call(_SETTINGS, f"{_NAME}.Settings", "ListConnections", ""))

    async def delete_profile(self, path: str) -> None:
        """Delete a connection profile."""
        await self._call(path, f"{_NAME}.Settings.Connection", "Delete", "")

    async def _get(self, path: str, interface: str, name: str) -> Any:  # noqa: ANN401
        value = await self._call(path, "org.freedesktop.DBus.Properties", "Get", "ss", interface, name)
        return value.value

    async def _call(self, *arguments: Any, destination: str = _NAME) -> Any:  # noqa: ANN401
        answer = await self._call_all(*arguments, destination=destination)
        return answer[0] if answer else None

    async def _call_all(
        self, path: str, interface: str, member: str, signature: str, *body: Any, destination: str = _NAME
    ) -> list[Any]:
        message = Message(destination, path, interface, member, signature=signature, body=list(body))
        async with asyncio.timeout(25):
            answer = await self._bus.call(message)
        assert answer is not None
        if answer.message_type is MessageType.ERROR:
            raise BusError(f"{answer.error_name}: {answer.body}")
        return list(answer.body)

    def _on_message(self, message: Message) -> None:
        if message.message_type is MessageType.SIGNAL and message.member == "StateChanged":
            new, _, reason = message.body
            self.transitions.append(Transition(message.path, DeviceState(new), reason, time.monotonic()))
        if message.message_type is MessageType.SIGNAL:
            notification = asyncio.ensure_future(self._notify())
            self._notifications.add(notification)
            notification.add_done_callback(self._notifications.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _profile(interface: str, camera: Camera, password: str | None) -> dict[str, dict[str, Variant]]:
    profile = {
        "connection": {
            "id": Variant("s", f"lab {interface}"),
            "uuid": Variant("s", str(uuid.uuid4())),
            "type": Variant("s", "802-11-wireless"),
            "interface-name": Variant("s", interface),
            "autoconnect": Variant("b", False),
            "auth-retries": Variant("i", 1),
        },
        "802-11-wireless": {
            "ssid": Variant("ay", camera.ssid),
            "mode": Variant("s", "infrastructure"),
            "hidden": Variant("b", camera.network.hidden),
            "powersave": Variant("u", 2),
            "assigned-mac-address": Variant("s", "permanent"),
        },
        "ipv4": {
            "method": Variant("s", "auto"),
            "never-default": Variant("b", True),
            "ignore-auto-dns": Variant("b", True),
            "may-fail": Variant("b", False),
        },
        "ipv6": {"method": Variant("s", "disabled")},
    }
    if camera.network.security != "open":
        profile["802-11-wireless-security"] = {
            "key-mgmt": Variant("s", "sae" if camera.network.security == "sae" else "wpa-psk"),
            "psk": Variant("s", password or camera.password),
        }
    return profile
