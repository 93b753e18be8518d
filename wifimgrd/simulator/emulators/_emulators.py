"""Which emulator serves which cameras, and what these are where nobody says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Protocol

from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators._camera import CameraSettings, EmulatedCamera


class Emulator(Protocol):
    """Serves one camera."""

    @property
    def ports(self) -> frozenset[int]:
        """The TCP ports that such a camera has."""

    async def serve(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to one of `ports` until it ends; the caller closes it. Never raises for what
        comes from the other end. A camera whose `answers` is false is silent, and one with `garbage` sends
        that in place of its answers, as `HttpEmulator` does."""


@dataclass(frozen=True, slots=True)
class EmulatedKind:
    """The cameras of a driver: a row of `EMULATED` in the module that the driver's row names."""

    emulator: Callable[[EmulatedCamera], Emulator]
    model: str
    serial_number: str
    firmware_version: str
    firmware_versions: Mapping[str, str] = field(default_factory=dict)
    """Those of other models."""


def emulator(driver: CameraDriver, camera: EmulatedCamera) -> Emulator:
    """The emulator that serves a camera with this driver."""
    return _kind(driver).emulator(camera)


def settings_of(
    driver: CameraDriver,
    *,
    model: str | None,
    serial_number: str | None,
    firmware_version: str | None,
    state: CameraSettings,
) -> CameraSettings:
    """The settings of a camera; what is None or empty is as such a camera has it."""
    kind = _kind(driver)
    model = model or kind.model
    return replace(
        state,
        model=model,
        serial_number=serial_number or kind.serial_number,
        firmware_version=firmware_version or kind.firmware_versions.get(model, kind.firmware_version),
    )


def _kind(driver: CameraDriver) -> EmulatedKind:
    found: EmulatedKind = import_module(f"{__package__}._{driver.module}").EMULATED[driver]
    return found
