"""What a process is at, told in its log to whoever asks by SIGUSR1.

A task that nobody waits for any more shows in no other way until memory runs short.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter

import structlog

_log = structlog.get_logger(__name__)


def tell_on_signal() -> None:
    """From now on, in the event loop that runs, tell when SIGUSR1 comes."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _tell)


def _tell() -> None:
    kinds = Counter(_kind(task) for task in asyncio.all_tasks())
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    _log.info("tasks", count=kinds.total(), kinds=told)


def _kind(task: asyncio.Task[object]) -> str:
    work = task.get_coro()
    return str(getattr(work, "__qualname__", None) or type(work).__qualname__)
