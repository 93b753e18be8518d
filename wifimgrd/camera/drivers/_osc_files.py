"""Which files a recording has made on a camera that speaks Open Spherical Camera.

`fileUrls` in the answer to `camera.stopCapture`, and what `camera.listFiles` has of a video:
https://github.com/ricohapi/theta-api-specs (theta-web-api-v2.1/commands),
https://developers.google.com/streetview/open-spherical-camera/reference/camera/listfiles. The time of a file
is that of its creation or of its last change, so it is between the begin and the end of its recording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wifimgrd.camera.drivers._values import seconds, space, written_time
from wifimgrd.camera.drivers.past_recording import PastRecording, is_future
from wifimgrd.camera.drivers.protocol import unfinished
from wifimgrd.domain.recorded_files import MOST_FILES, recorded_files
from wifimgrd.domain.recordings import RecordedFile

_ENTRIES: Final = 8
LATEST_VIDEOS: Final[Mapping[str, object]] = {
    "fileType": "video",
    "entryCount": _ENTRIES,
    "maxThumbSize": 0,
}
"""The parameters for the newest videos, the newest first."""
_PATH: Final = re.compile(r"https?://[^/\s]{1,64}/(?:files/)?([^?#]{0,254}[^?#/])")
_ZONED: Final = re.compile(r".{10,}[+-][0-9]{2}:[0-9]{2}")


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The files that a camera has named when it was told to stop."""

    at_us: int = 0
    """When, by this host's clock."""
    paths: tuple[str, ...] = ()

    @classmethod
    def in_results(cls, results: Mapping[str, Any], at_us: int) -> NamedFiles:
        """Those in the results of the command; none unless each is one."""
        urls = results.get("fileUrls")
        paths = [_path(url) for url in urls[: MOST_FILES + 1]] if isinstance(urls, list) else []
        return cls(at_us, tuple(paths) if all(paths) else ())

    def are_of(self, recording: PastRecording) -> bool:
        """Whether the recording is the one that was ended so."""
        return bool(self.paths) and recording.ended_at(self.at_us)


@dataclass(frozen=True, slots=True)
class _Video:
    path: str
    changed_us: int
    """By this host's clock."""
    lasts_s: int | None
    size: int | None
    is_finished: bool


def named_files(results: Mapping[str, Any], named: NamedFiles) -> tuple[RecordedFile, ...] | None:
    """The files that the camera has named, with their sizes from the list of the newest videos."""
    sizes = {_path(entry.get("fileUrl")): space(entry.get("size")) for entry in _entries(results)}
    return recorded_files([(path, sizes.get(path)) for path in named.paths])


def file_in(
    results: Mapping[str, Any], recording: PastRecording, offset_us: int, now_us: int
) -> tuple[RecordedFile, ...] | None:
    """The file of a recording among the newest videos: the only one of its time that lasts as long.
    `offset_us` is the camera's clock minus this host's. Raises CameraBusy if no file is as new as the
    recording, or its file is not finished."""
    videos = list(_videos(results, offset_us))
    if any(is_future(video.changed_us, now_us) for video in videos):
        return None
    found = [video for video in videos if recording.touched_at(video.changed_us)]
    if not found and not any(video.changed_us > recording.ended_us for video in videos):
        raise unfinished()
    if len(found) != 1 or not recording.lasted(found[0].lasts_s):
        return None
    if not found[0].is_finished:
        raise unfinished()
    return recorded_files([(found[0].path, found[0].size)])


def _videos(results: Mapping[str, Any], offset_us: int) -> Iterator[_Video]:
    for entry in _entries(results):
        path, told = _path(entry.get("fileUrl")), entry.get("dateTimeZone")
        said_us = written_time(told, 0) if isinstance(told, str) and _ZONED.fullmatch(told) else None
        if path and said_us is not None:
            lasts_s, is_finished = seconds(entry.get("_recordTime")), entry.get("isProcessed") is not False
            yield _Video(path, said_us - offset_us, lasts_s, space(entry.get("size")), is_finished)


def _entries(results: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    told = results.get("entries")
    entries = told[:_ENTRIES] if isinstance(told, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def _path(url: object) -> str:
    """The path of a file below the camera's `/files/`; empty if it is not the address of one."""
    found = _PATH.fullmatch(url) if isinstance(url, str) else None
    return "" if found is None else found[1]
