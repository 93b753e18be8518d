"""The regulatory domain: which channels the adapters may use. Set through wpa_supplicant."""

from __future__ import annotations

from typing import Final

import structlog

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.backends.networkmanager.regulatory import regulatory_domain
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Variant

_log = structlog.get_logger(__name__)

_WORLD: Final = "00"
"""The domain of a host that was told of no country: most of 5 GHz is listen-only there."""


class Country:
    """Tells each adapter's supplicant which country this is, once; warns where nobody ever did.

    https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_interface, property `Country`
    """

    def __init__(self, country: str | None) -> None:
        self._country = country
        self._told: set[str] = set()
        self._warned = False

    async def apply(self, connection: BusConnection, device: NmDevice) -> None:
        """Bring a device in line, where it is ready and was not yet."""
        if device.state < DeviceState.DISCONNECTED or device.path in self._told:
            return
        self._told.add(device.path)
        if not self._country:
            self._warn()
            return
        try:
            station = (
                await connection.call(
                    defs.WPAS, defs.WPAS_PATH, defs.WPAS, "GetInterface", "s", [device.name], timeout_s=5
                )
            )[0]
            body = [defs.WPAS_INTERFACE, "Country", Variant("s", self._country)]
            await connection.call(defs.WPAS, station, defs.PROPERTIES, "Set", "ssv", body, timeout_s=5)
        except (BusError, BusClosed, TimeoutError) as error:
            self._told.discard(device.path)
            _log.warning("country_not_set", interface=device.name, error=str(error))
        else:
            _log.info("country_set", interface=device.name, country=self._country)

    def forget(self, device: NmDevice) -> None:
        """It was removed; an adapter that is plugged in again is another device."""
        self._told.discard(device.path)

    def forget_all(self) -> None:
        """The supplicant is another one: it is to be told again."""
        self._told.clear()

    def _warn(self) -> None:
        if not self._warned and regulatory_domain() == _WORLD:
            self._warned = True
            _log.warning("country_unknown", domain=_WORLD, effect="cameras on 5 GHz may stay unseen")
