"""OWE transition mode: an open network that names its encrypted twin."""

from __future__ import annotations

from collections.abc import Callable

from .backends import on_networkmanager
from .guest.access_point import Camera
from .guest.namespace import run
from .guest.whole_hub import WholeHub

Cameras = Callable[..., Camera]


@on_networkmanager
async def test_an_open_camera_with_an_encrypted_twin_is_joined_and_told_from_its_equals(
    hub: WholeHub, cameras: Cameras
) -> None:
    pair = [
        cameras(name, "EQUAL-CAM", security="owe-transition", channel=channel)
        for name, channel in (("A", 1), ("B", 6))
    ]
    devices = [await hub.add(camera) for camera in pair]
    for device in devices:
        await hub.until(device, "connected")
    assert [len(camera.stations()) for camera in pair] == [1, 1]
    for device in devices:
        await hub.disconnect(device)
    assert "wifimgrd-" not in run("nmcli", "-g", "NAME", "connection", "show")
