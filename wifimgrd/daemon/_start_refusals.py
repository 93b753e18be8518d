"""The errors that end the daemon with a line and a status instead of a traceback; docs/service.md has the
same table.

The unit's RestartPreventExitStatus= has the statuses of errors that only a person can mend. After the others
systemd starts the daemon again for as long as the cause lasts: nobody may be there to do it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from wifimgrd.bus.connection import BusClosed, BusError, NameTaken
from wifimgrd.config.configuration import ConfigError, FileUnusable
from wifimgrd.daemon._daemon import BusLost, DirectoryTaken, StateDirectoryUnusable
from wifimgrd.daemon.store import SchemaFromFuture, StoreDamaged
from wifimgrd.domain.errors import WifimgrdError


@dataclass(frozen=True, slots=True)
class Refusal:
    """How the daemon ends."""

    status: int
    """Of sysexits(3)."""
    event: str = "start_refused"
    """The entry in the journal."""
    is_brief: bool = False
    """It may be over at once, so that the next start is not put off."""


_REFUSALS: Final[tuple[tuple[tuple[type[Exception], ...], Refusal], ...]] = (
    ((FileUnusable,), Refusal(FileUnusable.exit_status)),
    ((ConfigError,), Refusal(ConfigError.exit_status)),
    ((NameTaken, DirectoryTaken), Refusal(os.EX_TEMPFAIL)),
    ((BusClosed, BusError, BusLost, TimeoutError), Refusal(os.EX_UNAVAILABLE, is_brief=True)),
    ((SchemaFromFuture, StoreDamaged), Refusal(os.EX_DATAERR, "store_refused")),
    ((StateDirectoryUnusable,), Refusal(os.EX_CANTCREAT, "store_refused")),
    ((WifimgrdError, OSError), Refusal(os.EX_IOERR, "store_refused")),
)
"""Of several kinds that an error is of, the first counts."""


def refusal_of(error: Exception) -> Refusal | None:
    """How the daemon ends after an error; None if that is a bug."""
    return next((refusal for kinds, refusal in _REFUSALS if isinstance(error, kinds)), None)
