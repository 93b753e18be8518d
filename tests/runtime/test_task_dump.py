"""The task dump that a process logs on SIGUSR1."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from functools import partial

from structlog.testing import capture_logs
from structlog.typing import EventDict

from tests.lab.guest.deadline import async_poll_until
from wifimgrd.runtime.task_dump import dump_on_signal


async def test_sigusr1_has_it_report_its_tasks_by_kind() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    waiting = [asyncio.create_task(wait()) for _ in range(2)]
    dump_on_signal()
    with capture_logs() as logs:
        os.kill(os.getpid(), signal.SIGUSR1)
        await async_poll_until(partial(_seen, logs), "its report")
    for task in waiting:
        task.cancel()
    [reported] = logs
    assert reported["event"] == "tasks"
    assert reported["count"] == 3
    assert f"2 {wait.__qualname__}" in reported["kinds"]


async def _seen(logs: Sequence[EventDict]) -> bool:
    return bool(logs)
