"""wifimgrctl tiles: what is configured, and whether it is whole. No daemon is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Ran, wifimgrctl
from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.making import pyramid, write_folder, write_mbtiles, write_pmtiles
from tests.http.tiles.scripted_upstream import ScriptedUpstream
from wifimgrd.config.configuration import load
from wifimgrd.http.settings import Settings


@pytest.fixture
def fake_hub() -> FakeHub:
    return FakeHub()


GAP = (3, 5, 2)
WRITERS: dict[str, Callable[..., Path]] = {
    "pmtiles": write_pmtiles,
    "mbtiles": write_mbtiles,
    "folder": write_folder,
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A tileset of each kind, named for it, with one gap."""
    tables = []
    for kind, write in WRITERS.items():
        path = write(tmp_path / f"world.{kind}", pyramid(3, without=[GAP]))
        tables.append(f'[[tiles.source]]\ntileset = "{kind}"\ntype = "{kind}"\npath = "{path}"\n')
    config = tmp_path / "wifimgrd.toml"
    config.write_text("".join(tables))
    return config


async def tiles(*line: str, config: Path) -> Ran:
    return await wifimgrctl("unix:path=/nowhere", "tiles", *line, "--config", str(config))


async def test_the_sources_are_listed(config: Path) -> None:
    ran = await tiles("list", config=config)
    assert ran.status == 0
    rows = [line.split()[:3] for line in ran.out.splitlines()[1:]]
    assert rows == [[kind, kind, "available"] for kind in WRITERS]


async def test_a_source_that_is_not_there_is_listed_with_its_reason(config: Path, tmp_path: Path) -> None:
    (tmp_path / "world.pmtiles").unlink()
    ran = await tiles("list", config=config)
    assert ran.status == 0
    assert "unavailable" in ran.out
    assert "No such file" in ran.out


async def test_whole_tilesets_pass_the_check(config: Path) -> None:
    ran = await tiles("check", config=config)
    assert ran.status == 0
    assert ran.out.count(": complete") == 3


@pytest.mark.parametrize("kind", WRITERS)
async def test_tiles_are_counted_per_zoom(config: Path, kind: str) -> None:
    [report] = (await tiles("check", "--tileset", kind, "--json", config=config)).value
    assert report["sources"][0]["tiles"] == {"0": 1, "1": 4, "2": 16, "3": 63}


async def test_a_damaged_archive_fails(config: Path, tmp_path: Path) -> None:
    data = (tmp_path / "world.pmtiles").read_bytes()
    (tmp_path / "world.pmtiles").write_bytes(data[:-20])
    ran = await tiles("check", "--tileset", "pmtiles", config=config)
    assert ran.status == 1
    assert "cut off" in ran.out


async def test_a_damaged_database_fails(config: Path, tmp_path: Path) -> None:
    data = bytearray((tmp_path / "world.mbtiles").read_bytes())
    data[-4096:-2048] = bytes(2048)
    (tmp_path / "world.mbtiles").write_bytes(data)
    assert (await tiles("check", "--tileset", "mbtiles", config=config)).status == 1


async def test_an_empty_file_in_a_folder_fails(config: Path, tmp_path: Path) -> None:
    (tmp_path / "world.folder/3/1/1.png").write_bytes(b"")
    ran = await tiles("check", "--tileset", "folder", config=config)
    assert ran.status == 1
    assert "3/1/1.png is empty" in ran.out


async def test_what_lies_beside_the_tiles_of_a_folder_is_named_and_passes(
    config: Path, tmp_path: Path
) -> None:
    (tmp_path / "world.folder/3/1/1.kml").write_text("<kml/>")
    ran = await tiles("check", "--tileset", "folder", config=config)
    assert ran.status == 0
    assert "files .kml are not tiles, and not served" in ran.out


async def test_a_tile_server_is_reached(tmp_path: Path) -> None:
    async with ScriptedUpstream.start() as upstream:
        config = tmp_path / "wifimgrd.toml"
        config.write_text(f'[[tiles.source]]\ntileset = "t"\ntype = "upstream"\nurl = "{upstream.url}"\n')
        assert (await tiles("check", config=config)).status == 0
        await upstream.vanish()
        ran = await tiles("check", "--json", config=config)
    assert ran.status == 1
    assert "cannot be used" in ran.value[0]["sources"][0]["problem"]


async def test_a_missing_tile_is_asked_of_the_running_shim(config: Path, fake_hub: FakeHub) -> None:
    async with Served.start(fake_hub, Settings.of(load(config))) as served:
        assert (await tiles("check", "--url", served.url, config=config)).status == 0


def promise_204_for_the_folder(config: Path) -> None:
    config.write_text(config.read_text().replace('type = "folder"', 'type = "folder"\nmissing = 204'))


async def test_a_shim_that_serves_something_else_fails(config: Path, fake_hub: FakeHub) -> None:
    async with Served.start(fake_hub, Settings.of(load(config))) as served:
        promise_204_for_the_folder(config)
        ran = await tiles("check", "--tileset", "folder", "--url", served.url, config=config)
    assert ran.status == 1
    assert "answered with 404, not 204" in ran.out


async def test_a_shim_that_is_not_there_fails(config: Path) -> None:
    ran = await tiles("check", "--url", "http://127.0.0.1:9", config=config)
    assert ran.status == 1
    assert "does not answer" in ran.out


async def test_without_tilesets_there_is_a_hint(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    ran = await tiles("list", config=tmp_path / "empty.toml")
    assert (ran.status, ran.out) == (0, "")
    assert "[[tiles.source]]" in ran.err


async def test_an_unknown_tileset_fails(config: Path) -> None:
    assert (await tiles("check", "--tileset", "nowhere", config=config)).status == 1


async def test_a_wrong_configuration_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("nonsense = 1")
    ran = await tiles("list", config=tmp_path / "bad.toml")
    assert ran.status == 1
    assert "bad.toml: nonsense" in ran.err


@pytest.fixture
def map_config(config: Path, tmp_path: Path) -> Path:
    """The same tilesets, and a map drawn with the archive among them."""
    config.write_text(config.read_text() + f'[map]\nresources = "{tmp_path}"\n')
    return config


async def test_the_map_is_checked_with_the_tilesets(map_config: Path) -> None:
    ran = await tiles("check", config=map_config)
    assert (ran.status, ran.out.count(": complete")) == (0, 4)
    assert "[map]: complete" in ran.out


@pytest.fixture
def incomplete(map_config: Path) -> Path:
    """The same, with a style that is not there."""
    map_config.write_text(map_config.read_text() + 'style = "/nowhere/style.json"\n')
    return map_config


async def test_what_the_map_lacks_is_named_and_fails(incomplete: Path) -> None:
    ran = await tiles("check", config=incomplete)
    assert ran.status == 1
    assert "[map]: INCOMPLETE OR DAMAGED" in ran.out
    assert "style: /nowhere/style.json cannot be opened" in ran.out
    [report] = [one for one in (await tiles("check", "--json", config=incomplete)).value if "map" in one]
    assert report["map"]["style"] == "/nowhere/style.json"
    assert not report["ok"]
    assert len(report["problems"]) == 1


async def test_one_tileset_is_checked_without_the_map(incomplete: Path) -> None:
    assert (await tiles("check", "--tileset", "pmtiles", config=incomplete)).status == 0
