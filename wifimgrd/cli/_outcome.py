"""Outcomes of commands to a device, and actions under way, as sentences."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from wifimgrd.cli._arguments import CONNECT_S, CONNECT_WITH_WAKE_S
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import safe
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_state import CameraState, camera_state_of, recovering
from wifimgrd.domain.commands import (
    CONNECT,
    DISCONNECT,
    PAIR,
    RECOVER,
    SET_CLOCK,
    SLEEP,
    UNPAIR,
    WAKE,
    WITH_WAKE,
    DeviceCommand,
)
from wifimgrd.domain.device import ConnectionPhase
from wifimgrd.domain.errors import DeviceNotFound, ErrorCode
from wifimgrd.domain.records import DeviceRecord

TIMEOUT: Final = "timeout"
"""Code of a timeout of `--wait`; the daemon has none, since nothing has failed."""
_UNDER_WAY: Final = (
    CameraState.CONNECTED,
    CameraState.CONNECTING,
    CameraState.WAKING,
    CameraState.WAITING,
    CameraState.NOT_ANSWERING,
    CameraState.RECOVERING,
)
"""The states that tell how far a connect has come."""
_TICK_S: Final = 0.2
_DONE: Final = {
    WAKE.name: "is awake",
    SLEEP.name: "is asleep",
    PAIR.name: "is paired with this hub",
    UNPAIR.name: "is no longer paired with this hub",
    RECOVER.name: "answers",
    SET_CLOCK.name: "has the time of its hub",
}
_STARTED: Final = {
    WAKE.name: "is waking up",
    SLEEP.name: "is going to sleep",
    PAIR.name: "is pairing with this hub",
    RECOVER.name: "is being recovered",
}
"""The words for a camera, by the command that is done, or that goes on."""


def title(device: DeviceRecord) -> str:
    """A device, as a person calls it."""
    return safe(device.name)


def summary(device: DeviceRecord) -> str:
    """The outcome of a command, or the action under way, as a sentence."""
    state = camera_state_of(device)
    if state is CameraState.WAITING:
        return f"{title(device)} is waiting for an adapter, and connects as soon as one is free"
    if state is CameraState.RECOVERING and device.recovery_step is not None:
        return f"{title(device)} is {recovering(device.recovery_step)}"
    word = "connected, but not answering" if state is CameraState.NOT_ANSWERING else device.state
    sentence = f"{title(device)} is {word}"
    if device.interface is not None:
        sentence += f" through {safe(device.interface)}"
    if device.camera_address is not None:
        sentence += f", camera at {safe(device.camera_address)}"
    if device.connection_phase == ConnectionPhase.WAKING:
        sentence += ", waking the camera"
    return sentence


def outcome_text(command: DeviceCommand, device: DeviceRecord, *, is_done: bool = True) -> str:
    """The outcome of a command that has succeeded or goes on, as a sentence."""
    words = (_DONE if is_done else _STARTED).get(command.name)
    is_shown_by_state = device.recovery_step is not None if not is_done else not device.reachable
    if words is None or (command is RECOVER and is_shown_by_state):
        return summary(device)
    sentence = f"{title(device)} {words}"
    if command is PAIR and is_done and device.bluetooth_address is not None:
        sentence += f", Bluetooth address {safe(device.bluetooth_address)}"
    if command is RECOVER and is_done and device.interface is not None:
        sentence += f", through {safe(device.interface)}"
    return sentence


def timeout_s(device: DeviceRecord, arguments: argparse.Namespace) -> float:
    """How long to wait for the outcome of a command to a device."""
    given: float | None = vars(arguments).get("timeout", CONNECT_S)
    if given is not None:
        return given
    return CONNECT_WITH_WAKE_S if vars(arguments).get(WITH_WAKE) or device.auto_wake else CONNECT_S


def under_way(command: DeviceCommand | None, device: DeviceRecord) -> str:
    """The action on a device, or its state where that tells how far it has come."""
    if command is DISCONNECT:
        return f"Disconnecting {safe(device.name)}"
    if command is CONNECT and camera_state_of(device) not in _UNDER_WAY:
        return f"Connecting {safe(device.name)}"
    return summary(device)


@asynccontextmanager
async def progress(
    watched: Callable[[], DeviceRecord | None], screen: Screen, command: DeviceCommand | None = None
) -> AsyncIterator[None]:
    """Show a device's state and the elapsed time, if progress is shown; where its state does not tell how far
    the command has come, that."""
    if not screen.lively:
        yield
        return
    started = time.monotonic()

    async def keep_printing() -> None:
        while True:
            device = watched()
            if device is not None:
                screen.progress(f"{under_way(command, device)} ... {time.monotonic() - started:.0f} s")
            await asyncio.sleep(_TICK_S)

    printing = asyncio.create_task(keep_printing())
    try:
        yield
    finally:
        printing.cancel()
        screen.progress("")


def show_warnings(device: DeviceRecord, screen: Screen) -> None:
    """Print what is unusual about a device."""
    for warning in device.warnings:
        screen.hint(safe(warning))


def show_way_out(device: DeviceRecord, code: str | None, screen: Screen) -> None:
    """Print what helps against an error."""
    name = shlex.quote(device.name) if device.name.isprintable() else device.id
    match code:
        case ErrorCode.AUTHENTICATION_FAILED:
            screen.hint(f"Change its password: wifimgrctl set {name} --ask-password")
        case ErrorCode.NOT_PAIRED:
            screen.hint(
                f"Switch it to pairing mode, or connect a Theta V or Z1, and pair it: wifimgrctl pair {name}"
            )
        case ErrorCode.NOT_CONNECTED:
            screen.hint(f"Connect it first: wifimgrctl connect {name}")
        case ErrorCode.PAIRING_FAILED:
            screen.hint("Cameras in pairing mode: wifimgrctl bluetooth search")
        case ErrorCode.WAKE_FAILED | ErrorCode.BLUETOOTH_UNAVAILABLE:
            screen.hint(f"See what is missing: wifimgrctl bluetooth check {name}")


def current(hub: HubClient, device_id: int) -> DeviceRecord:
    """A device after a command on it; another client may have removed it meanwhile."""
    try:
        return hub.devices[device_id]
    except KeyError:
        raise DeviceNotFound(f"camera {device_id} was removed meanwhile") from None
