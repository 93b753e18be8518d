"""What came of a command to a device, and what is under way, as sentences."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import safe
from wifimgrd.domain.camera_state import CameraState, camera_state_of
from wifimgrd.domain.records import DeviceRecord

TIMEOUT: Final = "timeout"
"""Code of a timeout of `--wait`; the daemon has none, since nothing has failed."""
_TICK_S: Final = 0.2


def title(device: DeviceRecord) -> str:
    """A device's name and id."""
    return f"{safe(device.name)} (device {device.id})"


def summary(device: DeviceRecord) -> str:
    """What came of a command, or what is under way, as a sentence."""
    state = camera_state_of(device)
    if state is CameraState.WAITING:
        return f"{title(device)} is waiting for an adapter, and connects as soon as one is free"
    word = "connected, but not answering" if state is CameraState.NOT_ANSWERING else device.state
    sentence = f"{title(device)} is {word}"
    if device.interface is not None:
        sentence += f" through {safe(device.interface)}"
    if device.camera_address is not None:
        sentence += f", camera at {safe(device.camera_address)}"
    return sentence


@asynccontextmanager
async def progress(current: Callable[[], DeviceRecord | None], screen: Screen) -> AsyncIterator[None]:
    """Show a device's state and the elapsed time, if progress is shown."""
    if not screen.lively:
        yield
        return
    started = time.monotonic()

    async def keep_printing() -> None:
        while True:
            device = current()
            if device is not None:
                screen.progress(f"{summary(device)} ... {time.monotonic() - started:.0f} s")
            await asyncio.sleep(_TICK_S)

    printing = asyncio.create_task(keep_printing())
    try:
        yield
    finally:
        printing.cancel()
        screen.progress("")
