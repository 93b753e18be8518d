"""The cameras as MAVLink components: which one is which, and what stations are shown of it.

A component's id stays with a device while that is registered. Unknown values are as common.xml has them: NaN
for lengths, sizes, zoom and focus; 0 for versions, resolutions and recording times; unknown storage has the
status NOT_SUPPORTED.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.domain.camera import StorageState
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.device_names import members_of, unknown_of
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.mavlink import _frames as wire
from wifimgrd.runtime.durable_files import replace

COMPONENTS: Final = range(100, 106)
"""MAV_COMP_ID_CAMERA to MAV_COMP_ID_CAMERA6."""
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

_log = structlog.get_logger("wifimgrd.mavlink")


Wanted = tuple[list[int], list[int | str]]


def wanted(devices: Mapping[int, DeviceRecord], listed: Sequence[int | str]) -> Wanted:
    """The cameras that have a driver, in the order of their ids: all of them, or those that are `listed`. And
    the names and ids that belong to no camera."""
    names = {one: device.name for one, device in devices.items() if device.camera is not None}
    return sorted(members_of(listed, names) if listed else names), list(unknown_of(listed, names))


def assigned(kept: Mapping[int, int], registered: Collection[int], wanted: Sequence[int]) -> dict[int, int]:
    """The devices by their components: what was kept of those that are registered, and each device that is
    `wanted` and finds one. Where none is free, one of a device that is not wanted becomes free; of two wanted
    devices the one that has a component keeps it, the other waits."""
    found = {one: device for one, device in kept.items() if device in registered}
    for device in wanted:
        if device not in found.values():
            possible = [one for one in COMPONENTS if found.get(one) not in wanted]
            found |= dict.fromkeys(sorted(possible, key=found.__contains__)[:1], device)
    return found


class Memory:
    """The devices by their components on disk, and the timestamp of the signatures."""

    def __init__(self, folder: str | None) -> None:
        """None = nothing is kept."""
        self._file = None if folder is None else Path(folder, "components.json")
        self.components: dict[int, int] = {}
        self.last_signed = 0
        """The last timestamp of a signature, or up to a minute earlier."""
        try:
            kept = {} if self._file is None else json.loads(self._file.read_text("utf-8"))
            pairs = {int(one): int(device) for one, device in kept.get("components", {}).items()}
            by_device = {device: one for one, device in pairs.items() if one in COMPONENTS}
            self.components = {one: device for device, one in by_device.items()}
            self.last_signed = min(max(0, int(kept.get("last_signed", 0))), wire.LARGEST)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            _log.warning("components_unreadable", reason=str(error))
        self._on_disk = ""

    def write(self, components: Mapping[int, int], last_signed: int) -> None:
        """Keep them; what is on disk is either the old value or the new one."""
        self.components, self.last_signed = dict(components), last_signed
        content = json.dumps({"components": self.components, "last_signed": last_signed})
        if self._file is None or content == self._on_disk:
            return
        try:
            replace(self._file, content.encode())
            self._on_disk = content
        except OSError as error:  # it is tried again with the next change
            _log.error("components_not_kept", reason=str(error))


def heartbeat(device: DeviceRecord) -> wire.Values:
    """A camera's heartbeat; of one that is not connected, and while the hub is away, it is in standby."""
    return {**_CAMERA, "system_status": _ACTIVE if device.is_connected else _STANDBY}


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
