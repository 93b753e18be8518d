"""Run `ip` of iproute2: listings as JSON, changes as one batch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any, Final

from wifimgrd.net import commands
from wifimgrd.net.commands import CommandError

_BATCH: Final = ("ip", "-4", "-force", "-batch", "-")


def listed(*command: str) -> list[dict[str, Any]]:
    """The output of `ip -4 -j COMMAND`; raises CommandError."""
    out = commands.run("ip", "-4", "-j", *command)
    try:
        return list(json.loads(out or "[]"))
    except ValueError:
        raise CommandError(f"ip {' '.join(command)} printed no JSON") from None


def batch(lines: Sequence[str]) -> None:
    """Run commands in order, also those after one that fails; raises CommandError then."""
    if lines:
        commands.run(*_BATCH, stdin=_script(lines))


class ReadyBatch:
    """Runs batches in processes that were started in advance, because the start takes most of the time.

    Each process runs only one batch, because `ip` caches the indices of interfaces while it runs.
    """

    def __init__(self) -> None:
        self._waiting: subprocess.Popen[str] | None = None

    def get_ready(self) -> None:
        """Start the process for the next batch; raises CommandError."""
        if self._waiting is None or self._waiting.poll() is not None:
            self.close()
            self._waiting = commands.start(*_BATCH)

    def run(self, lines: Sequence[str]) -> None:
        """As `batch`."""
        if lines:
            self.get_ready()
            process, self._waiting = self._waiting, None
            assert process is not None  # noqa: S101 - for the type checker
            commands.finish(process, _script(lines))

    def close(self) -> None:
        """End the waiting process."""
        process, self._waiting = self._waiting, None
        if process is not None:
            process.kill()
            process.communicate()


def _script(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
