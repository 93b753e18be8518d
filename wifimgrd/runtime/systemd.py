"""Notifications to the service manager: sd_notify(3)'s protocol, a datagram on a socket."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import structlog

from wifimgrd.runtime.tasks import Backoff, Tasks

_SEND_S: Final = 1.0
"""How long a service manager that reads nothing, with its queue full, may hold up a process."""
_log = structlog.get_logger()


def notify(message: str) -> None:
    """Send e.g. `READY=1`; does nothing where there is no service manager."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.settimeout(_SEND_S)
        try:
            sender.sendto(message.encode(), address)
        except OSError:
            return  # a service manager that went away is not a reason to stop


def watchdog_s() -> float | None:
    """The watchdog's time-out in seconds; None where there is no watchdog.

    sd_watchdog_enabled(3): variables that are meant for another process are ignored.
    """
    try:
        limit_us, meant_for = int(os.environ["WATCHDOG_USEC"]), int(os.environ.get("WATCHDOG_PID", "0"))
    except (KeyError, ValueError):
        return None
    return limit_us / 1e6 if limit_us > 0 and meant_for in (0, os.getpid()) else None


def start_watchdog(tasks: Tasks) -> None:
    """Send keep-alive pings to the watchdog while every kept task runs and every check returns in time."""
    tasks.keep("watchdog", partial(send_pulses, tasks.find_dead), Backoff(first_s=1.0, last_s=1.0))


async def send_pulses(find_dead: Callable[[float], Awaitable[list[str]]]) -> None:
    """Send a keep-alive ping at half the watchdog's interval while `find_dead` finds nothing.

    `find_dead` gets the seconds that it may take. Runs until it is cancelled, also without a watchdog.
    """
    limit_s = watchdog_s()
    if limit_s is None:
        await asyncio.Event().wait()
        return
    loop, period_s = asyncio.get_running_loop(), limit_s / 2
    while True:
        began_s = loop.time()
        failed = await find_dead(period_s)
        if failed:
            _log.error("no_progress", parts=failed, limit_s=limit_s)
        else:
            notify("WATCHDOG=1")
        await asyncio.sleep(began_s + period_s - loop.time())
