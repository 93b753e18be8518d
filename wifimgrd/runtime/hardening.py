"""What every process of ours that meets a passphrase does first."""

from __future__ import annotations

import resource


def forbid_core_dumps() -> None:
    """A core dump would hold passphrases."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
