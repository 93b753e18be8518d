"""The short way to a part of an archive says what the application says."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.http.fake_hub import FakeHub, changed
from tests.http.served import Answer, Served
from tests.http.tiles.map.conftest import MAP
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles.map import fast_ranges
from wifimgrd.http.tiles.map.fast_ranges import FastRanges

TILES = MAP + "/tiles/"
LONG_WAY = {"If-None-Match": '"another"'}
"""A header that the short way leaves to the application."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel gives up a search in memory while another process renames files, which is then an answer by
    the application."""
    monkeypatch.setattr(fast_ranges, "RESOLVE_CACHED", 0)


@pytest.fixture
def answered() -> Iterator[list[bool]]:
    """Of each request, whether it went the short way."""
    went: list[bool] = []
    send = FastRanges.send

    def seen(self: FastRanges, *values: object) -> bool:
        went.append(send(self, *values))  # type: ignore[arg-type]
        return went[-1]

    with patch.object(FastRanges, "send", seen):
        yield went


def is_open(path: Path) -> bool:
    """Whether this process has a file open."""
    links = (Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - names
    return any(link.samefile(path) for link in links if link.exists())


def compared(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    return answer.status, {k: v for k, v in answer.headers.items() if k != "Date"}, answer.data


@pytest.mark.parametrize("said", ["bytes=0-0", "bytes=10-400", "bytes=0-16383"])
@pytest.mark.parametrize(
    "origin", [{}, {"Origin": "https://map.example"}, {"Origin": "https://evil.example"}]
)
async def test_both_ways_say_the_same(
    served: Served, answered: list[bool], said: str, origin: dict[str, str]
) -> None:
    short = await served.get(TILES, headers={"Range": said, **origin})
    long = await served.get(TILES, headers={"Range": said, **origin, **LONG_WAY})
    assert answered == [True, False]
    assert compared(short) == compared(long)


@pytest.mark.parametrize(
    "said", ["bytes=5-", "bytes=-5", "bytes=0-1,3-4", "bytes=9999999-99999999", "bytes=7-6"]
)
async def test_other_ranges_are_the_applications(served: Served, answered: list[bool], said: str) -> None:
    assert (await served.get(TILES, headers={"Range": said})).status in {206, 416}
    assert answered == [False]


async def test_a_file_that_takes_the_place_is_sent_at_once(
    served: Served, folder: Path, answered: list[bool]
) -> None:
    before = await served.get(TILES, headers={"Range": "bytes=0-6"})
    (folder / "new").write_bytes(b"another one")
    (folder / "new").replace(folder / "world.pmtiles")
    after = await served.get(TILES, headers={"Range": "bytes=0-6"})
    assert answered == [True, True]
    assert (before.data, after.data) == (b"PMTiles", b"another")
    assert before.headers["ETag"] != after.headers["ETag"]


async def test_a_file_that_is_written_is_sent_as_it_is_now(
    served: Served, folder: Path, answered: list[bool]
) -> None:
    before = await served.get(TILES, headers={"Range": "bytes=0-6"})
    (folder / "world.pmtiles").write_bytes(b"shorter")
    after = await served.get(TILES, headers={"Range": "bytes=0-600"})
    assert answered == [True, True]
    assert (after.data, after.headers["Content-Range"]) == (b"shorter", "bytes 0-6/7")
    assert before.headers["ETag"] != after.headers["ETag"]


async def test_a_file_that_is_removed_is_sent_no_more(
    served: Served, folder: Path, answered: list[bool]
) -> None:
    assert (await served.get(TILES, headers={"Range": "bytes=0-6"})).status == 206
    (folder / "world.pmtiles").rename(folder / "away")
    assert (await served.get(TILES, headers={"Range": "bytes=0-6"})).status == 404
    assert answered == [True, False]


async def test_an_archive_in_a_folder_that_is_replaced_is_sent_soon(
    fake_hub: FakeHub, settings: Settings, folder: Path
) -> None:
    for name in ("old", "new"):
        (folder / name).mkdir()
        (folder / name / "world").write_bytes(name.encode())
    current = folder / "current"
    current.symlink_to("old")
    settings = replace(settings, map=replace(settings.map, tiles=current / "world"))
    async with Served.start(fake_hub, settings) as served, asyncio.timeout(10):
        assert (await served.get(TILES, headers={"Range": "bytes=0-2"})).data == b"old"
        (folder / "link").symlink_to("new")
        (folder / "link").replace(current)
        while (await served.get(TILES, headers={"Range": "bytes=0-2"})).data != b"new":
            pass


async def test_a_file_does_not_stay_open(served: Served, folder: Path, answered: list[bool]) -> None:
    assert (await served.get(TILES, headers={"Range": "bytes=0-6"})).status == 206
    assert answered == [True]
    async with asyncio.timeout(10):
        while is_open(folder / "world.pmtiles"):
            await served.get("/healthz")


async def test_no_file_is_open_after_the_end(fake_hub: FakeHub, settings: Settings, folder: Path) -> None:
    with patch("wifimgrd.http.tiles.map.fast_ranges._OPEN_S", 1e6):
        async with Served.start(fake_hub, settings) as served:
            await served.get(TILES, headers={"Range": "bytes=0-6"})
            assert is_open(folder / "world.pmtiles")
        assert not is_open(folder / "world.pmtiles")


async def test_an_address_that_a_camera_assigns_is_no_allowed_host_from_then_on(
    fake_hub: FakeHub, settings: Settings, answered: list[bool]
) -> None:
    asked = {"Range": "bytes=0-6", "Host": "192.168.42.10"}
    settings = replace(settings, hosts=frozenset({"192.168.42.10"}))
    device = DeviceRecord(1, state="connected", local_address="192.168.42.10")
    async with Served.start(fake_hub, settings) as served:
        assert (await served.get(TILES, headers=asked)).status == 206
        fake_hub.happen(changed(device, "local_address"))
        assert (await served.get(TILES, headers=asked)).status == 403
    assert answered == [True, False]


async def test_what_is_not_in_the_page_cache_is_read_by_the_application(
    served: Served, folder: Path, answered: list[bool]
) -> None:
    with patch("os.preadv", side_effect=BlockingIOError):
        answer = await served.get(TILES, headers={"Range": "bytes=0-6"})
    assert (answer.data, answered) == (b"PMTiles", [False])


async def test_another_host_and_a_request_without_the_token_are_refused(
    fake_hub: FakeHub, settings: Settings, answered: list[bool]
) -> None:
    asked = {"Range": "bytes=0-6"}
    async with Served.start(fake_hub, replace(settings, token="token-of-this-test")) as served:
        admitted = asked | {"Authorization": "Bearer token-of-this-test"}
        assert (await served.get(TILES, headers=admitted)).status == 206
        assert (await served.get(TILES, headers=asked)).status == 401
        assert (await served.get(TILES, headers=admitted | {"Host": "evil.example"})).status == 403
    assert answered == [True, False, False]


@pytest.mark.parametrize("taken", [None, 1, 100, 5000])
async def test_what_the_socket_does_not_take_at_once_is_sent_later(
    served: Served, folder: Path, answered: list[bool], taken: int | None
) -> None:
    data = os.urandom(128 * 1024)
    (folder / "world.pmtiles").write_bytes(data)

    def write(descriptor: int, parts: Sequence[bytes]) -> int:
        if taken is None:
            raise BlockingIOError
        return os.write(descriptor, b"".join(parts)[:taken])

    with patch("os.writev", write):
        answer = await served.get(TILES, headers={"Range": f"bytes=0-{len(data) - 1}"})
    assert (answer.data, answered) == (data, [True])
