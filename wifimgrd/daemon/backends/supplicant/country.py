"""The regulatory domain: which channels the adapters may use. Set through wpa_supplicant."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.kernel.nl80211 import regulatory_domain

_log = structlog.get_logger(__name__)

_WORLD: Final = "00"
"""The world domain, in force where no country is set: most 5 GHz channels are passive-scan only in it."""

SetCountry = Callable[[str, str], Awaitable[None]]
"""Sets the country through an interface that wpa_supplicant has; raises BusError, BusClosed, TimeoutError."""


class Country:
    """Sets the country on each adapter's supplicant interface, once; warns where no country is set at all.

    https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_interface, property `Country`
    """

    def __init__(self, country: str | None = None, set_country: SetCountry | None = None) -> None:
        self._country = country
        self._set_country = set_country
        self._applied: set[str] = set()
        self._warned = False

    async def apply(self, interface: str, key: str) -> None:
        """Set the country on an interface that wpa_supplicant has, where it was not set before under this
        key."""
        if key in self._applied:
            return
        self._applied.add(key)
        if not self._country or self._set_country is None:
            self._warn()
            return
        try:
            await self._set_country(interface, self._country)
        except (BusError, BusClosed, TimeoutError) as error:
            self._applied.discard(key)
            _log.warning("country_not_set", interface=interface, error=str(error))
        else:
            _log.info("country_set", interface=interface, country=self._country)

    def forget(self, key: str) -> None:
        """Set the country again where this key comes back: an adapter that is plugged in again is another
        one."""
        self._applied.discard(key)

    def forget_all(self) -> None:
        """Set the country again everywhere: the supplicant was restarted."""
        self._applied.clear()

    def _warn(self) -> None:
        if not self._warned and regulatory_domain() == _WORLD:
            self._warned = True
            _log.warning("country_unknown", domain=_WORLD, effect="cameras on 5 GHz may stay unseen")
