"""Emulated cameras of three makes, of the simulated world `recording.toml`, on the real daemon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.processes import START_TIMEOUT_S, Hub
from wifimgrd import simulator as simulated
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.records import CameraRecord

SCENARIO: Final = Path(simulated.__file__).with_name("recording.toml")
CAMERAS: Final = {
    "gopro-hero12": ("GP25140002", "gopro-pass-2"),
    "insta360-x4": ("X4 SIM401.OSC", "insta-pass-401"),
    "ricoh-theta-x": ("THETAYR00000002.OSC", "00000002"),
}


async def connected(hub: Hub, codename: str, name: str = "") -> int:
    """A device whose camera is connected and was read."""
    ssid, password = CAMERAS[codename]
    properties = {"codename": codename, "connection_type": "wifi", "ssid": ssid, "password": password}
    device = await hub.client.create_device(properties | ({"name": name} if name else {}))
    await hub.until(device, "connected")
    await until(hub, device, lambda camera: camera.recording_state is not None)
    return device


def camera_of(client: HubClient, device: int) -> CameraRecord:
    """What the camera of a device says of itself."""
    camera = client.devices[device].camera
    assert camera is not None
    return camera


async def until(hub: Hub, device: int, holds: Callable[[CameraRecord], bool]) -> CameraRecord:
    """Wait until a camera says so."""
    await hub.client.wait_until(lambda client: holds(camera_of(client, device)), START_TIMEOUT_S)
    return camera_of(hub.client, device)
