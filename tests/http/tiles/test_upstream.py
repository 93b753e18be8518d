"""Tiles of another server: asked once, kept, asked again with a tag, and what happens while it is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.making import vector
from tests.http.tiles.scripted_upstream import ScriptedUpstream
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles._tile import NotReadyError, Tile, UnavailableError
from wifimgrd.http.tiles._upstream import Kept, UpstreamCache, UpstreamSlot

PATIENCE_S, HASTE_S = 30.0, 0.3


class Clock:
    """A clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream.start() as upstream:
        yield upstream


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def slot(upstream: ScriptedUpstream, clock: Clock) -> AsyncIterator[UpstreamSlot]:
    slot = UpstreamSlot("t", upstream.url, timeout_s=PATIENCE_S, cache_limit=100_000, clock=clock)
    yield slot
    await slot.stop()


@pytest.fixture
async def hasty_slot(upstream: ScriptedUpstream, clock: Clock) -> AsyncIterator[UpstreamSlot]:
    """One for a server that does not answer."""
    slot = UpstreamSlot("t", upstream.url, timeout_s=HASTE_S, cache_limit=100_000, clock=clock)
    yield slot
    await slot.stop()


async def data(slot: UpstreamSlot, z: int = 3, x: int = 1, y: int = 2) -> bytes | None:
    tile = await slot.fetch(z, x, y)
    return None if tile is None else tile.data


async def test_a_tile_is_asked_for_by_the_template(slot: UpstreamSlot, upstream: ScriptedUpstream) -> None:
    assert await data(slot) == upstream.body
    assert upstream.asked[0][0] == "/3/1/2.png"


async def test_who_asks_meanwhile_gets_the_same_answer(
    slot: UpstreamSlot, upstream: ScriptedUpstream
) -> None:
    upstream.going_on.clear()
    asking = [asyncio.create_task(data(slot)) for _ in range(50)]
    await upstream.was_asked.wait()
    upstream.going_on.set()
    assert await asyncio.gather(*asking) == [upstream.body] * 50
    assert len(upstream.asked) == 1


async def test_who_goes_away_takes_nothing_from_the_others(
    slot: UpstreamSlot, upstream: ScriptedUpstream
) -> None:
    upstream.going_on.clear()
    first, second = asyncio.create_task(data(slot)), asyncio.create_task(data(slot))
    await upstream.was_asked.wait()
    first.cancel()
    upstream.going_on.set()
    assert await second == upstream.body


async def test_connections_are_used_again(slot: UpstreamSlot, upstream: ScriptedUpstream) -> None:
    for row in range(10):
        await data(slot, 4, 1, row)
    assert len(upstream.connections) == 1


async def test_a_fresh_tile_is_at_hand(slot: UpstreamSlot, upstream: ScriptedUpstream) -> None:
    await data(slot)
    tile = slot.peek(3, 1, 2)
    assert tile is not None
    assert tile.data == upstream.body


@pytest.mark.parametrize(
    ("said", "fresh_s"),
    [
        ({}, 60),
        ({"Cache-Control": "public, max-age=600"}, 600),
        ({"Cache-Control": "max-age=600", "Age": "590"}, 10),
        ({"Cache-Control": "max-age=9999999"}, 86400),
    ],
)
async def test_a_tile_is_kept_as_long_as_the_server_says(
    slot: UpstreamSlot, upstream: ScriptedUpstream, clock: Clock, said: dict[str, str], fresh_s: int
) -> None:
    upstream.headers = said
    await data(slot)
    clock.now += fresh_s - 1
    slot.peek(3, 1, 2)
    clock.now += 2
    with pytest.raises(NotReadyError):
        slot.peek(3, 1, 2)


@pytest.mark.parametrize("said", ["no-store", "no-cache", "max-age=0"])
async def test_a_tile_that_must_not_be_kept_is_asked_for_again(
    slot: UpstreamSlot, upstream: ScriptedUpstream, said: str
) -> None:
    upstream.headers = {"Cache-Control": said}
    await data(slot)
    with pytest.raises(NotReadyError):
        slot.peek(3, 1, 2)


async def test_an_old_tile_is_asked_for_with_its_tag(
    slot: UpstreamSlot, upstream: ScriptedUpstream, clock: Clock
) -> None:
    upstream.headers = {"ETag": '"one"', "Last-Modified": "Fri, 20 Nov 2026 00:00:00 GMT"}
    await data(slot)
    clock.now += 100
    assert await data(slot) == upstream.body
    asked = upstream.asked[1][1]
    assert (asked["If-None-Match"], asked["If-Modified-Since"]) == ('"one"', "Fri, 20 Nov 2026 00:00:00 GMT")


async def test_a_tile_that_did_not_change_is_fresh_again(
    slot: UpstreamSlot, upstream: ScriptedUpstream, clock: Clock
) -> None:
    upstream.headers = {"ETag": '"one"'}
    await data(slot)
    clock.now += 100
    await data(slot)
    assert slot.peek(3, 1, 2) is not None


async def test_a_tile_that_changed_takes_the_old_ones_place(
    slot: UpstreamSlot, upstream: ScriptedUpstream, clock: Clock
) -> None:
    await data(slot)
    clock.now += 100
    upstream.body = b"\x89PNG new"
    assert await data(slot) == b"\x89PNG new"


@pytest.mark.parametrize("status", [204, 404, 410])
async def test_a_missing_tile_is_remembered(
    slot: UpstreamSlot, upstream: ScriptedUpstream, status: int
) -> None:
    upstream.status, upstream.body, upstream.headers = status, b"", {"Cache-Control": "no-store"}
    assert await data(slot) is None
    assert slot.peek(3, 1, 2) is None


@pytest.mark.parametrize("status", [302, 400, 403, 500, 503])
async def test_an_error_is_no_missing_tile(
    slot: UpstreamSlot, upstream: ScriptedUpstream, status: int
) -> None:
    upstream.status = status
    with pytest.raises(UnavailableError, match=str(status)):
        await data(slot)


async def test_a_server_that_is_down_is_reported_at_once(
    slot: UpstreamSlot, upstream: ScriptedUpstream
) -> None:
    await upstream.vanish()
    with pytest.raises(UnavailableError) as caught:
        await data(slot)
    assert not caught.value.late


async def test_a_server_that_does_not_answer_is_late(
    hasty_slot: UpstreamSlot, upstream: ScriptedUpstream
) -> None:
    upstream.going_on.clear()
    with pytest.raises(UnavailableError) as caught:
        await data(hasty_slot)
    assert caught.value.late


async def test_a_server_that_does_not_answer_is_left_alone_for_a_while(
    hasty_slot: UpstreamSlot, upstream: ScriptedUpstream
) -> None:
    upstream.going_on.clear()
    for row in range(20):
        with pytest.raises(UnavailableError):
            await data(hasty_slot, 5, 1, row)
    assert len(upstream.asked) == 1


async def test_a_server_that_is_back_is_asked_again(
    slot: UpstreamSlot, upstream: ScriptedUpstream, clock: Clock
) -> None:
    await upstream.vanish()
    with pytest.raises(UnavailableError):
        await data(slot)
    await upstream.appear()
    clock.now += 2
    assert await data(slot) == upstream.body
    assert slot.reason == ""


async def test_an_old_tile_is_served_while_the_server_is_down(
    slot: UpstreamSlot, upstream: ScriptedUpstream, clock: Clock
) -> None:
    await data(slot)
    clock.now += 1000
    await upstream.vanish()
    assert await data(slot) == upstream.body
    assert slot.reason


async def test_packed_bytes_stay_packed(slot: UpstreamSlot, upstream: ScriptedUpstream) -> None:
    upstream.body = vector(0, 0, 0)
    upstream.headers = {"Content-Encoding": "gzip", "Content-Type": "application/x-protobuf"}
    tile = await slot.fetch(0, 0, 0)
    assert isinstance(tile, Tile)
    assert (tile.data, tile.encoding) == (vector(0, 0, 0), "gzip")


@pytest.mark.parametrize(
    "said", ["text/html", "Text/HTML; charset=utf-8", "image/svg+xml", "application/javascript"]
)
async def test_a_page_is_no_tile(slot: UpstreamSlot, upstream: ScriptedUpstream, said: str) -> None:
    """As a captive portal answers, with status 200."""
    upstream.body, upstream.headers = b"<script>", {"Content-Type": said}
    with pytest.raises(UnavailableError, match="not a tile"):
        await slot.fetch(0, 0, 0)


async def test_what_a_browser_would_run_is_not_relayed_as_such(
    slot: UpstreamSlot, upstream: ScriptedUpstream
) -> None:
    upstream.body, upstream.headers = b"<script>", {"Content-Type": "text/plain"}
    tile = await slot.fetch(0, 0, 0)
    assert tile is not None
    assert tile.media_type == "image/png"  # as the address of the server's tiles ends


async def test_a_packing_that_is_not_known_is_an_error(
    slot: UpstreamSlot, upstream: ScriptedUpstream
) -> None:
    upstream.headers = {"Content-Encoding": "compress"}
    with pytest.raises(UnavailableError, match="compress"):
        await slot.fetch(0, 0, 0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 700))))
def test_the_cache_never_holds_more_than_it_may(puts: list[tuple[int, int]]) -> None:
    cache = UpstreamCache(3000)
    for row, size in puts:
        cache.put((9, 0, row), Kept(Tile(bytes(size), "image/png", "", "t", "upstream"), 0))
        kept = [one for at in range(10) if (one := cache.get((9, 0, at))) is not None]
        assert cache.cost == sum(one.cost for one in kept) <= 3000
        assert len(kept) == len(cache)


async def test_a_relayed_tile_is_answered(fake_hub: FakeHub, upstream: ScriptedUpstream) -> None:
    source = TileSource("t", "upstream", url=upstream.url)
    async with Served.start(fake_hub, Settings(tile_sources=(source,))) as served:
        answer = await served.get("/tiles/t/3/1/2.png")
        again = await served.get("/tiles/t/3/1/2.png")
    assert (answer.status, answer.data) == (again.status, again.data) == (200, upstream.body)
    assert len(upstream.asked) == 1


async def test_without_the_server_the_answer_is_a_problem(
    fake_hub: FakeHub, upstream: ScriptedUpstream
) -> None:
    await upstream.vanish()
    source = TileSource("t", "upstream", url=upstream.url)
    async with Served.start(fake_hub, Settings(tile_sources=(source,))) as served:
        answer = await served.get("/tiles/t/3/1/2.png")
    assert (answer.status, answer.problem["code"]) == (502, "tile-source-unavailable")


@pytest.mark.parametrize("upstream_first", [True, False])
async def test_files_serve_while_the_server_is_down(
    fake_hub: FakeHub, upstream: ScriptedUpstream, places: Mapping[str, Path], upstream_first: bool
) -> None:
    await upstream.vanish()
    sources = [TileSource("t", "upstream", url=upstream.url), TileSource("t", "pmtiles", places["pmtiles"])]
    ordered = tuple(sources if upstream_first else reversed(sources))
    async with Served.start(fake_hub, Settings(tile_sources=ordered)) as served:
        assert (await served.get("/tiles/t/3/1/2.png")).status == 200


async def test_tilejson_leads_to_us_and_not_to_the_server(
    fake_hub: FakeHub, upstream: ScriptedUpstream
) -> None:
    source = TileSource("t", "upstream", url=upstream.url)
    async with Served.start(fake_hub, Settings(tile_sources=(source,))) as served:
        value = (await served.get("/tiles/t.json")).json
        assert value["tiles"] == [f"{served.url}/tiles/t/{{z}}/{{x}}/{{y}}.png"]
