"""The protocols that cameras speak over their networks: bytes in, bytes out, no I/O and no clock.

The row of a `CameraDriver` names a module; the driver is a class in the table `DRIVERS` of that module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wifimgrd.domain.camera import CameraDriver

if TYPE_CHECKING:
    from wifimgrd.camera.drivers.protocol import NetworkDriver


def driver_class(driver: CameraDriver) -> type[NetworkDriver]:
    """The class that speaks with a camera."""
    found: type[NetworkDriver] = import_module(f"{__name__}.{driver.module}").DRIVERS[driver]
    return found
