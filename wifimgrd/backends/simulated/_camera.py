"""A simulated camera: an access point that is on or off, and the addresses that it leases."""

from __future__ import annotations

from typing import Final

from wifimgrd.backends.simulated._scenario import CameraPlan

CAMERA_ADDRESS: Final = "192.168.42.1"
"""Every camera has the same address, as cameras of one manufacturer do."""
_FIRST_LEASE: Final = 10
_LEASES: Final = 240


class Camera:
    """One camera, powered or not."""

    def __init__(self, plan: CameraPlan) -> None:
        self.plan = plan
        self.powered = plan.powered
        self.signal_percent = plan.signal_percent
        self.guests: set[str] = set()
        """Names of the interfaces that have a link to it."""
        self._leases: dict[str, str] = {}

    @property
    def label(self) -> str:
        """Its SSID, as printable text."""
        return self.plan.ssid.printable

    def lease(self, mac: str) -> str:
        """The address that it leases to a host, the same each time."""
        fresh = f"192.168.42.{_FIRST_LEASE + len(self._leases) % _LEASES}"
        return self._leases.setdefault(mac, fresh)
