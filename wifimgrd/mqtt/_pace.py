"""When a record is published: most changes at once, what only counts in steps, and rarely. Of what
changes all the time the newest.

Pure: time is passed in, in seconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from wifimgrd.client.channel_messages import SIGNAL_STEP
from wifimgrd.domain.records import CameraRecord, DeviceRecord

SIGNAL_S: Final = 1.0
"""The least time between two records of a device that differ only in the signal strength."""
COUNTS_S: Final = 60.0
"""The same for bit rates and for what a camera counts: one that records has another time left every 10 s."""
DEVICE_NUMBERS: Final = ("signal_strength", "tx_bitrate", "rx_bitrate")
"""The numbers of a device that change all the time."""
CAMERA_COUNTS: Final = (
    *("battery_level", "storage_free", "recording_time_left"),
    *("clock_offset", "clock_bound", "clock_read_at", "read_at"),
)
"""The same in what its camera said."""
BURST: Final = 10
"""Messages of one record that may follow each other at once."""
AGAIN_S: Final = 1.0
"""After which time there may be one more."""


class MessageRate:
    """Limits the messages at each topic, so that no camera decides how many there are."""

    def __init__(self) -> None:
        self._paid_until: dict[str, float] = {}
        """By topic, until when the messages so far are paid for by AGAIN_S each; the one that had none for
        the longest time is the first. A topic that is removed has its count until then, too: an adapter may
        come and go."""

    def admits(self, topic: str, now: float) -> bool:
        """Whether a message may be published now; if so, it is counted."""
        if self.due(topic) > now:
            return False
        self._paid_until[topic] = max(self._paid_until.pop(topic, now), now) + AGAIN_S
        while self._paid_until[first := next(iter(self._paid_until))] <= now:
            del self._paid_until[first]
        return True

    def due(self, topic: str) -> float:
        """From when on the next message may be published."""
        return self._paid_until.get(topic, 0.0) - (BURST - 1) * AGAIN_S

    def clear(self) -> None:
        """Forget all topics."""
        self._paid_until.clear()


def is_small(before: DeviceRecord, after: DeviceRecord) -> bool:
    """Whether two records differ in nothing but signal strength, bit rates and what the camera counts."""
    return _least_s(before, after) > 0


class Pace:
    """Holds back records that came too soon after the one before."""

    def __init__(self) -> None:
        self._shown: dict[int, DeviceRecord] = {}
        """The records that were published last."""
        self._shown_at: dict[int, float] = {}
        self._due: dict[int, float] = {}
        """When a device whose change was held back is to be offered again."""

    def offer(self, device: DeviceRecord, now: float) -> DeviceRecord | None:
        """The record to publish now; None if there is none."""
        shown = self._shown.get(device.id)
        stepped = replace(device, signal_strength=_step(device, shown))
        self._due.pop(device.id, None)
        if stepped == shown:
            return None
        next_s = 0.0 if shown is None else self._shown_at[device.id] + _least_s(shown, stepped)
        if now < next_s:
            self._due[device.id] = next_s
            return None
        self._shown[device.id], self._shown_at[device.id] = stepped, now
        return stepped

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


def _least_s(before: DeviceRecord, after: DeviceRecord) -> float:
    """The least time between these two records, in this order."""
    if _without_numbers(before) != _without_numbers(after):
        return 0.0
    return SIGNAL_S if before.signal_strength != after.signal_strength else COUNTS_S


def _without_numbers(device: DeviceRecord) -> DeviceRecord:
    """The device without its numbers: a change of the rest is published at once, and so is whether a number
    is known."""
    camera = device.camera
    return replace(
        device,
        **_known(device, DEVICE_NUMBERS),
        camera=None if camera is None else replace(camera, **_known(camera, CAMERA_COUNTS)),
    )


def _known(record: DeviceRecord | CameraRecord, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: None if getattr(record, name) is None else 0 for name in names}


def _step(device: DeviceRecord, shown: DeviceRecord | None) -> int | None:
    """The signal strength to publish: another one only if it differs by a step."""
    percent, before = device.signal_strength, None if shown is None else shown.signal_strength
    if percent is None:
        return None
    if before is not None and abs(percent - before) < SIGNAL_STEP:
        return before
    return (percent + SIGNAL_STEP // 2) // SIGNAL_STEP * SIGNAL_STEP
