"""The daemon's changes in wpa_supplicant, since its bus policy does not allow them: these methods also take
names of files, which wpa_supplicant reads and writes as root. Nothing that is passed here is one.

https://w1.fi/wpa_supplicant/devel/dbus.html, https://w1.fi/cgit/hostap/plain/wpa_supplicant/wpa_supplicant.conf
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError, Variant
from wifimgrd.bus.proxy import Proxy
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.helper._interfaces import require_wireless
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.proxies.wpa_supplicant.definitions import (
    NETWORK_MARK,
    WPAS,
    WPAS_INTERFACE,
    WPAS_NETWORK,
    WPAS_PATH,
    WPAS_UNKNOWN_ERROR,
)
from wifimgrd.wire.errors import in_time

_log = structlog.get_logger()

_REGISTRATION_PAUSES_S: Final = (0.1, 0.4)
"""Before each repetition of a registration that failed."""
_ANSWER_S: Final = 5.0
"""How long wpa_supplicant may take to reply."""
_NO_ANSWER: Final = "wpa_supplicant does not answer"
_SETTINGS: Final = {
    "SaePwe": "2",  # WPA3 by hash-to-element, which some access points demand, and by hunting and pecking
    "Dot11RSNAConfigPMKLifetime": "604800",  # s, a week: when a key of SAE or OWE expires; else after 12 h
}
"""Of an interface, as NetworkManager makes them; the other settings are wpa_supplicant's own."""
_GONE: Final = (names.UNKNOWN_METHOD, names.UNKNOWN_OBJECT, *names.NOT_RUNNING)
"""The errors of a call to an object, or a run of wpa_supplicant, that is there no more: nothing was done."""
_RAW_KEY_DIGITS: Final = 64
_FRAME_PROTECTION_OPTIONAL, _FRAME_PROTECTION_REQUIRED = 1, 2
_PERMANENT_ADDRESS: Final = 0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Network:
    """A network that is to be joined for a device."""

    device_id: DeviceId
    ssid: Ssid
    key_management: KeyManagement
    passphrase: Passphrase
    bssid: str = ""
    """The only access point that is joined; empty for any with that SSID."""
    hidden: bool = False

    @property
    def settings(self) -> dict[str, Variant]:
        """As AddNetwork takes them. There is no `bgscan`, so that a link is never interrupted by a background
        scan."""
        settings = {
            "ssid": Variant("ay", self.ssid.data),
            "id_str": Variant("s", f"{NETWORK_MARK}{self.device_id}"),
            "mac_addr": Variant("i", _PERMANENT_ADDRESS),
            **_security(self.key_management, self.passphrase),
        }
        if self.bssid:
            settings["bssid"] = Variant("s", self.bssid)
        if self.hidden:
            settings["scan_ssid"] = Variant("i", 1)
        return settings


def _security(key_management: KeyManagement, passphrase: Passphrase) -> dict[str, Variant]:
    match key_management:
        case KeyManagement.NONE:
            return {"key_mgmt": Variant("s", "NONE")}
        case KeyManagement.OWE:
            return {
                "key_mgmt": Variant("s", "OWE"),
                "ieee80211w": Variant("i", _FRAME_PROTECTION_REQUIRED),
            }
        case KeyManagement.SAE:
            return {
                "key_mgmt": Variant("s", "SAE"),
                "ieee80211w": Variant("i", _FRAME_PROTECTION_REQUIRED),
                "sae_password": Variant("s", passphrase.reveal()),
            }
    return {
        "key_mgmt": Variant("s", "WPA-PSK WPA-PSK-SHA256 SAE"),
        "ieee80211w": Variant("i", _FRAME_PROTECTION_OPTIONAL),
        "psk": _key(passphrase),
    }


def _key(passphrase: Passphrase) -> Variant:
    """A passphrase, or the key itself as 64 hexadecimal digits."""
    secret = passphrase.reveal()
    if len(secret) == _RAW_KEY_DIGITS:
        return Variant("ay", bytes.fromhex(secret))
    return Variant("s", secret)


class _Object(Proxy):
    """An object of wpa_supplicant's."""

    SERVICE = WPAS
    TIMEOUT_S = _ANSWER_S


class _Root(_Object):
    INTERFACE = WPAS


class _Interface(_Object):
    INTERFACE = WPAS_INTERFACE


class _Network(_Object):
    INTERFACE = WPAS_NETWORK


async def register_interface(connection: BusConnection, interface: str) -> str:
    """Register a wireless interface with wpa_supplicant, and return its object path.

    Raises InvalidRequest for any other interface, BackendUnavailable, BusClosed, and BusError:
    `WPAS_INTERFACE_EXISTS` where it is registered already.

    The kernel describes a radio in several messages, and ends early where another radio is removed between
    them (https://github.com/torvalds/linux/blob/v6.1/net/wireless/nl80211.c, nl80211_dump_wiphy). Then
    wpa_supplicant takes the driver for one that it cannot use. So a registration that fails is repeated.
    """
    require_wireless(interface)
    with in_time(_NO_ANSWER):
        path = await _create(connection, interface)
        await _make_settings(_Interface(connection, path), interface)
    return path


async def _create(connection: BusConnection, interface: str) -> str:
    arguments = {"Ifname": Variant("s", interface), "Driver": Variant("s", "nl80211")}
    root = _Root(connection, WPAS_PATH)
    for pause_s in _REGISTRATION_PAUSES_S:
        try:
            return await root.ask(str, "CreateInterface", "a{sv}", [arguments])
        except BusError as error:
            if error.name != WPAS_UNKNOWN_ERROR:
                raise
            _log.info("registration_repeated", interface=interface, reason=error.message)
        await asyncio.sleep(pause_s)
    return await root.ask(str, "CreateInterface", "a{sv}", [arguments])


async def _make_settings(registered: _Interface, interface: str) -> None:
    """Make the settings that this wpa_supplicant has: an older one lacks some, and joins what it can."""
    for name, value in _SETTINGS.items():
        try:
            await registered.set(name, Variant("s", value))
        except BusError as error:
            _log.info("setting_not_made", interface=interface, setting=name, reason=error.message)


class RegisteredInterfaces:
    """The interfaces that wpa_supplicant has, by their names, and what is changed of them.

    Each one is looked up once in a run of wpa_supplicant, and is addressed by the unique name of that run: to
    another run, the same object path may be another interface.
    """

    def __init__(self, connection: BusConnection) -> None:
        self._connection = connection
        self._known: dict[str, _Interface] = {}

    async def add_network(self, interface: str, network: Network) -> str:
        """Configure a network on an interface that is registered, disabled, and return its object path;
        raises as `register_interface`."""

        async def add(registered: _Interface) -> str:
            return await registered.ask(str, "AddNetwork", "a{sv}", [network.settings])

        return await self._changed(interface, add)

    async def limit_networks(self, interface: str, bssid: str) -> None:
        """Let the networks of an interface be joined only at this access point; their other settings stay.
        Raises as `register_interface`."""

        async def limit(registered: _Interface) -> None:
            for path in await registered.get("Networks", list[str]):
                settings = Variant("a{sv}", {"bssid": Variant("s", bssid)})
                await _Network(self._connection, path, registered.service).set("Properties", settings)

        await self._changed(interface, limit)

    async def set_country(self, interface: str, country: str) -> None:
        """Set the regulatory domain, as an ISO 3166-1 alpha-2 code; raises as `register_interface`."""
        await self._changed(interface, lambda registered: registered.set("Country", Variant("s", country)))

    async def _changed(self, interface: str, change: Callable[[_Interface], Awaitable[_T]]) -> _T:
        require_wireless(interface)
        with in_time(_NO_ANSWER):
            if known := self._known.get(interface):
                try:
                    return await change(known)
                except BusError as error:
                    if error.name not in _GONE:
                        raise
                    self._known.pop(interface, None)
            return await change(await self._look_up(interface))

    async def _look_up(self, interface: str) -> _Interface:
        owner = await self._connection.name_owner(WPAS) or ""
        path = await _Root(self._connection, WPAS_PATH, owner).ask(str, "GetInterface", "s", [interface])
        found = _Interface(self._connection, path, owner)
        if owner:
            self._known[interface] = found
        return found
