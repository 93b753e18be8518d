"""How many descriptors this process has open, for tests of what has to be closed."""

from __future__ import annotations

import gc
import os


def open_descriptors() -> int:
    """Those that are open now."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names


def settled_descriptors() -> int:
    """The same before something is opened, without those in other tests' garbage, which end at any time."""
    gc.collect()
    return open_descriptors()
