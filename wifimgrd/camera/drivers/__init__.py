"""What cameras are spoken to in, over their networks: bytes in, bytes out, no I/O and no clock.

Each driver is a class in the module that its row of `CameraDriver` names, in `DRIVERS` there.
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
