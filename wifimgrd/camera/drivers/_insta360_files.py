"""Which files a recording has made on an Insta360, in its own messages.

The camera names one file in its answer to STOP, and when it stops by itself: `Video` and `GetFileListResp` of
https://pypi.org/project/lib-one-proto/, which https://pypi.org/project/insta360/ speaks with. Of some modes
each lens has a file of its own, `VID_20180106_172302_00_005.mp4` and `VID_20180106_172302_10_005.mp4` in
https://github.com/Insta360Develop/Insta360_OSC; an X3 has one file but in HDR and TimeShift:
https://github.com/nerfstudio-project/nerfstudio/issues/1019.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd.camera.drivers import _protobuf as protobuf
from wifimgrd.camera.drivers._protobuf import Fields
from wifimgrd.camera.drivers._values import seconds, space
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import Conversation, Request
from wifimgrd.domain.recorded_files import recorded_files
from wifimgrd.domain.recordings import RecordedFile

_OK: Final = 200
_VIDEOS_AND_PHOTOS: Final = 2
_LISTED: Final = 500
"""Files that are asked for at a time; an X4 lists 100."""
_LISTS: Final = 3
_NAME: Final = re.compile(r"(/?[ -~]{1,200}_[0-9]{8}_[0-9]{6})_([0-9]{2})_([0-9]{3,6})\.(?:insv|mp4)")
"""Up to its time, the lens, and the number of the recording."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """The file that a camera has named when it has stopped."""

    at_us: int = 0
    """When, by this host's clock."""
    path: str = ""
    size: int | None = None
    lasts_s: int | None = None

    @classmethod
    def of(cls, video: Fields, at_us: int) -> NamedFile:
        """The one in a `Video`."""
        path = video.content(1).decode("utf-8", "replace")
        return cls(at_us, path, space(video.number(2)) or None, seconds(video.number(3)))

    def is_of(self, recording: PastRecording) -> bool:
        """Whether it has all of the recording: a long one is in several files, of which this is the last."""
        is_name = _NAME.fullmatch(self.path) is not None
        return is_name and recording.ended_at(self.at_us) and recording.lasted(self.lasts_s)


def find(
    named: NamedFile, request: Callable[[bytes], Request]
) -> Conversation[tuple[RecordedFile, ...] | None]:
    """The file that was named, and those of the other lens among all files of the camera; `request` makes the
    request for a list. None if the camera does not list them all in three answers."""
    listed: list[bytes] = []
    for _ in range(_LISTS):
        wanted = protobuf.number(2, len(listed)) + protobuf.number(3, _LISTED)
        answer = yield request(protobuf.number(1, _VIDEOS_AND_PHOTOS) + wanted)
        found = Fields(answer.body if answer.code == _OK else b"")
        listed += found.contents(1)
        if found.has(2) and len(listed) == found.number(2):
            return _files_among(listed, named)
    return None


def _files_among(listed: Sequence[bytes], named: NamedFile) -> tuple[RecordedFile, ...] | None:
    wanted = _recording_of(named.path)
    paths = {path for one in listed if _recording_of(path := one.decode("utf-8", "replace")) == wanted}
    if named.path not in paths:
        return None
    return recorded_files([(path, named.size if path == named.path else None) for path in sorted(paths)])


def _recording_of(path: str) -> tuple[str, str] | None:
    """The parts of a name that all files of a recording share."""
    found = _NAME.fullmatch(path)
    return None if found is None else (found[1], found[3])
