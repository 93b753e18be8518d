"""GoPro HERO5 to HERO8, MAX and Fusion over HTTP, by the requests from before Open GoPro, as owners have
written them down: https://github.com/KonradIT/goprowifihack. The numbers of the statuses are Open GoPro's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from wifimgrd.camera.drivers._gopro_http import HttpGoPro
from wifimgrd.camera.drivers._values import local, whole
from wifimgrd.camera.drivers.gopro_state import Status
from wifimgrd.camera.drivers.protocol import MICROSECONDS, Conversation, HostTime, Request
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.domain.errors import CameraRefused

_COMMAND: Final = "/gp/gpControl/command"
_MODE: Final = "43"
"""The status that says it: 0 is video, 1 photos, 2 photos in series."""
_VIDEO: Final = 0
_LAST_MODE: Final = 2
_CENTURY: Final = 2000


class GpControlDriver(HttpGoPro):
    """Speaks as GoPros did before Open GoPro."""

    identity_at = ("/gp/gpControl/info",)
    state_at = "/gp/gpControl/status"
    media_list_at = "/gp/gpMediaList"

    def __init__(self) -> None:
        super().__init__()
        self._mode: int | None = None

    def _take_mode(self, told: Mapping[str, Any]) -> None:
        self._mode = whole(told.get(_MODE), _VIDEO, _LAST_MODE)

    @property
    def _is_for_photos(self) -> bool:
        return super()._is_for_photos or self._mode not in (None, _VIDEO)

    def _flag(self, status: Status) -> bool | None:
        """Status 8 says here that it works, also that it records, which is not busy."""
        is_work = status is Status.BUSY and super()._flag(Status.ENCODING)
        return False if is_work else super()._flag(status)

    # -- commands

    def _set_group(self, group: int) -> Request:
        """Video: these have no groups of presets."""
        del group
        return self._get(f"{_COMMAND}/mode?p={_VIDEO}")

    def _claim(self) -> Request | None:
        return None

    def command(self, *, on: bool) -> Request:
        """Press the shutter, or release it."""
        return self._get(f"{_COMMAND}/shutter?p={int(on)}")

    def set_clock(self, host: HostTime) -> Conversation[None]:
        """Set the local time at the beginning of a second. It cannot be read."""
        yield host.until_second
        now = local(host.next_second_us, host.offset_s)
        parts = (now.year - _CENTURY, now.month, now.day, now.hour, now.minute, now.second)
        answer = yield self._get(f"{_COMMAND}/setup/date_time?p=" + "".join(f"%{part:02x}" for part in parts))
        if answer.code != self.accepted:
            raise CameraRefused(f"the camera does not take the time (HTTP {answer.code})")
        self._shift_us = host.offset_s * MICROSECONDS


DRIVERS: Final = {CameraDriver.GOPRO_GPCONTROL: GpControlDriver}
