"""Changes in NetworkManager that the daemon's user may not make by itself, since these methods take any
profile and any device: the helper makes them, and takes only the hub's profiles and wireless interfaces."""

from __future__ import annotations

from typing import Protocol

from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement


class Changes(Protocol):
    """Changes profiles of the hub's, and adapters; each method raises BusError, BusClosed, TimeoutError."""

    async def activate(
        self,
        request: JoinRequest,
        key_management: KeyManagement,
        bssid: str,
        device: str,
        uuid: str,
        remaining_s: float,
    ) -> tuple[str, str]:
        """Add a profile for an attempt, not stored and only at one BSSID, and activate it on its `device`,
        the path of an object of NetworkManager's; returns the object paths of the profile and of the active
        connection. `remaining_s` is how long there may be no address."""

    async def deactivate(self, active_connection: str) -> None:
        """Deactivate an active connection."""

    async def delete(self, profile: str) -> None:
        """Delete a profile."""

    async def set_managed(self, interface: str, value: bool) -> None:
        """Set whether NetworkManager manages an adapter; False also removes the supplicant's interface."""

    async def set_autoconnect(self, interface: str, value: bool) -> None:
        """Set whether NetworkManager may activate profiles on an adapter automatically."""
