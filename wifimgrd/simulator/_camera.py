"""A simulated camera: an access point that is on or off, and the addresses that it leases."""

from __future__ import annotations

import asyncio
import time
import zlib
from typing import Final

from wifimgrd.simulator._scenario import CameraPlan
from wifimgrd.simulator.emulators import EmulatedCamera, Emulator, emulator

CAMERA_ADDRESS: Final = "192.168.42.1"
"""Every camera has the same address, as cameras of one manufacturer do."""
_FIRST_LEASE: Final = 10
_LEASES: Final = 240


class Camera:
    """One camera, on, asleep or off."""

    def __init__(self, plan: CameraPlan) -> None:
        self.plan = plan
        self.asleep = plan.asleep
        """It advertises over Bluetooth, and its Wi-Fi is off."""
        self.is_on = plan.powered and not plan.asleep
        self.is_out_of_range = False
        self.is_wifi_off = False
        """It may be on all the same."""
        self.failing_connections: float = 0
        """The next connections over Bluetooth that end at once."""
        self.signal_percent = plan.signal_percent
        self.guests: set[str] = set()
        """Names of the interfaces that have a link to it."""
        self._leases: dict[str, str] = {}
        self.emulated: EmulatedCamera | None = None
        """The camera that answers over its network; None: nothing answers."""
        self.emulator: Emulator | None = None
        if plan.emulated is not None:
            driver, settings = plan.emulated
            self.emulated = EmulatedCamera(settings, _now)
            self.emulator = emulator(driver, self.emulated)

    @property
    def bluetooth_address(self) -> str:
        """Derived from the SSID, so always the same; a static random one."""
        return "F4:DD:" + zlib.crc32(self.plan.ssid.data).to_bytes(4, "big").hex(":").upper()

    @property
    def bluetooth_name(self) -> str:
        """The name that it advertises."""
        return self.plan.bluetooth_name

    def refusals(self, tries: int) -> int:
        """How many connections over Bluetooth end at once, if all of so many tries do; 0 if one succeeds."""
        failing = min(self.failing_connections, tries)
        self.failing_connections -= failing
        return tries if failing == tries else 0

    @property
    def powered(self) -> bool:
        """Whether its network is on the air here."""
        return self.is_on and not (self.is_wifi_off or self.is_out_of_range)

    @property
    def advertises(self) -> bool:
        """Whether it is heard over Bluetooth here."""
        return self.plan.bluetooth is not None and (self.is_on or self.asleep) and not self.is_out_of_range

    @property
    def label(self) -> str:
        """Its SSID, as printable text."""
        return self.plan.ssid.printable

    def lease(self, mac: str) -> str:
        """The address that it leases to a host, the same each time."""
        fresh = f"192.168.42.{_FIRST_LEASE + len(self._leases) % _LEASES}"
        return self._leases.setdefault(mac, fresh)


def _now() -> float:
    """The event loop's time, as in all of a world, and before there is a loop what that will be."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()
