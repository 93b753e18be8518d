"""Carries a driver's conversation out, over whatever connection there is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.protocol import (
    MICROSECONDS,
    TRY_AGAIN_S,
    UNREADABLE,
    Answer,
    Conversation,
    Driver,
    HostTime,
    Nonsense,
    Pause,
    Request,
)
from wifimgrd.domain.camera import CameraAnswer, CameraCommand, CommandResult
from wifimgrd.domain.errors import CameraBusy, CameraRefused, Unconfirmed, WifimgrdError

_T = TypeVar("_T")
Exchange = Callable[[Request], Awaitable[Answer]]
"""Sends a request and waits for its answer."""
Failures = tuple[type[Exception], ...]
"""With what reading a camera fails."""
UNCONFIRMED: Final = "the camera's answer was lost, and its state could not be read in time"
UNTOLD: Final = "the camera's answer was lost, and it does not say whether it records"
Clock = Callable[[], int]
"""Microseconds since the epoch."""


def now_us() -> int:
    """By this host's clock."""
    return time.time_ns() // 1000


def steady_us() -> int:
    """By a clock that nobody sets, that is not corrected as the host's is, and that goes on while the host
    sleeps, microseconds."""
    asleep_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return (time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + asleep_ns) // 1000


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


async def settle(
    driver: Driver, exchange: Exchange, error: Exception, *, on: bool, sent_s: float, lost: Failures
) -> int:
    """Find out whether a camera has done what it was told: its answer was lost with `error`. It is read until
    it does that, or until its time for it is over; one of `lost` ends that.

    Returns the microseconds from `sent_s`, when the request was sent by the loop's clock, to the answer that
    shows it. Raises `error` if it is not done, and Unconfirmed if that is not known.
    """
    loop = asyncio.get_running_loop()
    try:
        while True:
            await converse(driver.read_recording(), exchange)
            if (found := driver.reading.is_recording) is on:
                return round((loop.time() - sent_s) * MICROSECONDS)
            if found is None or loop.time() >= sent_s + driver.done_s:
                break
            await asyncio.sleep(TRY_AGAIN_S)
    except lost:
        raise Unconfirmed(UNCONFIRMED) from None
    if found is None:
        raise Unconfirmed(UNTOLD)
    raise error


async def carry_out(
    driver: GoProBluetoothDriver, command: CameraCommand, exchange: Exchange, *, lost: Failures
) -> CameraAnswer:
    """Have a GoPro that was just connected over Bluetooth carry out a command. Raises one of `lost`, with
    which `exchange` fails, if that was before the command was sent; else the result says what is known."""
    after_us, sent_s = 0, 0.0
    error: WifimgrdError | None = None
    loop = asyncio.get_running_loop()
    every: Failures = (Nonsense, *lost)

    async def timed(request: Request) -> Answer:
        nonlocal sent_s
        if driver.may_have_obeyed and not sent_s:
            sent_s = loop.time()
        return await exchange(request)

    try:
        try:
            after_us = await converse(driver.carry_out(command, lambda: HostTime.at(now_us())), timed)
        except every as broken:
            if not driver.may_have_obeyed:
                raise
            on = command is CameraCommand.START
            try:
                after_us = await settle(driver, exchange, broken, on=on, sent_s=sent_s, lost=every)
            except every:
                driver.may_have_obeyed = False
                raise
    except (CameraBusy, CameraRefused, Unconfirmed) as refused:
        error = refused
    except Nonsense:
        error = CameraRefused(UNREADABLE)
    return CameraAnswer(CommandResult(after_us, error), driver.reading)
