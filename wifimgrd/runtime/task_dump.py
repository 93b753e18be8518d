"""On SIGUSR1, log the tasks of the process.

Leaked tasks, which nothing awaits any longer, are visible in no other way until memory runs short.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter

import structlog

_log = structlog.get_logger(__name__)


def dump_on_signal() -> None:
    """Install the SIGUSR1 handler in the running event loop."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _dump)


def kinds() -> Counter[str]:
    """The number of running tasks by what they do."""
    return Counter(_kind(task) for task in asyncio.all_tasks())


def _dump() -> None:
    counts = kinds()
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    _log.info("tasks", count=counts.total(), kinds=listed)


def _kind(task: asyncio.Task[object]) -> str:
    work = task.get_coro()
    return str(getattr(work, "__qualname__", None) or type(work).__qualname__)
