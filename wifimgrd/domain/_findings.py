"""The words for what stands in the way of a camera, when somebody asks whether the rig is ready."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from wifimgrd.domain.camera import Problem


class Want(StrEnum):
    """The findings beside the problems of a camera in `Problem`."""

    NOT_CONNECTED = "not-connected"
    """Nothing else is told of such a camera."""
    NOT_ANSWERING = "not-answering"
    """Or a recovery step runs for it, which may take its link down at any moment."""
    RECORDING_UNKNOWN = "recording-unknown"
    BATTERY_UNKNOWN = "battery-unknown"
    STORAGE_UNKNOWN = "storage-unknown"
    CLOCK_UNKNOWN = "clock-unknown"


ORDER: Final = (
    Want.NOT_CONNECTED,
    Want.NOT_ANSWERING,
    *Problem,
    Want.RECORDING_UNKNOWN,
    Want.BATTERY_UNKNOWN,
    Want.STORAGE_UNKNOWN,
    Want.CLOCK_UNKNOWN,
)
"""All findings, the most urgent one first."""
