"""SIGHUP, which a service gets by mistake, or before it can reload."""

from __future__ import annotations

import os
import signal


def ignore_hangups() -> None:
    """Ignore SIGHUP until a handler is set: systemd takes a process that it ends for one that was stopped as
    requested, and does not start it again. A process on a terminal still ends with that."""
    if not os.isatty(0):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
