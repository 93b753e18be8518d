"""The pause of a process that cannot run now, before systemd starts it again."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

from wifimgrd.runtime.logging import is_for_journal

_PAUSE_S: Final = 5.0
NOT_RESTARTED: Final = frozenset((2, os.EX_DATAERR, os.EX_CANTCREAT, os.EX_CONFIG))
"""Statuses of failures that only a person can mend: RestartPreventExitStatus= of the units."""


def pause_before_restart(status: int) -> None:
    """Wait before the process ends with this status: what is missing may be so for days, and before systemd
    254 the next start follows within a second. Not where nothing starts it again, and not for a person."""
    if status not in NOT_RESTARTED and is_for_journal():
        time.sleep(_PAUSE_S)


def refuse(program: str, status: int, why: object) -> int:
    """Say in a line on standard error why a program cannot run, and wait as above; returns the status."""
    sys.stderr.write(f"{program}: {why}\n")
    pause_before_restart(status)
    return status
