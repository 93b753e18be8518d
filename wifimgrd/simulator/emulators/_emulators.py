"""Which emulator serves which cameras."""

from __future__ import annotations

import asyncio
from typing import Protocol

from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators._camera import EmulatedCamera
from wifimgrd.simulator.emulators._gopro import GoProEmulator
from wifimgrd.simulator.emulators._insta360 import Insta360Emulator
from wifimgrd.simulator.emulators._osc import OscEmulator


class Emulator(Protocol):
    """Serves one camera."""

    @property
    def ports(self) -> frozenset[int]:
        """The TCP ports that such a camera has."""

    async def serve(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to one of `ports` until it ends; the caller closes it. Never raises for what
        comes from the other end."""


def emulator(driver: CameraDriver, camera: EmulatedCamera) -> Emulator:
    """What serves a camera as one of these does."""
    if driver in (CameraDriver.GOPRO, CameraDriver.GOPRO_HERO9):
        return GoProEmulator(camera)
    if driver is CameraDriver.INSTA360:
        return Insta360Emulator(camera)
    return OscEmulator(camera)
