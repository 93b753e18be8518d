"""Open GoPro over HTTP, HERO9 and newer: https://gopro.github.io/OpenGoPro/http (version 2.0), which says of
each request and status which models have it."""

from __future__ import annotations

from typing import Final

from wifimgrd.camera.drivers import _gopro_files as files
from wifimgrd.camera.drivers._gopro_http import HttpGoPro
from wifimgrd.camera.drivers._values import json_object, local, text, written_time, zone_s
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import (
    MICROSECONDS,
    Answer,
    Conversation,
    HostTime,
    Request,
)
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.domain.errors import CameraRefused, NotSupported, WifimgrdError
from wifimgrd.domain.recordings import RecordedFile

_OK: Final = 200
_NOT_FOUND: Final = 404
_ONE_CHAPTER_US: Final = 60 * MICROSECONDS
"""A shorter recording has one chapter: these have some 4 GB."""
_OVER_BLUETOOTH: Final = "a HERO9 starts and stops only over Bluetooth: pair it with this hub"


class GoProDriver(HttpGoPro):
    """Speaks Open GoPro."""

    busy_codes = (409, 429, 503)
    # HERO12 and newer have the first; one owner's HERO9 has the second, from before Open GoPro.
    identity_at = ("/gopro/camera/info", "/gp/gpControl/info")
    state_at = "/gopro/camera/state"
    media_list_at = "/gopro/media/list"

    def __init__(self) -> None:
        super().__init__()
        self._has_zone = True
        """Its clock has a time zone, and can be read: not so on HERO9 and HERO10."""
        self._tells_last = True
        """It says which file is its newest one: HERO12 and newer."""
        self._was_other = False
        """That was one of another recording when it was asked last."""

    # -- commands

    def _set_group(self, group: int) -> Request:
        return self._get(f"/gopro/camera/presets/set_group?id={group}")

    def _claim(self) -> Request:
        return self._get("/gopro/camera/control/set_ui_controller?p=2")

    def command(self, *, on: bool) -> Request:
        """Press the shutter, or release it."""
        return self._get(f"/gopro/camera/shutter/{'start' if on else 'stop'}")

    def refused(self, answer: Answer, *, on: bool) -> WifimgrdError | None:
        """A model without that request is one whose shutter is not told over its network."""
        if answer.code == _NOT_FOUND:
            return NotSupported(_OVER_BLUETOOTH)
        return super().refused(answer, on=on)

    # -- clock

    def ask_clock(self, offset_s: int) -> Conversation[tuple[int, Answer] | None]:
        """It says its own time zone, or none: then it is this host's. The zone includes summer time."""
        answer = yield self._get("/gopro/camera/get_date_time")
        self._has_zone = answer.code == _OK
        if not self._has_zone:
            return None
        found = json_object(answer.body)
        written = f"{text(found.get('date'))} {text(found.get('time'))}"
        said_us = written_time(written, zone_s(found.get("tzone"), offset_s))
        return None if said_us is None else (said_us, answer)

    def set_clock(self, host: HostTime) -> Conversation[None]:
        """Set the local time at the beginning of a second."""
        yield host.until_second
        now = local(host.next_second_us, host.offset_s)
        values = {"date": now.strftime("%Y_%m_%d"), "time": now.strftime("%H_%M_%S")}
        if self._has_zone:
            values |= {"tzone": str(host.offset_s // 60), "dst": str(int(host.is_dst))}
        query = "&".join(f"{name}={value}" for name, value in values.items())
        answer = yield self._get(f"/gopro/camera/set_date_time?{query}")
        if answer.code != _OK:
            raise CameraRefused(f"the camera does not take the time (HTTP {answer.code})")
        self._shift_us = host.offset_s * MICROSECONDS

    # -- files

    def _shift(self) -> Conversation[int | None]:
        """Read its clock where that can be read: somebody may have set it, or its zone."""
        answer = yield self._get("/gopro/camera/get_date_time")
        if answer.code != _OK:
            return self._shift_us
        found = json_object(answer.body)
        shown_us = written_time(f"{text(found.get('date'))} {text(found.get('time'))}", 0)
        return None if shown_us is None else shown_us - answer.moment_us

    def _find_files(
        self, recording: PastRecording, shift_us: int
    ) -> Conversation[tuple[RecordedFile, ...] | None]:
        """Of a short recording, the newest file. Where that is another one, as a photo that was taken since,
        and where there may be several chapters, those of the list, which is long on a full card."""
        is_asked_again, self._was_other = self._was_other, False
        if recording.length_us < _ONE_CHAPTER_US and self._tells_last and not is_asked_again:
            answer = yield self._get("/gopro/media/last_captured")
            self._tells_last = answer.code != _NOT_FOUND
            found = json_object(answer.body) if answer.code == _OK else {}
            if path := files.only_chapter(found.get("folder"), found.get("file")):
                answer = yield self._get(f"/gopro/media/info?path={path}")
                info = json_object(answer.body) if answer.code == _OK else {}
                self._was_other = True  # unless this shows that it is not
                found_files = files.the_file(path, info, recording, shift_us)
                self._was_other = False
                return found_files
        return (yield from super()._find_files(recording, shift_us))


class Hero9Driver(GoProDriver):
    """A HERO9 says what it does, and has no request for the shutter."""

    def prepare(self, *, on: bool) -> Conversation[bool]:
        """Read its state; raises NotSupported unless it does already what is wanted."""
        yield from self.read()
        if self.reading.is_recording is on:
            return True
        raise NotSupported(_OVER_BLUETOOTH)


DRIVERS: Final = {CameraDriver.GOPRO: GoProDriver, CameraDriver.GOPRO_HERO9: Hero9Driver}
