"""The parts that the daemon is given in place of adapters and cameras."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.config.configuration import ConfigError
from wifimgrd.daemon.parts import Parts
from wifimgrd.daemon.ports import BackendMemory
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._scenario import ScenarioError, load_scenario
from wifimgrd.simulator._world import SimulatedWorld


def parts(scenario: Path | None, memory: BackendMemory, tasks: Tasks, now_us: Callable[[], int]) -> Parts:
    """A world of a scenario's file, or of the default one; raises ConfigError.

    The daemon finds this by its name: a hub on adapters has no simulator.
    """
    try:
        world = SimulatedWorld(load_scenario(scenario), memory)
    except ScenarioError as error:
        raise ConfigError(str(error)) from None
    control = CameraSessions(tasks.part("cameras"), now_us)
    return Parts(
        world.backend,
        world.adapters,
        world.sockets,
        world.contact,
        world.bluetooth,
        control,
        evidence=world.evidence,
        world=world,
    )
