"""A daemon's client that does what a test tells it, and the records of its cameras."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from wifimgrd.client import changes
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.records import CameraRecord, DeviceRecord, ResultRecord
from wifimgrd.domain.rig import Everyone

Ordered = tuple[tuple[int, ...], bool, Everyone]


def device(number: int, name: str = "", *, connected: bool = True, **values: Any) -> DeviceRecord:
    """A camera with a driver; `values` of its record, or of its camera's."""
    of_camera = {key: values.pop(key) for key in list(values) if hasattr(CameraRecord(), key)}
    record = DeviceRecord(
        number,
        name or f"Camera {number}",
        "gopro-hero12",
        state="connected" if connected else "disconnected",
        expected=values.pop("expected", True),
        camera=CameraRecord(**{"recording_state": "idle" if connected else None, **of_camera}),
    )
    return replace(record, **values)


class ScriptedHub(HubClient):
    """Carries out orders after `takes_s`, with an error for those cameras that have one."""

    def __init__(self, *devices: DeviceRecord) -> None:
        super().__init__("unix:path=/nonexistent")
        self.known = {one.id: one for one in devices}
        self.is_there = True
        self.takes_s = 0.0
        self.failure: Exception | None = None
        self.errors: dict[int, tuple[str, str]] = {}
        self.orders: list[Ordered] = []

    @property
    def available(self) -> bool:
        return self.is_there

    @property
    def reason(self) -> str:
        return "" if self.is_there else "wifimgrd is not running"

    @property
    def devices(self) -> Mapping[int, DeviceRecord]:
        return self.known

    async def start(self) -> None:
        if self.is_there:
            self.tell(changes.DaemonAppeared())

    async def stop(self) -> None:
        pass

    def tell(self, change: changes.Change) -> None:
        for listener in self._listeners:
            listener(change)

    def leave(self) -> None:
        self.is_there = False
        self.tell(changes.DaemonVanished("it was stopped"))

    def come_back(self, *devices: DeviceRecord) -> None:
        self.known, self.is_there = {one.id: one for one in devices}, True
        self.tell(changes.DaemonAppeared())

    def add(self, added: DeviceRecord) -> None:
        self.known[added.id] = added
        self.tell(changes.DeviceAdded(added))

    def remove(self, number: int) -> None:
        del self.known[number]
        self.tell(changes.DeviceRemoved(number))

    def change(self, after: DeviceRecord) -> None:
        before, self.known[after.id] = self.known[after.id], after
        self.tell(changes.DeviceChanged(before, after, is_step=False))

    def set_recording(self, number: int, state: str | None, since: int | None = None) -> None:
        """What the camera says."""
        self.set_camera(number, recording_state=state, recording_since=since)

    def set_camera(self, number: int, **values: Any) -> None:
        camera = self.known[number].camera
        if camera is not None:
            self.change(replace(self.known[number], camera=replace(camera, **values)))

    async def record(
        self, device_ids: Iterable[int], *, on: bool, everyone: Everyone = Everyone.NOBODY
    ) -> list[ResultRecord]:
        ids = sorted(device_ids)
        self.orders.append((tuple(ids), on, everyone))
        if everyone is Everyone.RIG:
            ids = sorted(one.id for one in self.known.values() if one.expected)
        for number in ids:  # as the daemon: the wish comes first, while the camera still is as it was
            self.set_camera(number, recording_requested=on)
        await asyncio.sleep(self.takes_s)
        if self.failure is not None:
            raise self.failure
        rows = []
        for number in ids:
            code, message = self.errors.get(number, (None, None))
            if code is None and self.known[number].state != "connected":
                code, message = "not-connected", "the camera is disconnected"
            if code is None:
                self.set_recording(number, "recording" if on else "idle", 1 if on else None)
            rows.append(ResultRecord(device_id=number, done=code is None, code=code, message=message))
        return rows
