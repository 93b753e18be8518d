"""The maker's software, open-gopro, unmodified but for its Wi-Fi.

`python3 -m tests.lab.bluetooth.gopro_sdk NUMBER` opens the GoPro with that number, which pairs it, reads its
network, and switches its access point on; one line of JSON says what it has read.
"""

import asyncio
import json
import logging
import sys
import tempfile
import time
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from open_gopro import WirelessGoPro
from open_gopro.models.constants import Toggle
from open_gopro.network.wifi.controller import SsidState, WifiController

_TIME = datetime(2027, 1, 15, 8, 5, 0)  # noqa: DTZ001 - as the software has it, beside the zone


class _NoWifi(WifiController):  # type: ignore[misc]
    """Joins no network, and remembers which one it was to join."""

    asked: tuple[str, str] = ("", "")

    async def connect(self, ssid: str, password: str, *_: float) -> bool:
        """Keep what the camera was read to have."""
        type(self).asked = (ssid, password)
        return True

    async def disconnect(self) -> bool:
        """Nothing is joined."""
        return True

    def current(self) -> tuple[str | None, SsidState]:
        """What it was to join."""
        ssid = self.asked[0]
        return (ssid, SsidState.CONNECTED) if ssid else (None, SsidState.DISCONNECTED)

    def available_interfaces(self) -> list[str]:
        """One, so that it opens."""
        return ["none"]

    def power(self, power: bool) -> bool:
        """Has no radio."""
        return power

    @property
    def is_on(self) -> bool:
        """Whether it may join."""
        return True


async def _open(number: str) -> dict[str, Any]:
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "networks.json"
        async with WirelessGoPro(target=number, cohn_db=database, wifi_adapter=_NoWifi) as camera:
            opened_s = time.monotonic() - began_s
            hardware = (await camera.ble_command.get_hardware_info()).data
            battery = (await camera.ble_status.internal_battery_percentage.get_value()).data
            is_on = (await camera.ble_status.ap_mode.get_value()).data
            kept_awake = await camera.keep_alive()
            await camera.ble_command.set_date_time_tz_dst(date_time=_TIME, tz_offset=60, is_dst=False)
            told = (await camera.ble_command.get_date_time()).data
            # It returns once the camera says that it records; until that ends, it asks for nothing else.
            await camera.ble_command.set_shutter(shutter=Toggle.ENABLE)
            await camera.ble_command.set_shutter(shutter=Toggle.DISABLE)
            records = (await camera.ble_status.encoding.get_value()).data
    return {
        "version": version("open-gopro"),
        "opened_s": opened_s,
        "asked": _NoWifi.asked,
        "model": hardware.model_name,
        "serial": hardware.serial_number,
        "ssid": hardware.ap_ssid,
        "battery": battery,
        "access_point": bool(is_on),
        "kept_awake": kept_awake,
        "clock": str(told),
        "records": bool(records),
    }


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d %(name)s: %(message)s")
    sys.stdout.write(json.dumps(asyncio.run(_open(sys.argv[1]))) + "\n")
