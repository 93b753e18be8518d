"""The signal strengths in device records: in steps, and rarely. Pure: time is passed in, in seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from wifimgrd.client.channel_messages import SIGNAL_STEP
from wifimgrd.domain.records import DeviceRecord

PERIOD_S: Final = 1.0
"""The least time between two records of a device that differ in the signal strength alone."""


class SignalSteps:
    """Decides when the record of a device is published, and with which signal strength."""

    def __init__(self) -> None:
        self._shown: dict[int, int | None] = {}
        self._shown_at: dict[int, float] = {}
        self._due: dict[int, float] = {}
        """When a device whose change was held back is to be offered again."""

    def offer(self, device: DeviceRecord, now: float, *, signal_only: bool) -> DeviceRecord | None:
        """The record to publish now; None if there is none. `signal_only`: nothing else has changed."""
        shown = self._shown.get(device.id)
        percent = self._step(device.signal_strength, shown)
        self._due.pop(device.id, None)
        if percent != shown:
            next_s = self._shown_at.get(device.id, -PERIOD_S) + PERIOD_S
            if signal_only and now < next_s:
                self._due[device.id] = next_s
                return None
            self._shown[device.id], self._shown_at[device.id] = percent, now
        elif signal_only:
            return None
        return replace(device, signal_strength=percent)

    def due(self, now: float) -> list[int]:
        """The devices to offer again."""
        return [device_id for device_id, due in self._due.items() if due <= now]

    def next_due(self) -> float | None:
        """When the next device is to be offered again; None if there is none."""
        return min(self._due.values(), default=None)

    def forget(self, device_id: int) -> None:
        """The device was removed."""
        for kept in (self._shown, self._shown_at, self._due):
            kept.pop(device_id, None)

    def clear(self) -> None:
        """Forget all devices."""
        for kept in (self._shown, self._shown_at, self._due):
            kept.clear()

    @staticmethod
    def _step(percent: int | None, shown: int | None) -> int | None:
        if percent is None or (shown is not None and abs(percent - shown) < SIGNAL_STEP):
            return None if percent is None else shown
        return (percent + SIGNAL_STEP // 2) // SIGNAL_STEP * SIGNAL_STEP
