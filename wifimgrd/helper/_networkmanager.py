"""The daemon's changes in NetworkManager, since its bus policy does not allow them: these methods take
profiles of any content, and any device. Here they take the hub's profiles, and wireless interfaces.

https://networkmanager.dev/docs/api/1.42/spec.html
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Final

from wifimgrd.bus.connection import BusConnection, BusError, Variant
from wifimgrd.bus.proxy import Proxy
from wifimgrd.bus.values import typed
from wifimgrd.domain.errors import BackendUnavailable, InvalidRequest
from wifimgrd.helper._interfaces import require_wireless
from wifimgrd.helper._profile import Profile
from wifimgrd.proxies.networkmanager.definitions import (
    NM,
    NM_ACTIVE,
    NM_DEVICE,
    NM_PATH,
    NM_SETTINGS,
    NM_SETTINGS_CONNECTION,
    NM_SETTINGS_PATH,
    NO_OBJECT,
    AddFlag,
    ProfileSettings,
)
from wifimgrd.proxies.networkmanager.objects import marked_device
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.wire.errors import in_time

_ANSWER_S: Final = 10.0
"""How long NetworkManager may take to reply."""
_NO_ANSWER: Final = "NetworkManager does not answer"


class _Object(Proxy):
    """An object of NetworkManager's."""

    SERVICE = NM
    TIMEOUT_S = _ANSWER_S


class _Root(_Object):
    INTERFACE = NM


class _Settings(_Object):
    INTERFACE = NM_SETTINGS


class _Device(_Object):
    INTERFACE = NM_DEVICE


class _Active(_Object):
    INTERFACE = NM_ACTIVE


class _Connection(_Object):
    INTERFACE = NM_SETTINGS_CONNECTION


async def activate_profile(
    connection: BusConnection, profile: Profile, device: str, not_after_us: int
) -> tuple[str, str]:
    """Add a profile and activate it on a device; returns the object paths of the profile and of the
    active connection.

    NetworkManager refuses a device that is not the one of the profile's interface, so its name is not asked
    for. Raises InvalidRequest for an interface that is not wireless, BackendUnavailable, BusClosed, and
    NetworkManager's own errors as BusError.
    """
    require_wireless(profile.interface)
    if (
        time.monotonic_ns() > not_after_us * 1000
    ):  # the message bus keeps calls for a service that is starting
        raise BackendUnavailable("the call came when nobody waited for it any longer")
    with in_time(_NO_ANSWER):
        if profile.network.key_management is KeyManagement.NONE:
            return await _add_then_activate(connection, profile, device)
        options = {"persist": Variant("s", "volatile"), "bind-activation": Variant("s", "none")}
        arguments = [profile.settings, device, NO_OBJECT, options]
        reply = await _Root(connection, NM_PATH).call(
            "AddAndActivateConnection2", "a{sa{sv}}ooa{sv}", arguments
        )
    path, active, _ = typed(tuple[str, str, object], reply)
    return path, active


async def _add_then_activate(connection: BusConnection, profile: Profile, device: str) -> tuple[str, str]:
    """Activate the profile of an open network as it is.

    `AddAndActivateConnection2` completes a profile from the access point's beacons: where these name an
    encrypted twin (the transition mode of OWE), it becomes one for OWE, which is not joined at the BSSID of
    the open network. A profile that is added before is not volatile; only `Update2` could make it so, which
    changes any profile. The daemon deletes it.
    """
    arguments = [profile.settings, AddFlag.IN_MEMORY, {}]
    reply = await _Settings(connection, NM_SETTINGS_PATH).call("AddConnection2", "a{sa{sv}}ua{sv}", arguments)
    path, _ = typed(tuple[str, object], reply)
    root = _Root(connection, NM_PATH)
    try:
        return path, await root.ask(str, "ActivateConnection", "ooo", [path, device, NO_OBJECT])
    except BaseException:
        with suppress(BusError, TimeoutError):
            await asyncio.shield(_Connection(connection, path).call("Delete"))
        raise


async def deactivate_profile(connection: BusConnection, active: str) -> None:
    """Deactivate an active connection of the hub's; raises as `activate_profile`."""
    with in_time(_NO_ANSWER):
        await _require_hubs(connection, await _Active(connection, active).get("Connection", str))
        await _Root(connection, NM_PATH).call("DeactivateConnection", "o", [active])


async def delete_profile(connection: BusConnection, path: str) -> None:
    """Delete a profile of the hub's; raises as `activate_profile`."""
    with in_time(_NO_ANSWER):
        await _require_hubs(connection, path)
        await _Connection(connection, path).call("Delete")


async def set_managed(connection: BusConnection, interface: str, value: bool) -> None:
    """Set whether NetworkManager manages a wireless interface; raises as `activate_profile`."""
    await _set(connection, interface, "Managed", value)


async def set_autoconnect(connection: BusConnection, interface: str, value: bool) -> None:
    """Set whether NetworkManager may activate profiles on a wireless interface automatically; raises as
    `activate_profile`."""
    await _set(connection, interface, "Autoconnect", value)


async def _set(connection: BusConnection, interface: str, name: str, value: bool) -> None:
    require_wireless(interface)
    with in_time(_NO_ANSWER):
        path = await _Root(connection, NM_PATH).ask(str, "GetDeviceByIpIface", "s", [interface])
        await _Device(connection, path).set(name, Variant("b", value))


async def _require_hubs(connection: BusConnection, profile: str) -> None:
    """Raise InvalidRequest for a profile without the hub's mark. In a run of
    NetworkManager's a path is given once."""
    settings = await _Connection(connection, profile).ask(ProfileSettings, "GetSettings")
    if marked_device(settings) is None:
        raise InvalidRequest("this profile of NetworkManager is not the hub's")
