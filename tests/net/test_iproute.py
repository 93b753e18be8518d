"""Batches of `ip` in processes that were started before."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from wifimgrd.net.commands import CommandError
from wifimgrd.net.iproute import ReadyBatch

REFUSED = "route del 203.0.113.0/24"
"""There is no such route."""


@pytest.fixture
def ready() -> Iterator[ReadyBatch]:
    batch = ReadyBatch()
    yield batch
    batch.close()
    assert waiting() == []


def waiting() -> list[str]:
    """The processes of ours that wait."""
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", "ip -4 -force -batch"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.split()


def test_a_batch_runs_in_the_process_that_waits_for_it(ready: ReadyBatch) -> None:
    ready.get_ready()
    [process] = waiting()
    ready.get_ready()
    assert waiting() == [process]
    with pytest.raises(CommandError, match="No such process"):
        ready.run([REFUSED])
    assert waiting() == []


def test_a_process_that_waited_and_was_killed_is_made_up_for(ready: ReadyBatch) -> None:
    ready.get_ready()
    [process] = waiting()
    os.kill(int(process), signal.SIGKILL)
    os.waitid(os.P_PID, int(process), os.WEXITED | os.WNOWAIT)
    with pytest.raises(CommandError, match="No such process"):
        ready.run([REFUSED])


def test_a_batch_without_commands_starts_nothing(ready: ReadyBatch) -> None:
    ready.run([])
    assert waiting() == []
