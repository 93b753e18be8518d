"""Hardening of the processes that handle passphrases, at their start."""

from __future__ import annotations

import resource


def forbid_core_dumps() -> None:
    """Disable core dumps, which would contain passphrases."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
