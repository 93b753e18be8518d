"""Fonts, sprites and other files of a style, and what is no file of the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.descriptors import open_descriptors, settled_descriptors
from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.map.conftest import FONT, MAP
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles.map._open_file import ResourceFolder

RESOURCES = MAP + "/resources/"
SECRET = b"not for anybody"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"fonts/{FONT.replace(' ', '%20')}/0-255.pbf", "application/x-protobuf"),
        ("sprite.json", "application/json"),
        ("sprite.png", "image/png"),
        ("country.geojson", "application/geo+json"),
    ],
)
async def test_a_file_has_the_type_of_its_ending_and_may_be_kept_for_a_day(
    served: Served, name: str, kind: str
) -> None:
    answer = await served.get(RESOURCES + name)
    assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
    assert answer.headers["Cache-Control"] == "public, max-age=86400"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.data


@pytest.mark.parametrize("name", ["page.html", "script.js", "noending", "odd.", "a.b.unknown"])
async def test_what_has_no_known_ending_is_bytes(served: Served, folder: Path, name: str) -> None:
    (folder / "resources" / name).write_text("x")
    assert (await served.get(RESOURCES + name)).headers["Content-Type"] == "application/octet-stream"


async def test_files_of_the_maps_data_are_asked_for_each_time(served: Served, folder: Path) -> None:
    (folder / "resources" / "more.pmtiles").write_bytes(b"PMTiles")
    answer = await served.get(RESOURCES + "more.pmtiles", headers={"Range": "bytes=0-1"})
    assert (answer.status, answer.data) == (206, b"PM")
    assert answer.headers["Cache-Control"] == "no-cache, must-revalidate"


async def test_a_known_tag_is_answered_with_not_modified(served: Served) -> None:
    tag = (await served.get(RESOURCES + "sprite.json")).headers["ETag"]
    answer = await served.get(RESOURCES + "sprite.json", headers={"If-None-Match": tag})
    assert (answer.status, answer.data) == (304, b"")
    assert answer.headers["Cache-Control"] == "public, max-age=86400"


async def test_an_admitted_origin_may_read_them(served: Served) -> None:
    answer = await served.get(RESOURCES + "sprite.json", headers={"Origin": "https://map.example"})
    assert answer.headers["Access-Control-Allow-Origin"] == "https://map.example"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "nothing.json",
        "fonts",
        "fonts/",
        "../secret",
        "%2e%2e/secret",
        "..%2fsecret",
        "%2e%2e%2fsecret",
        "fonts/../../secret",
        "fonts/%2e%2e/%2e%2e/secret",
        "fonts/../sprite.json",
        "./sprite.json",
        "/sprite.json",
        "%2fsprite.json",
        "fonts//sprite.json",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "..%5csecret",
        "sprite.json%00",
        "sprite.json%00.png",
        "%00",
        ".hidden",
        ".git/config",
        "sprite.json%0a",
        "%ff%fe",
        "%ed%a0%80",
        "a" * 300,
        "a/" * 600,
        "%E2%80%AE",
    ],
)
async def test_what_names_no_file_of_the_folder_is_not_found(served: Served, folder: Path, path: str) -> None:
    (folder / "secret").write_bytes(SECRET)
    (folder / "resources" / ".hidden").write_bytes(SECRET)
    (folder / "resources" / ".git").mkdir()
    (folder / "resources" / ".git" / "config").write_bytes(SECRET)
    data = await served.raw(
        f"GET {RESOURCES}{path} HTTP/1.1\r\nHost: {served.host}\r\nConnection: close\r\n\r\n".encode()
    )
    assert data.startswith(b"HTTP/1.1 404 ")
    assert SECRET not in data
    assert str(folder).encode() not in data


@pytest.mark.parametrize("target", ["../secret", "absolute", "/etc/passwd", "/proc/self/environ"])
async def test_a_link_that_leads_out_of_the_folder_is_not_followed(
    served: Served, folder: Path, target: str
) -> None:
    (folder / "secret").write_bytes(SECRET)
    where = str(folder / "secret") if target == "absolute" else target
    (folder / "resources" / "link.json").symlink_to(where)
    assert (await served.get(RESOURCES + "link.json")).status == 404


async def test_a_linked_folder_outside_is_not_entered(served: Served, folder: Path) -> None:
    (folder / "outside").mkdir()
    (folder / "outside" / "secret.json").write_bytes(SECRET)
    (folder / "resources" / "linked").symlink_to(folder / "outside")
    (folder / "resources" / "up").symlink_to("..")
    assert (await served.get(RESOURCES + "linked/secret.json")).status == 404
    assert (await served.get(RESOURCES + "up/outside/secret.json")).status == 404


async def test_a_link_within_the_folder_is_followed(served: Served, folder: Path) -> None:
    (folder / "resources" / "fonts" / "Alias").symlink_to(FONT)
    assert (await served.get(RESOURCES + "fonts/Alias/0-255.pbf")).data == b"glyphs"


async def test_the_folder_itself_may_be_a_link_that_is_changed(served: Served, folder: Path) -> None:
    (folder / "resources").rename(folder / "one")
    (folder / "resources").symlink_to("one")
    assert (await served.get(RESOURCES + "sprite.json")).status == 200
    (folder / "two").mkdir()
    (folder / "two" / "new.json").write_text("{}")
    (folder / "next").symlink_to("two")
    (folder / "next").replace(folder / "resources")
    assert (await served.get(RESOURCES + "new.json")).status == 200
    assert (await served.get(RESOURCES + "sprite.json")).status == 404


async def test_a_fifo_is_no_file(served: Served, folder: Path) -> None:
    os.mkfifo(folder / "resources" / "fifo.json")
    assert (await served.get(RESOURCES + "fifo.json")).status == 404


async def test_without_a_folder_there_are_no_resources(fake_hub: FakeHub) -> None:
    async with Served.start(fake_hub, Settings()) as served:
        assert (await served.get(RESOURCES + "sprite.json")).problem["code"] == "not-found"


async def test_with_a_token_they_need_it(fake_hub: FakeHub, folder: Path, settings: Settings) -> None:
    protected = Settings(map=settings.map, token="token-of-this-test")
    async with Served.start(fake_hub, protected) as served:
        for path in ("style/", "tiles/", "contours/", "resources/sprite.json"):
            assert (await served.get(f"{MAP}/{path}")).status == 401
            headers = {"Authorization": "Bearer token-of-this-test"}
            assert (await served.get(f"{MAP}/{path}", headers=headers)).status == 200


def test_no_descriptor_stays_open(folder: Path) -> None:
    resources = ResourceFolder(folder / "resources")
    before = settled_descriptors()
    for name in ("sprite.json", "fonts", "nothing", "../x"):
        resources.has(name)
    assert open_descriptors() == before
