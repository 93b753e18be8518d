"""Recovery steps of cameras: which are possible, what bars them, what they hold, and how they end."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench
from tests.daemon.manager.test_cameras import ScriptedControl
from tests.daemon.manager.test_dead_links import Faults, gopro, recover, run, steps
from wifimgrd.domain.errors import NotSupported
from wifimgrd.domain.link_steps import LinkRules
from wifimgrd.domain.recovery import WINDOW_S

# -- the camera's own steps


def commands_of(bench: Bench) -> list[str]:
    """What a paired camera is told over Bluetooth from now on."""
    commands: list[str] = []

    async def restart(address: str, service: str) -> None:
        commands.append("access point")

    async def reboot(address: str, service: str) -> None:
        commands.append("reboot")

    bench.world.bluetooth.restart_access_point = restart  # type: ignore[method-assign]
    bench.world.bluetooth.reboot = reboot  # type: ignore[method-assign]
    return commands


def test_a_camera_is_only_told_what_its_model_knows() -> None:
    control = ScriptedControl()

    async def test(bench: Bench, faults: Faults) -> None:
        device = await gopro(bench, control, codename="gopro-hero9")
        commands = commands_of(bench)
        with pytest.raises(NotSupported, match="reboot-camera"):
            await recover(bench, device, step="reboot-camera")
        faults.services.add(device)
        await asyncio.sleep(WINDOW_S / 2)
        assert commands == ["access point"]
        assert steps(bench)[4:] == ["camera-access-point", "did-not"]

    run(test, control=control, rules=LinkRules(camera_steps=True))
