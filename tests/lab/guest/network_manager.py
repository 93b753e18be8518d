"""NetworkManager over D-Bus, as far as the lab needs it: a second opinion beside the daemon under test.

https://networkmanager.dev/docs/api/1.42/spec.html
"""

import contextlib
import enum
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from dbus_next.message import Message
from dbus_next.signature import Variant

from .access_point import Camera
from .deadline import DeadlineError
from .system_bus import BusError, SystemBus

T = TypeVar("T")

_NAME = "org.freedesktop.NetworkManager"
_ROOT = "/org/freedesktop/NetworkManager"
_SETTINGS = f"{_NAME}.Settings"
_DEVICE = f"{_NAME}.Device"
_WIRELESS = f"{_DEVICE}.Wireless"
_ACCESS_POINT = f"{_NAME}.AccessPoint"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_SUPPLICANT_DISCONNECT = 8  # NM_DEVICE_STATE_REASON_SUPPLICANT_DISCONNECT


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


class NetworkManager:
    """A client of the running NetworkManager."""

    def __init__(self, bus: SystemBus) -> None:
        self.transitions: list[Transition] = []
        self._bus = bus

    async def watch(self) -> None:
        """Keep `transitions` from now on."""
        await self._bus.listen(_NAME, _DEVICE, "StateChanged", self._on_state_changed)
        await self._bus.listen(_NAME, _PROPERTIES, "PropertiesChanged", lambda _: None)  # a scan has ended

    async def device(self, interface: str) -> str:
        """Give the object path of an interface's device."""
        return str(await self._call(_ROOT, _NAME, "GetDeviceByIpIface", "s", interface))

    async def device_property(self, interface: str, name: str) -> Any:
        """Read a property of org.freedesktop.NetworkManager.Device."""
        return await self._bus.read(_NAME, await self.device(interface), _DEVICE, name)

    async def permanent_address(self, interface: str) -> str:
        """Read an adapter's permanent address (HwAddress is another one while NetworkManager scans)."""
        return str(await self._bus.read(_NAME, await self.device(interface), _WIRELESS, "PermHwAddress"))

    async def state(self, interface: str) -> DeviceState:
        """Read a device's state; UNKNOWN where NetworkManager has no such device (yet)."""
        try:
            return DeviceState(await self.device_property(interface, "State"))
        except BusError:
            return DeviceState.UNKNOWN

    async def join(self, interface: str, camera: Camera, password: str | None = None) -> str:
        """Start to connect an adapter to a camera, and give the active connection's object path.

        NetworkManager 1.42 that meets the access point only by joining it takes that for roaming, asks for
        another lease, and where it was about to take over the first one it never goes on.
        """
        await self.wait_for_access_point(interface, camera)
        return await self.join_on(await self.device(interface), interface, camera, password)

    async def join_on(self, device: str, interface: str, camera: Camera, password: str | None = None) -> str:
        """The same where the device's object path is known: one call."""
        options = {"persist": Variant("s", "volatile"), "bind-activation": Variant("s", "none")}
        _, active, _ = await self._bus.call(
            _NAME, _ROOT, _NAME, "AddAndActivateConnection2", "a{sa{sv}}ooa{sv}",
            _profile(interface, camera, password), device, "/", options,
        )  # fmt: skip
        return str(active)

    async def connect(self, interface: str, camera: Camera) -> None:
        """Connect an idle adapter to a camera, and wait until it has an address.

        On a busy machine the access point can be late to reply, so that the adapter requests the association
        twice. Then hostapd repeats the 4-way handshake, which the adapter has completed, and NetworkManager
        ends the join. Whoever uses it has to join once more, as the product does.
        """
        await self.wait_for_state(interface, DeviceState.DISCONNECTED)
        device, before = await self.device(interface), len(self.transitions)
        await self.join(interface, camera)

        async def is_up() -> bool | None:
            if await self.state(interface) == DeviceState.ACTIVATED:
                return True
            ends = (DeviceState.NEED_AUTH, _SUPPLICANT_DISCONNECT)
            ended = any(
                change.device == device and (change.state, change.reason) == ends
                for change in self.transitions[before:]
            )
            return False if ended else None

        if not await self._until(is_up, f"{interface} connected", 45.0):
            await self.wait_for_state(interface, DeviceState.DISCONNECTED)
            await self.join(interface, camera)
            await self.wait_for_state(interface, DeviceState.ACTIVATED)

    async def disconnect(self, interface: str) -> None:
        """End what the adapter does, and keep it from connecting by itself."""
        await self._call(await self.device(interface), _DEVICE, "Disconnect")

    async def sleep(self, asleep: bool) -> None:
        """Do what the host's suspend (True) and its end (False) make it do."""
        await self._call(_ROOT, _NAME, "Sleep", "b", asleep)

    async def wait_for_state(
        self, interface: str, *wanted: DeviceState, seconds: float = 45.0
    ) -> DeviceState:
        """Wait until a device is in one of these states."""

        async def reached() -> DeviceState | None:
            state = await self.state(interface)
            return state if state in wanted else None

        return await self._until(
            reached, f"{interface} {' or '.join(state.name for state in wanted)}", seconds
        )

    async def _until(self, condition: Callable[[], Awaitable[T | None]], what: str, seconds: float) -> T:
        try:
            return await self._bus.until(condition, what, seconds)
        except DeadlineError as error:
            reported = [(change.device[-2:], change.state.name, change.reason) for change in self.transitions]
            raise DeadlineError(f"{error}; reported: {reported}") from None

    async def wait_for_access_point(self, interface: str, camera: Camera, seconds: float = 30.0) -> None:
        """Have an adapter search until a camera's access point is known."""
        device = await self.device(interface)

        async def known() -> bool | None:
            for path in await self._call(device, _WIRELESS, "GetAllAccessPoints"):
                with contextlib.suppress(BusError):  # it is gone
                    address = await self._bus.read(_NAME, path, _ACCESS_POINT, "HwAddress")
                    if address.lower() == camera.bssid:
                        return True
            with contextlib.suppress(BusError):  # it is searching already
                # Never for an SSID: NetworkManager 1.42 crashes where it is asked for one time and again.
                await self._call(device, _WIRELESS, "RequestScan", "a{sv}", {})
            return None

        await self._bus.until(known, f"{camera.name} known to {interface}", seconds)

    async def profiles(self) -> list[str]:
        """Give the object paths of all connection profiles."""
        return list(await self._call(f"{_ROOT}/Settings", _SETTINGS, "ListConnections"))

    async def delete_profile(self, path: str) -> None:
        """Delete a connection profile."""
        await self._call(path, f"{_SETTINGS}.Connection", "Delete")

    async def _call(self, path: str, interface: str, member: str, signature: str = "", *body: Any) -> Any:
        answer = await self._bus.call(_NAME, path, interface, member, signature, *body)
        return answer[0] if answer else None

    def _on_state_changed(self, message: Message) -> None:
        new, _, reason = message.body
        self.transitions.append(Transition(message.path, DeviceState(new), reason, time.monotonic()))


def _profile(interface: str, camera: Camera, password: str | None) -> dict[str, dict[str, Variant]]:
    """Make the settings of a volatile profile, as a hub would have them: no default route, no DNS."""
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
