"""Which files of a GoPro's media list a recording has made.

The list, and the names of chapters (`G`, a letter, the chapter, the number of the recording, as in
`GX020123.MP4`): https://gopro.github.io/OpenGoPro/http#tag/Media. Those of HERO5 and older (`GOPR0123.MP4`,
then `GP010123.MP4`), and of videos in a loop (`GXAA0001.MP4`, `GXAA0002.MP4`), as GoPro's help has them:
https://community.gopro.com/s/article/GoPro-Camera-File-Naming-Convention. That `cre` is the local time as if
it were UTC is one owner's observation: https://github.com/KonradIT/goprowifihack/issues/261. A further
chapter has a later one: https://github.com/gopro/OpenGoPro/issues/887.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wifimgrd.camera.drivers.past_recording import PastRecording, is_future
from wifimgrd.camera.drivers.protocol import MICROSECONDS, unfinished
from wifimgrd.domain.recorded_files import recorded_files
from wifimgrd.domain.recordings import RecordedFile

LIST_BYTES: Final = 512 * 1024
"""The largest list: some 5,000 files."""
_FOLDER: Final = re.compile(r"[0-9]{3}[A-Z0-9_]{5}")
_NUMBERED: Final = re.compile(r"G([A-Z])([0-9]{2})([0-9]{4})\.(?:MP4|360|36P)")
_OLDER: Final = re.compile(r"GOPR([0-9]{4})\.MP4")
_LOOPED: Final = re.compile(r"G([A-Z])([A-Z]{2})([0-9]{4})\.(?:MP4|360|36P)")
_CHAPTER_OF_OLDER: Final = "P"
"""The letter of their further chapters, which are counted from 1 anew."""
_NUMBER: Final = re.compile(r"[0-9]{1,16}")


@dataclass(frozen=True, slots=True)
class _Video:
    """A video that the camera lists."""

    path: str
    recording: str
    """The part of its name that all chapters of its recording share."""
    chapter: int
    """Of videos in a loop the number: their first ones are overwritten."""
    is_looped: bool
    created_us: int
    """By this host's clock."""
    size: int | None

    @property
    def is_first(self) -> bool:
        """Whether it is the first chapter."""
        return not self.is_looped and self.chapter == 1


def only_chapter(folder: object, name: object) -> str:
    """The path of a file, if that is a video which may be the only chapter of its recording; else empty."""
    parsed = _parse(name)
    is_first = parsed is not None and parsed[1:] == (1, False)
    return f"{folder}/{name}" if is_first and _is_folder(folder) else ""


def the_file(
    path: str, info: Mapping[str, Any], recording: PastRecording, shift_us: int
) -> tuple[RecordedFile, ...] | None:
    """The one file of a short recording, by the information about the newest one; `shift_us` is the local
    time that the camera shows minus this host's clock. Raises CameraBusy if it is that of another one."""
    created_us = _created(info, shift_us)
    if created_us is None:
        return None
    if not recording.began_at(created_us):
        raise unfinished()
    return recorded_files([(path, _whole(info.get("s")))])


def files_in(
    media_list: Mapping[str, Any], recording: PastRecording, shift_us: int, now_us: int
) -> tuple[RecordedFile, ...] | None:
    """All chapters of a recording in a media list. None if it is not certain which these are; raises
    CameraBusy if no file is as new as the recording."""
    newest_us = max(_moments(media_list, shift_us), default=0)
    if is_future(newest_us, now_us):
        return None
    videos = [video for video in _videos(media_list, shift_us) if recording.ran_at(video.created_us)]
    if not videos and not recording.is_before(newest_us):
        raise unfinished()
    first = [video for video in videos if video.is_first and recording.began_at(video.created_us)]
    chosen = first or [video for video in videos if video.is_looped]
    if len({video.recording for video in chosen}) != 1 or len(first) > 1:
        return None
    found = sorted(
        (video for video in videos if video.recording == chosen[0].recording),
        key=lambda video: video.chapter,
    )
    begins_at = found[0].chapter if found[0].is_looped else 1
    if [video.chapter for video in found] != list(range(begins_at, begins_at + len(found))):
        return None  # some were deleted, or are not of it
    return recorded_files([(video.path, video.size) for video in found])


def _videos(media_list: Mapping[str, Any], shift_us: int) -> Iterator[_Video]:
    for folder, item in _items(media_list):
        parsed, created_us = _parse(item.get("n")), _created(item, shift_us)
        if parsed is not None and created_us is not None and _is_folder(folder):
            path = f"{folder}/{item['n']}"
            yield _Video(path, *parsed, created_us, _whole(item.get("s")))


def _moments(media_list: Mapping[str, Any], shift_us: int) -> Iterator[int]:
    """When the files were created, photos among them."""
    for _, item in _items(media_list):
        if (created_us := _created(item, shift_us)) is not None:
            yield created_us


def _items(media_list: Mapping[str, Any]) -> Iterator[tuple[object, Mapping[str, Any]]]:
    """Each file, with its folder."""
    for folder in _list(media_list.get("media")):
        if isinstance(folder, dict):
            for item in _list(folder.get("fs")):
                if isinstance(item, dict):
                    yield folder.get("d"), item


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _is_folder(folder: object) -> bool:
    return isinstance(folder, str) and _FOLDER.fullmatch(folder) is not None


def _parse(name: object) -> tuple[str, int, bool] | None:
    """The recording, the chapter, and whether it is one of a loop, by the name of a video."""
    if not isinstance(name, str):
        return None
    if (found := _OLDER.fullmatch(name)) is not None:
        return _CHAPTER_OF_OLDER + found[1], 1, False
    if (found := _NUMBERED.fullmatch(name)) is not None:
        is_older = found[1] == _CHAPTER_OF_OLDER
        return found[1] + found[3], int(found[2]) + is_older, False
    if (found := _LOOPED.fullmatch(name)) is not None:
        return found[1] + found[2], int(found[3]), True
    return None


def _created(item: Mapping[str, Any], shift_us: int) -> int | None:
    """When a file was created, by this host's clock. Both clocks tell whole seconds, cut off."""
    told_s = _whole(item.get("cre"))
    return None if told_s is None else told_s * MICROSECONDS - shift_us


def _whole(value: object) -> int | None:
    """A number, which GoPros tell as a text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < 10**16 else None
    return int(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None
