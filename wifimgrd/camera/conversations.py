"""Carries a driver's conversation out, over whatever connection there is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.protocol import (
    UNREADABLE,
    Answer,
    Conversation,
    HostTime,
    Nonsense,
    Pause,
    Request,
)
from wifimgrd.domain.camera import CameraAnswer, CameraCommand, CommandResult
from wifimgrd.domain.errors import CameraBusy, CameraRefused, WifimgrdError

_T = TypeVar("_T")
Exchange = Callable[[Request], Awaitable[Answer]]
"""Sends a request and waits for its answer."""
Clock = Callable[[], int]
"""Microseconds since the epoch."""


def now_us() -> int:
    """By this host's clock."""
    return time.time_ns() // 1000


async def converse(conversation: Conversation[_T], exchange: Exchange) -> _T:
    """Its result; raises what it raises, and what `exchange` does."""
    try:
        step = next(conversation)
        while True:
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                step = next(conversation)
            else:
                step = conversation.send(await exchange(step))
    except StopIteration as end:
        value: _T = end.value
        return value


async def carry_out(command: CameraCommand, exchange: Exchange) -> CameraAnswer:
    """Have a GoPro that was just connected over Bluetooth carry out a command; raises what `exchange`
    does."""
    driver, after_us = GoProBluetoothDriver(), 0
    error: WifimgrdError | None = None
    try:
        after_us = await converse(driver.carry_out(command, lambda: HostTime.at(now_us())), exchange)
    except (CameraBusy, CameraRefused) as refused:
        error = refused
    except Nonsense:
        error = CameraRefused(UNREADABLE)
    return CameraAnswer(CommandResult(after_us, error), driver.reading)
