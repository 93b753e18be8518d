"""Videos of emulated cameras are downloaded where their makers say that they are."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.simulator.emulators.served import ServedCamera, http, served
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators._camera import BYTES_PER_S, CameraSettings

LISTED: Final = {
    "name": "camera.listFiles",
    "parameters": {"fileType": "video", "entryCount": 9, "maxThumbSize": 0},
}


async def files_of_gopro(one: ServedCamera, route: str) -> list[tuple[int, str, int]]:
    """The port, the path and the size of each file that the camera lists."""
    _, told = await http(await one.connect(8080), "GET", route)
    return [
        (8080, f"/videos/DCIM/{folder['d']}/{file['n']}", int(file["s"]))
        for folder in told["media"]
        for file in folder["fs"]
    ]


async def files_of_osc(one: ServedCamera) -> list[tuple[int, str, int]]:
    streams = await one.connect(80)
    _, told = await http(streams, "POST", "/osc/commands/execute", LISTED, X_XSRF_Protected="1")
    found = told["results"]["entries"]
    return [(80, urlsplit(entry["fileUrl"]).path, entry["size"]) for entry in found]


LISTS: Final = {
    CameraDriver.GOPRO: lambda one: files_of_gopro(one, "/gopro/media/list"),
    CameraDriver.GOPRO_GPCONTROL: lambda one: files_of_gopro(one, "/gp/gpMediaList"),
    CameraDriver.OSC: files_of_osc,
    CameraDriver.INSTA360: files_of_osc,
}


async def download(one: ServedCamera, port: int, path: str) -> tuple[str, bytes]:
    """The head of an answer, and what comes behind it."""
    reader, writer = await one.connect(port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: camera\r\n\r\n".encode())
    async with asyncio.timeout(10):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        return head, await reader.readexactly(length)


def record(one: ServedCamera, seconds: float) -> None:
    one.camera.start()
    one.clock.passed_s += seconds
    one.camera.stop()


@pytest.mark.parametrize("driver", LISTS)
async def test_each_listed_video_is_downloaded_whole(driver: CameraDriver) -> None:
    async with served(driver) as one:
        record(one, 1)
        record(one, 0.5)
        files = await LISTS[driver](one)
        assert sorted(size for _, _, size in files) == [BYTES_PER_S // 2, BYTES_PER_S]
        for port, path, size in files:
            head, content = await download(one, port, path)
            assert head.startswith("http/1.1 200 ")
            assert "content-type: video/mp4\r\n" in head
            assert (len(content), content[4:8]) == (size, b"ftyp")


@pytest.mark.parametrize("seconds", [0, 0.000_002, 0.000_003_2])
async def test_a_video_that_is_shorter_than_its_beginning(seconds: float) -> None:
    async with served(CameraDriver.GOPRO) as one:
        record(one, seconds)
        [(port, path, size)] = await LISTS[CameraDriver.GOPRO](one)
        assert len((await download(one, port, path))[1]) == size < 42


@pytest.mark.parametrize(
    ("driver", "path"),
    [
        (CameraDriver.GOPRO, "/videos/DCIM/100GOPRO/GX010002.MP4"),
        (CameraDriver.GOPRO, "/videos/DCIM/101GOPRO/GX010001.MP4"),
        (CameraDriver.OSC, "/files/100RICOH/R0010002.MP4"),
        (CameraDriver.INSTA360, "/files/100RICOH/R0010001.MP4"),
    ],
)
async def test_a_video_that_is_not_on_the_card(driver: CameraDriver, path: str) -> None:
    async with served(driver, CameraSettings()) as one:
        record(one, 1)
        port = 8080 if driver is CameraDriver.GOPRO else 80
        assert (await http(await one.connect(port), "GET", path))[0] == 404
