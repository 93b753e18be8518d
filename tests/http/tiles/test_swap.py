"""Files that come, change and go while they are served."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.making import Place, pyramid, write_folder, write_mbtiles, write_pmtiles
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles import _tileset as tileset_module
from wifimgrd.http.tiles import tilesets as tilesets_module
from wifimgrd.http.tiles._tileset import FileSlot, Tileset
from wifimgrd.http.tiles.tilesets import Tilesets
from wifimgrd.runtime.tasks import Tasks

WRITERS: dict[str, Callable[[Path, Mapping[Place, bytes]], Path]] = {
    "pmtiles": write_pmtiles,
    "mbtiles": write_mbtiles,
}
PATIENCE_S = 10.0


@pytest.fixture(params=WRITERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def put(kind: str, path: Path, tiles: Mapping[Place, bytes]) -> None:
    """Write a file beside the path and rename it there, as it should be done."""
    beside = path.with_name("beside")
    beside.unlink(missing_ok=True)
    WRITERS[kind](beside, tiles)
    beside.replace(path)


class Watched:
    """Tilesets of which there is one, looked at when the test says."""

    def __init__(self, kind: str, path: Path) -> None:
        self.tilesets = Tilesets([TileSource("t", kind, path)], Tasks("test"))
        self.reported: list[dict[str, Any]] = []
        self.tilesets.subscribe(self.reported.append)

    @property
    def tileset(self) -> Tileset:
        return self.tilesets.by_name["t"]

    async def data(self) -> bytes | None:
        tile = await self.tileset.fetch(1, 1, 0)
        return None if tile is None else tile.data

    @property
    def reason(self) -> str:
        return str(self.tileset.slots[0].reason)


@pytest.fixture
async def watched(kind: str, tmp_path: Path) -> AsyncIterator[Watched]:
    put(kind, tmp_path / "file", pyramid(1, "old"))
    watched = Watched(kind, tmp_path / "file")
    await watched.tilesets.check_files()
    yield watched
    await watched.tilesets.stop()


async def test_a_file_that_took_anothers_place_is_served(watched: Watched, kind: str, tmp_path: Path) -> None:
    put(kind, tmp_path / "file", pyramid(1, "new"))
    await watched.tilesets.check_files()
    assert await watched.data() == pyramid(1, "new")[1, 1, 0]


async def test_it_has_other_tags(watched: Watched, kind: str, tmp_path: Path) -> None:
    before = await watched.tileset.fetch(1, 1, 0)
    put(kind, tmp_path / "file", pyramid(1, "new"))
    await watched.tilesets.check_files()
    after = await watched.tileset.fetch(1, 1, 0)
    assert before is not None
    assert after is not None
    assert before.tag != after.tag


async def test_each_subscriber_is_notified(watched: Watched, kind: str, tmp_path: Path) -> None:
    put(kind, tmp_path / "file", pyramid(1, "new"))
    await watched.tilesets.check_files()
    assert watched.reported[-1] == {"tileset": "t", "available": True, "version": watched.tileset.tag}


async def test_no_subscriber_is_notified_without_a_change(watched: Watched) -> None:
    before = len(watched.reported)
    await watched.tilesets.check_files()
    assert len(watched.reported) == before


@pytest.mark.parametrize("kept", [0.3, 0.9])
async def test_a_half_copied_file_is_refused_and_the_old_one_served(
    watched: Watched, kind: str, tmp_path: Path, kept: float
) -> None:
    WRITERS[kind](tmp_path / "whole", pyramid(1, "new"))
    data = (tmp_path / "whole").read_bytes()
    (tmp_path / "beside").write_bytes(data[: int(len(data) * kept)])
    (tmp_path / "beside").replace(tmp_path / "file")
    await watched.tilesets.check_files()
    assert watched.reason
    assert await watched.data() == pyramid(1, "old")[1, 1, 0]


async def test_a_refused_file_that_is_completed_is_served(
    watched: Watched, kind: str, tmp_path: Path
) -> None:
    WRITERS[kind](tmp_path / "whole", pyramid(1, "new"))
    data = (tmp_path / "whole").read_bytes()
    (tmp_path / "beside").write_bytes(data[:100])
    (tmp_path / "beside").replace(tmp_path / "file")
    await watched.tilesets.check_files()
    with (tmp_path / "file").open("ab") as file:
        file.write(data[100:])
    await watched.tilesets.check_files()
    assert await watched.data() == pyramid(1, "new")[1, 1, 0]


async def test_a_refused_file_of_a_host_whose_clock_is_ahead_is_not_opened_again(
    watched: Watched, tmp_path: Path
) -> None:
    (tmp_path / "beside").write_bytes(b"no tiles")
    os.utime(tmp_path / "beside", (2**32, 2**32))
    (tmp_path / "beside").replace(tmp_path / "file")
    await watched.tilesets.check_files()
    (slot,) = watched.tileset.slots
    assert watched.reason
    assert isinstance(slot, FileSlot)
    assert not slot.has_changed()


async def test_a_file_that_is_removed_takes_the_tileset_away(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "file").unlink()
    await watched.tilesets.check_files()
    assert watched.tilesets.get("t") is None
    assert watched.reported[-1] == {"tileset": "t", "available": False, "version": None}


async def test_a_file_that_is_written_over_in_place_is_not_served_half(
    watched: Watched, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"PMTiles\x03 and no more")
    await watched.tilesets.check_files()
    assert watched.tilesets.get("t") is None


async def test_a_file_that_comes_later_is_served(kind: str, tmp_path: Path) -> None:
    watched = Watched(kind, tmp_path / "later" / "file")
    await watched.tilesets.check_files()
    (tmp_path / "later").mkdir()
    put(kind, tmp_path / "later" / "file", pyramid(1, "new"))
    await watched.tilesets.check_files()
    assert await watched.data() == pyramid(1, "new")[1, 1, 0]
    await watched.tilesets.stop()


async def test_a_link_that_points_elsewhere_is_followed(watched: Watched, kind: str, tmp_path: Path) -> None:
    put(kind, tmp_path / "new", pyramid(1, "new"))
    (tmp_path / "link").symlink_to("new")
    (tmp_path / "link").replace(tmp_path / "file")
    await watched.tilesets.check_files()
    assert await watched.data() == pyramid(1, "new")[1, 1, 0]


async def test_old_files_are_closed(watched: Watched, kind: str, tmp_path: Path) -> None:
    for number in range(20):
        put(kind, tmp_path / "file", pyramid(1, str(number)))
        await watched.tilesets.check_files()
    assert sum(str(tmp_path) in one for one in open_files()) <= 2


async def test_a_database_is_served_once_nobody_writes_to_it(tmp_path: Path) -> None:
    put("mbtiles", tmp_path / "file", pyramid(1))
    os.utime(tmp_path / "file", (0, 0))
    (tmp_path / "file-wal").write_bytes(b"x")
    watched = Watched("mbtiles", tmp_path / "file")
    await watched.tilesets.check_files()
    assert "being written" in watched.reason
    (tmp_path / "file-wal").unlink()
    await watched.tilesets.check_files()
    assert await watched.data() is not None
    await watched.tilesets.stop()


async def test_what_no_file_should_do_harms_no_other(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(kind, tmp_path / "file", pyramid(1))
    openers = {"folder": lambda _: 1 // 0, kind: tileset_module.OPENERS[kind]}
    monkeypatch.setattr(tileset_module, "OPENERS", openers)
    tilesets = Tilesets(
        [TileSource("bad", "folder", tmp_path), TileSource("t", kind, tmp_path / "file")], Tasks("test")
    )
    await tilesets.check_files()
    await tilesets.check_files()
    assert (tilesets.get("bad"), tilesets.get("t") is None) == (None, False)
    await tilesets.stop()


async def test_a_file_that_may_be_read_after_all_is_served(kind: str, tmp_path: Path) -> None:
    """Permissions change neither size nor time of change. Root, who runs the tests, may read anything."""
    put(kind, tmp_path / "file", pyramid(1))
    watched = Watched(kind, tmp_path / "file")
    opener, refuses = tileset_module.OPENERS[kind], True

    def maybe(path: Path) -> object:
        if refuses:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opener(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tileset_module, "OPENERS", {kind: maybe})
        os.utime(tmp_path / "file", (0, 0))
        await watched.tilesets.check_files()
        assert "Permission denied" in watched.reason
        refuses = False
        await watched.tilesets.check_files()
    assert await watched.data() is not None
    await watched.tilesets.stop()


async def test_hundreds_of_tilesets_are_opened(tmp_path: Path) -> None:
    sources = []
    for number in range(300):
        put("pmtiles", tmp_path / str(number), pyramid(0, str(number)))
        sources.append(TileSource(f"t{number}", "pmtiles", tmp_path / str(number)))
    tilesets = Tilesets(sources, Tasks("test"))
    await tilesets.check_files()
    assert all(tilesets.get(f"t{number}") for number in range(300))
    await tilesets.stop()


def open_files() -> list[str]:
    return [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]


async def test_a_file_in_a_folder_is_served_as_it_is_now(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "folder", pyramid(1, "old"))
    watched = Watched("folder", folder)
    await watched.tilesets.check_files()
    old = await watched.tileset.fetch(1, 1, 0)
    (tmp_path / "one").write_bytes(pyramid(1, "new")[1, 1, 0])
    (tmp_path / "one").replace(folder / "1/1/0.png")
    new = await watched.tileset.fetch(1, 1, 0)
    await watched.tilesets.stop()
    assert old is not None
    assert new is not None
    assert new.data == pyramid(1, "new")[1, 1, 0]
    assert new.tag != old.tag


async def test_a_folder_that_is_removed_takes_the_tileset_away(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "folder", pyramid(1))
    watched = Watched("folder", folder)
    await watched.tilesets.check_files()
    shutil.rmtree(folder)
    await watched.tilesets.check_files()
    assert watched.tilesets.get("t") is None
    await watched.tilesets.stop()


async def message(channel: Any, kind: str) -> Any:
    """The next message of a type."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            reported = await channel.receive_json()
            if reported["type"] == kind:
                return reported


async def test_a_swap_is_reported_on_the_management_channel(
    fake_hub: FakeHub, kind: str, tmp_path: Path
) -> None:
    put(kind, tmp_path / "file", pyramid(1, "old"))
    settings = Settings(tile_sources=(TileSource("t", kind, tmp_path / "file"),))
    async with Served.start(fake_hub, settings) as served:
        channel = await served.channel()
        await message(channel, "snapshot")
        put(kind, tmp_path / "file", pyramid(1, "new"))
        reported = await message(channel, "tileset.updated")
        assert reported["data"]["tileset"] == "t"
        assert (await served.get("/tiles/t/1/1/0")).data == pyramid(1, "new")[1, 1, 0]


SWAPS = 20
CLIENTS = 100


async def test_no_client_gets_a_wrong_octet_while_files_are_swapped(
    fake_hub: FakeHub, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tag stands for the same bytes for all, which are those of one of the files."""
    monkeypatch.setattr(tilesets_module, "CHECK_S", 0.01)
    worlds = [pyramid(3, str(number)) for number in range(SWAPS + 1)]
    put(kind, tmp_path / "file", worlds[0])
    settings = Settings(tile_sources=(TileSource("t", kind, tmp_path / "file"),))
    bytes_of_tag: dict[str, bytes] = {}
    swapped = asyncio.Event()

    async def client(served: Served, seed: int) -> None:
        chance = random.Random(seed)
        places = sorted(worlds[0])
        while not swapped.is_set():
            place = chance.choice(places)
            answer = await served.get("/tiles/t/{}/{}/{}".format(*place))
            assert answer.status == 200
            assert any(answer.data == world[place] for world in worlds)
            assert bytes_of_tag.setdefault(answer.headers["ETag"], answer.data) == answer.data

    async with Served.start(fake_hub, settings) as served:
        served.session.connector._limit = CLIENTS  # type: ignore[union-attr]
        channel = await served.channel()
        clients = [asyncio.create_task(client(served, seed)) for seed in range(CLIENTS)]
        for world in worlds[1:]:
            put(kind, tmp_path / "file", world)
            await message(channel, "tileset.updated")
        swapped.set()
        await asyncio.gather(*clients)
        answer = await served.get("/tiles/t/1/1/0")
    assert answer.data == worlds[-1][1, 1, 0]
