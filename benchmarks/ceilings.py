"""The most memory that each process may have: one table, which the measurements, the tests and
docs/benchmarks.md share."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

RSS_MB: Final[Mapping[str, int]] = MappingProxyType(
    {
        "wifimgrd": 37,
        "wifimgrd-net": 30,
        "wifimgrd-camera": 42,
        "wifimgrd-http": 52,
        "wifimgrd-mqtt": 36,
        "wifimgrd-mavlink": 30,
    }
)
"""Resident memory in 10^6 bytes: of the daemon and the shim with a few cameras, of the helper, of the camera
process with 64 cameras, of the bridge to a broker with TLS, of the one to ground stations. All of them with
Python 3.11, which Debian 12 has."""

_NEWER_MB: Final = 2 if sys.version_info >= (3, 13) else 0
"""By how much Python 3.13 and the OpenSSL beside it in Debian 13 are larger, with the same modules loaded:
half of it is objects of the process, half is code, which all processes share."""


def most_mb(name: str) -> int:
    """The most resident memory that a process may have with this interpreter, in 10^6 bytes."""
    return RSS_MB[name] + _NEWER_MB
