"""The most memory that each process may have: one table, which the measurements, the tests and
docs/benchmarks.md share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

RSS_MB: Final[Mapping[str, int]] = MappingProxyType(
    {
        "wifimgrd": 36,
        "wifimgrd-net": 30,
        "wifimgrd-camera": 42,
        "wifimgrd-http": 52,
        "wifimgrd-mqtt": 36,
    }
)
"""Resident memory in 10^6 bytes: of the daemon and the shim with a few cameras, of the helper, of the camera
process with 64 cameras, of the bridge with TLS."""
