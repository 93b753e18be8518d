"""The parts of the daemon that depend on the backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wifimgrd.daemon.api.simulator_object import World
from wifimgrd.daemon.ports import (
    AdapterSource,
    Backend,
    BackendMemory,
    CameraBluetooth,
    CameraContact,
    CameraSockets,
    HostClock,
    LinkEvidence,
)
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.runtime.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Parts:
    """The hub's parts that depend on the backend."""

    backend: Backend
    adapters: AdapterSource
    sockets: CameraSockets
    contact: CameraContact
    bluetooth: CameraBluetooth
    control: CameraControl | None = None
    host_clock: HostClock | None = None
    evidence: LinkEvidence | None = None
    world: World | None = None


Simulate = Callable[[Path | None, BackendMemory, Tasks, Callable[[], int]], Parts]
"""Makes a simulated world of a scenario's file, or of the default one; raises ConfigError."""
