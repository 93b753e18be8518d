"""A configuration that is read again: what is taken over, and what waits for a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.conftest import on_bench as on_bench  # noqa: PLC0414 - a fixture
from wifimgrd.config.configuration import load
from wifimgrd.daemon._live_settings import LiveSettings
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.runtime.tasks import Tasks


class Reconfigured:
    """A hub that takes every setting."""

    async def reconfigure(self, settings: HubSettings) -> None:
        """Take it."""


async def test_what_runs_decides_what_a_restart_would_change_not_the_file_that_was_read_last(
    tmp_path: Path,
) -> None:
    file = tmp_path / "wifimgrd.toml"
    file.write_text("")
    live = LiveSettings(cast("Hub", Reconfigured()), load(file), file, Tasks("test"))

    async def needs_restart(text: str) -> Any:
        file.write_text(text)
        with capture_logs() as entries:
            await live.reread()
        return entries[-1]["needs_restart"]

    assert await needs_restart("[connect]\ntimeout_s = 10\n") is None
    assert await needs_restart('[cameras]\nnetwork = "10.88.0.0/24"\n') == ["cameras"]
    both = '[cameras]\nnetwork = "10.88.0.0/24"\n[radio]\ncountry = "DE"\n'
    assert await needs_restart(both) == ["radio", "cameras"]
    assert await needs_restart("") is None


def test_of_two_reloads_at_once_the_later_one_is_in_use(on_bench: RunOnBench, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        original = bench.world.backend.release

        async def release(interface: str) -> None:
            await asyncio.sleep(0.5)
            await original(interface)

        bench.world.backend.release = release  # type: ignore[method-assign]
        file = tmp_path / "wifimgrd.toml"
        file.write_text("")
        live = LiveSettings(bench.hub, load(file), file, Tasks("test"))
        file.write_text('[interfaces]\nexclude = ["wlan0"]\n')
        first = asyncio.create_task(live.reread())
        await asyncio.sleep(0.1)
        file.write_text("[connect]\ntimeout_s = 10\n")
        await live.reread()
        await first
        assert live.config == load(file)

    on_bench(scenario)
