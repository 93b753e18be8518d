"""A device as the messages of a MAVLink camera.

Unknown values are as common.xml has them: NaN for lengths, sizes, zoom and focus; 0 for versions, resolutions
and recording times; storage of which nothing is known has the status NOT_SUPPORTED.
"""

from __future__ import annotations

import math
import re
from typing import Final

from wifimgrd.domain.camera import StorageState
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.mavlink import _frames as wire

_CAMERA: Final = {"type": 30, "autopilot": 8, "mavlink_version": 3}
_STANDBY, _ACTIVE = 3, 4
_CAPTURES_VIDEO: Final = 1
_VIDEO: Final = 1
_NAME_SIZE: Final = 31
"""Bytes of a name, which a zero follows."""
_MIB: Final = 1 << 20
_EMPTY, _READY, _NOT_SUPPORTED = 0, 2, 3
"""STORAGE_STATUS: no card, usable, not told."""
_LONGEST_MS: Final = 2**32 - 1


def heartbeat(device: DeviceRecord | None) -> wire.Values:
    """A camera's heartbeat; of one that is not connected, and while the hub is away, it is in standby."""
    is_connected = device is not None and device.state == DeviceState.CONNECTED
    return {**_CAMERA, "system_status": _ACTIVE if is_connected else _STANDBY}


def camera_message(message: wire.Message, device: DeviceRecord, now_us: int) -> wire.Values:
    """The values of a message but for its time; `now_us` since the epoch."""
    camera = device.camera or CameraRecord()
    if message is wire.CAMERA_INFORMATION:
        return {
            **dict.fromkeys(("focal_length", "sensor_size_h", "sensor_size_v"), math.nan),
            "firmware_version": _firmware(camera.firmware_version or ""),
            "flags": _CAPTURES_VIDEO,
            "vendor_name": wire.text(camera.model or device.codename, _NAME_SIZE),
            "model_name": wire.text(device.name, _NAME_SIZE),  # the label in stations, which have no other
        }
    if message is wire.CAMERA_SETTINGS:
        return {"mode_id": _VIDEO, "zoomLevel": math.nan, "focusLevel": math.nan}
    if message is wire.STORAGE_INFORMATION:
        return {"storage_id": 1, "storage_count": 1, **_storage(camera)}
    since_us, is_on, lasted_ms = camera.recording_since, is_recording(device), 0
    if is_on and since_us is not None:
        lasted_ms = min(max(1, (now_us - since_us) // 1000), _LONGEST_MS)
    free_mib = (camera.storage_free or 0) / _MIB
    return {"recording_time_ms": lasted_ms, "available_capacity": free_mib, "video_status": int(is_on)}


def _storage(camera: CameraRecord) -> wire.Values:
    total, free = camera.storage_total, camera.storage_free
    if camera.storage_state == StorageState.MISSING:
        return {"status": _EMPTY}
    if camera.storage_state == StorageState.ERROR or total is None or free is None:
        return {"status": _NOT_SUPPORTED}
    sizes = {"total": total, "used": max(0, total - free), "available": free}
    return {"status": _READY} | {f"{name}_capacity": size / _MIB for name, size in sizes.items()}


def _firmware(version: str) -> int:
    """The first four numbers of a version, the major one in the lowest byte; 0 if they do not fit."""
    numbers = [int(one) for one in re.findall(r"[0-9]{1,9}", version)[:4]]
    return int.from_bytes(bytes(numbers), "little") if numbers and max(numbers) <= 0xFF else 0
