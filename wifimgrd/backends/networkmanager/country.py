"""The regulatory domain: which channels the adapters may use. Set through wpa_supplicant."""

from __future__ import annotations

from typing import Final

import structlog

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Variant

_log = structlog.get_logger(__name__)

_WORLD: Final = "00"
"""The domain of a host that was told of no country: 5 GHz is mostly listen-only there."""


class Country:
    """Tells each adapter's supplicant which country this is, once; warns where nobody did.

    https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_interface, property `Country`
    """

    def __init__(self, country: str | None) -> None:
        self._country = country
        self._told: set[str] = set()

    async def apply(self, connection: BusConnection, device: NmDevice) -> None:
        """Bring a device in line, where it is ready and was not yet."""
        if device.state < DeviceState.DISCONNECTED or device.path in self._told:
            return
        self._told.add(device.path)
        try:
            station = (
                await connection.call(
                    defs.WPAS, defs.WPAS_PATH, defs.WPAS, "GetInterface", "s", [device.name], timeout_s=5
                )
            )[0]
            if self._country:
                value = Variant("s", self._country)
                body = [defs.WPAS_INTERFACE, "Country", value]
                await connection.call(defs.WPAS, station, defs.PROPERTIES, "Set", "ssv", body, timeout_s=5)
                _log.info("country_set", interface=device.name, country=self._country)
            elif await connection.get(defs.WPAS, station, defs.WPAS_INTERFACE, "Country") in ("", _WORLD):
                _log.warning("country_unknown", interface=device.name, country=_WORLD)
        except (BusError, BusClosed, TimeoutError) as error:
            self._told.discard(device.path)
            _log.warning("country_not_set", interface=device.name, error=str(error))
