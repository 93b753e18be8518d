"""The files on the card of an emulated GoPro, as it tells them: https://gopro.github.io/OpenGoPro/http#tag/Media.
Files are downloaded at `/videos/DCIM/`: https://github.com/KonradIT/goprowifihack, HERO7/Mediabrowsing.md.
Long videos are in chapters of 4 GB; the times are local, as if they were UTC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from wifimgrd.simulator.emulators._camera import BYTES_PER_S, EmulatedCamera, Ended
from wifimgrd.simulator.emulators._http import Video

DOWNLOADS: Final = "/videos/DCIM/"
"""Where files are downloaded."""
_FOLDER: Final = "100GOPRO"
_CHAPTER_BYTES: Final = 4_000_000_000
_OF_VIDEOS: Final[Mapping[str, object]] = {
    "ct": "0", "us": "0", "eis": "0", "pta": "0", "ao": "auto", "tr": "0", "mp": "0", "cl": "0", "hc": "0",
    "hi": [], "w": "1920", "h": "1080", "fps": "60000", "fps_denom": "1001", "profile": "255",
    "avc_profile": "255", "subsample": "0", "rot": "0", "mahs": "0",
}  # fmt: skip
"""The information about each video, but for its own time, size and length."""


def media_list(camera: EmulatedCamera) -> Mapping[str, object]:
    """All files, the oldest first."""
    files = [item for file in camera.files for item in _chapters(camera, file)]
    media = [{"d": _FOLDER, "fs": files}] if files else []
    return {"id": camera.settings.serial_number, "media": media}


def last_captured(camera: EmulatedCamera) -> Mapping[str, str]:
    """The newest file; empty if there is none."""
    if (last := camera.last_ended) is None:
        return {}
    *_, newest = _chapters(camera, last)
    return {"file": newest["n"], "folder": _FOLDER}


def information(camera: EmulatedCamera, path: str) -> Mapping[str, object]:
    """The information about a file; empty if it is not on the card."""
    for file in camera.files:
        for item in _chapters(camera, file):
            if path == f"{_FOLDER}/{item['n']}":
                told = {name: item[name] for name in ("cre", "s", "ls")}
                lasts = str(int(int(item["s"]) / BYTES_PER_S))
                return {**_OF_VIDEOS, **told, "dur": lasts, "gumi": f"{file.number:032x}"}
    return {}


def video(camera: EmulatedCamera, path: str) -> Video | None:
    """A file by the path at which it is downloaded; None if it is not on the card."""
    for file in camera.files:
        for item in _chapters(camera, file):
            if path == f"{DOWNLOADS}{_FOLDER}/{item['n']}":
                return Video(int(item["s"]))
    return None


def _chapters(camera: EmulatedCamera, file: Ended) -> Iterator[Mapping[str, str]]:
    """Each chapter of a recording, as the list has it."""
    sizes = [_CHAPTER_BYTES] * (file.size // _CHAPTER_BYTES) + [file.size % _CHAPTER_BYTES]
    for index, size in enumerate(sizes):
        began_s = file.began_s + index * _CHAPTER_BYTES / BYTES_PER_S
        created = str(int(began_s + camera.zone_min * 60))
        yield {
            "n": f"GX{index + 1:02}{file.number % 10_000:04}.MP4",
            "cre": created,
            "mod": created,
            "glrv": "0",
            "ls": "-1",
            "s": str(size),
        }
