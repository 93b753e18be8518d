"""Scans through NetworkManager, and the access points that it knows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from wifimgrd.backends.networkmanager import defs, diagnosis
from wifimgrd.backends.networkmanager.air import frequencies_to_try
from wifimgrd.backends.networkmanager.defs import ApFlag, ApSecurity, DeviceState
from wifimgrd.backends.networkmanager.devices import Gone, NmDevice, StateChange
from wifimgrd.backends.networkmanager.supplicant import ScanRefused, Station
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Signal
from wifimgrd.domain.device import Sighting, Ssid
from wifimgrd.domain.errors import BackendUnavailable, Busy, InterfaceLost, WifimgrdError
from wifimgrd.domain.network import HeardPoint, Security

_ANSWER_S: Final = 5.0


async def scan(connection: BusConnection, device: NmDevice | None, interface: str) -> None:
    """Have NetworkManager search all channels on an idle device, and wait for the end of that.

    Raises InterfaceLost; Busy where the device is, or gets, something else to do;
    BackendUnavailable. The caller limits the time.
    """
    if device is None:
        raise InterfaceLost(f"NetworkManager does not know the adapter {interface}")
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def fail(error: WifimgrdError) -> None:
        if not ended.done():
            ended.set_exception(error)

    def hear(event: StateChange | Gone) -> None:
        if isinstance(event, Gone):
            fail(diagnosis.device_gone(interface, event.pulled_out))
        elif event.state != DeviceState.DISCONNECTED:
            fail(Busy("it is being connected"))

    def changed(signal: Signal) -> None:
        if "LastScan" in signal.body[1] and not ended.done():
            ended.set_result(None)

    if device.state != DeviceState.DISCONNECTED:
        raise Busy("it has something else to do")
    device.ears.append(hear)
    try:
        watch = await connection.watch(
            changed,
            sender=defs.NM,
            path=device.path,
            interface=defs.PROPERTIES,
            member="PropertiesChanged",
            arg0=defs.NM_WIRELESS,
        )
        try:
            await connection.call(
                defs.NM, device.path, defs.NM_WIRELESS, "RequestScan", "a{sv}", [{}], timeout_s=_ANSWER_S
            )
            await ended
        finally:
            await watch.close()
    except BusError as error:
        if error.name in defs.NO_SUCH_OBJECT:
            raise diagnosis.adapter_gone(interface) from None
        raise Busy(f"NetworkManager does not scan: {error.message}") from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None
    finally:
        device.ears.remove(hear)
        if ended.done() and not ended.cancelled():
            ended.exception()


async def look(
    connection: BusConnection, device: NmDevice | None, interface: str, ssid: Ssid, met: Sequence[Sighting]
) -> bool:
    """Have the supplicant search for one network on an idle device, first where it was met before.

    Raises InterfaceLost; Busy where the device has something else to do; BackendUnavailable.
    """
    if device is None:
        raise InterfaceLost(f"NetworkManager does not know the adapter {interface}")
    if device.state != DeviceState.DISCONNECTED:
        raise Busy("it has something else to do")
    station: Station | None = None
    try:
        station = await Station.open(connection, interface)
        await station.listen()
        return bool(await station.search(ssid, frequencies_to_try(met, (), device.bands)))
    except (BusError, ScanRefused) as error:
        raise Busy(f"wpa_supplicant does not scan: {error}") from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None
    finally:
        if station is not None:
            await station.close()


async def heard_points(connection: BusConnection, devices: Iterable[NmDevice]) -> list[HeardPoint]:
    """The access points that NetworkManager lists for each device; raises BackendUnavailable."""
    try:
        reply = await connection.call(
            defs.NM, defs.NM_OBJECTS, defs.OBJECT_MANAGER, "GetManagedObjects", timeout_s=_ANSWER_S
        )
    except (BusError, BusClosed, TimeoutError):
        raise BackendUnavailable("NetworkManager does not answer") from None
    objects: Mapping[str, Mapping[str, Mapping[str, Any]]] = reply[0]
    clocks = time.time_ns() // 1000, time.clock_gettime(time.CLOCK_BOOTTIME)
    found = []
    for device in devices:
        for path in objects.get(device.path, {}).get(defs.NM_WIRELESS, {}).get("AccessPoints", ()):
            properties = objects.get(path, {}).get(defs.NM_ACCESS_POINT)
            if properties is not None:
                found.append(_point(device.name, properties, *clocks))
    return found


def _point(interface: str, properties: Mapping[str, Any], now_us: int, boot_s: float) -> HeardPoint:
    """https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.AccessPoint.html."""
    seen_s = int(properties.get("LastSeen", -1))
    return HeardPoint(
        interface,
        Ssid(bytes(properties.get("Ssid", b""))),
        Sighting(str(properties.get("HwAddress", "")).lower(), int(properties.get("Frequency", 0))),
        security_of(
            int(properties.get("Flags", 0)),
            int(properties.get("WpaFlags", 0)),
            int(properties.get("RsnFlags", 0)),
        ),
        int(properties.get("Strength", 0)),
        now_us - max(0, int((boot_s - seen_s) * 1e6)) if seen_s > 0 else 0,
    )


def security_of(flags: int, wpa: int, rsn: int) -> Security:
    """What an access point asks for, by its flags: the safest way that it offers a passphrase."""
    if rsn & ApSecurity.SAE:
        return Security.WPA2_WPA3 if rsn & ApSecurity.PSK else Security.WPA3
    if rsn & ApSecurity.PSK:
        return Security.WPA2
    if wpa & ApSecurity.PSK:
        return Security.WPA
    if (rsn | wpa) & (ApSecurity.IEEE_802_1X | ApSecurity.EAP_SUITE_B_192):
        return Security.ENTERPRISE
    if rsn & ApSecurity.OWE:
        return Security.OWE
    return Security.WEP if flags & ApFlag.PRIVACY else Security.OPEN
