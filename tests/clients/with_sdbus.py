"""Connects a simulated camera by the classes that sdbus has generated, and prints its properties."""

from __future__ import annotations

import asyncio
import sys

from generated_hub import OrgWifimgrd1DeviceInterface, OrgWifimgrd1ManagerInterface  # type: ignore[import-not-found]
from sdbus import sd_bus_open_user, set_default_bus  # type: ignore[import-not-found]

NAME = "org.wifimgrd1"
CAMERA = {
    "codename": "insta360-x3",
    "connection_type": "wifi",
    "ssid": "SIM-CAM-1",
    "password": "camera-pass-1",
}


async def main() -> None:
    set_default_bus(sd_bus_open_user())
    manager = OrgWifimgrd1ManagerInterface.new_proxy(NAME, "/org/wifimgrd1")
    path = await manager.create_device({name: ("s", value) for name, value in CAMERA.items()})
    device = OrgWifimgrd1DeviceInterface.new_proxy(NAME, path)
    await device.connect({"wait": ("b", True)})
    sys.stdout.write(
        f"id {await device.id}\nstate {await device.state}\nssid {bytes(await device.ssid).decode()}\n"
    )
    for name in await device.properties_get_all_dict():
        sys.stdout.write(f"property {''.join(part.capitalize() for part in name.split('_'))}\n")


asyncio.run(main())
