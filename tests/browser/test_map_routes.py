"""MapLibre GL in a browser draws archives through the map's routes, from another origin and offline."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Page, Request, async_playwright

from tests.browser.conftest import CHROMIUM, PATIENCE_MS
from tests.browser.map_content import FONT, RED, write_maplibre_world, write_world
from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from wifimgrd.config.configuration import Map
from wifimgrd.http.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="session")

MAP = "/plugin-views/platform_plugin_map/map"
MODULES = Path("frontend/node_modules")
WATER, LAND = (165, 200, 225), (242, 239, 233)
FLAGS = ("--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PAGE = """<!doctype html><meta charset="utf-8">
<style>body { margin: 0 } #map { width: 512px; height: 512px }</style>
<div id="map"></div>
<script src="/modules/pmtiles/dist/pmtiles.js"></script>
<script type="module">
import * as maplibre from "/modules/maplibre-gl/dist/maplibre-gl.mjs";
maplibre.addProtocol("pmtiles", new pmtiles.Protocol().tile);

// As the platform's map reads a style: relative names are resources, some sources are the archives.
function adapted(style, base) {
  const resource = (address) => /^[a-z]+:/.test(address)
    ? address : base + "map/resources/" + address.replace(/^(\\.{1,2}\\/)+/, "");
  if (style.glyphs) style.glyphs = resource(style.glyphs);
  if (style.sprite) style.sprite = resource(style.sprite);
  for (const [name, source] of Object.entries(style.sources)) {
    const text = [name, source.url, source.tiles].join(" ");
    if (text.includes("contour")) source.url = base + "map/contours/contours.json";
    else if (text.includes("pmtiles")) source.url = "pmtiles://" + base + "map/tiles/";
    if (/contour|pmtiles/.test(text)) delete source.tiles;
    if (typeof source.data === "string") source.data = resource(source.data);
  }
  return style;
}

window.draw = async (base, adapts) => {
  const style = await (await fetch(base + "map/style/")).json();
  const map = new maplibre.Map({
    container: "map", style: adapts ? adapted(style, base) : style,
    interactive: false, fadeDuration: 0, attributionControl: false, renderWorldCopies: false,
    canvasContextAttributes: { preserveDrawingBuffer: true },
  });
  window.errors = [];
  map.on("error", (event) => window.errors.push(String(event.error?.message ?? event.error)));
  await map.once("load");
  for (const { id, type } of map.getStyle().layers) {  // "idle" may come while a picture still fades in
    if (type === "raster") map.setPaintProperty(id, "raster-fade-duration", 0);
  }
  map.jumpTo({ center: [0, 0], zoom: 0 });
  map.triggerRepaint();
  await map.once("idle");
};

window.colours = (points) => {
  const from = document.querySelector("canvas");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [from.width, from.height];
  const context = canvas.getContext("2d");
  context.drawImage(from, 0, 0);
  return points.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3));
};
window.ready = true;
</script>
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a map."""
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def drawing_browser() -> AsyncIterator[Browser]:
    """Chromium with WebGL in software."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def origin() -> AsyncIterator[str]:
    """Another site, with the page and MapLibre."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    app.router.add_static("/modules", MODULES)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


@asynccontextmanager
async def drawn(
    browser: Browser, origin: str, settings: Map, picture: Path, *, adapts: bool = False
) -> AsyncIterator[Page]:
    """A page that has drawn the map, by requests to these two sites alone."""
    async with Served.start(FakeHub(), Settings(map=settings, origins=frozenset({origin}))) as served:
        page = await browser.new_page(viewport={"width": 512, "height": 512})
        page.set_default_timeout(PATIENCE_MS)
        elsewhere: list[str] = []

        def look(request: Request) -> None:
            if not request.url.startswith((origin, served.url, "blob:", "data:")):
                elsewhere.append(request.url)

        page.on("request", look)
        await page.goto(origin)
        await page.wait_for_function("window.ready")
        base = served.url + MAP.removesuffix("map")
        await page.evaluate("([base, adapts]) => draw(base, adapts)", [base, adapts])
        await page.screenshot(path=picture)
        assert await page.evaluate("window.errors") == []
        assert elsewhere == []
        yield page
        await page.close()


async def colours(page: Page, *points: tuple[int, int]) -> list[tuple[int, ...]]:
    found: list[list[int]] = await page.evaluate("(points) => colours(points)", [list(one) for one in points])
    return [tuple(one) for one in found]


def settings_of(world: Path, **changes: Any) -> Map:
    paths = Map(
        tiles=world / "vector.pmtiles", resources=world / "resources", contours=world / "contours.pmtiles"
    )
    return replace(paths, **changes)


def layer(kind: str, source: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "source": source, "source-layer": name, **more}


async def test_a_vector_archive_is_drawn_with_labels_and_contours(
    drawing_browser: Browser, origin: str, world: Path, tmp_path: Path
) -> None:
    async with drawn(drawing_browser, origin, settings_of(world), tmp_path / "vector.png") as page:
        west, east, *line = await colours(page, (128, 128), (384, 400), (384, 255), (384, 256))
        assert (west, east) == (WATER, LAND)
        assert set(line) != {LAND}
        label = await colours(page, *((x, y) for x in range(370, 400, 3) for y in range(110, 146, 3)))
        assert (51, 51, 51) in label


async def test_an_archive_of_maplibre_tiles_is_drawn_with_contours(
    drawing_browser: Browser, origin: str, world: Path, tmp_path: Path
) -> None:
    write_maplibre_world(world)
    settings = settings_of(world, tiles=world / "mlt.pmtiles", contours=world / "contours-mlt.pmtiles")
    async with drawn(drawing_browser, origin, settings, tmp_path / "mlt.png") as page:
        west, east, *line = await colours(page, (128, 128), (384, 400), (384, 255), (384, 256))
        assert (west, east) == (WATER, LAND)
        assert set(line) != {LAND}


async def test_a_raster_archive_is_drawn(
    drawing_browser: Browser, origin: str, world: Path, tmp_path: Path
) -> None:
    settings = settings_of(world, tiles=world / "raster.pmtiles", contours=None, resources=None)
    async with drawn(drawing_browser, origin, settings, tmp_path / "raster.png") as page:
        assert set(await colours(page, (10, 10), (128, 128), (500, 500))) == {RED}


async def test_a_style_with_relative_names_is_drawn_as_the_platforms_map_reads_it(
    drawing_browser: Browser, origin: str, world: Path, tmp_path: Path
) -> None:
    square = {"type": "Polygon", "coordinates": [[[20, -20], [70, -20], [70, -60], [20, -60], [20, -20]]]}
    (world / "resources" / "square.geojson").write_text(json.dumps(square))
    label = {"text-field": "A", "text-font": [FONT], "text-size": 24}
    style = {
        "version": 8,
        "glyphs": "./fonts/{fontstack}/{range}.pbf",
        "sprite": "../sprite",
        "sources": {
            "base": {"type": "vector", "url": "pmtiles://here"},
            "contours": {"type": "vector", "tiles": ["there"]},
            "square": {"type": "geojson", "data": "./square.geojson"},
        },
        "layers": [
            {"id": "land", "type": "background", "paint": {"background-color": "#ffffff"}},
            layer("fill", "base", "water", paint={"fill-color": "#0000ff"}),
            {"id": "square", "type": "fill", "source": "square", "paint": {"fill-color": "#00ff00"}},
            layer("line", "contours", "contour", paint={"line-width": 9}),
            layer("symbol", "base", "place", layout=label),
        ],
    }
    file = tmp_path / "style.json"
    file.write_text(json.dumps(style))
    settings = settings_of(world, style=file)
    async with drawn(drawing_browser, origin, settings, tmp_path / "own.png", adapts=True) as page:
        points = ((128, 128), (500, 20), (320, 320), (384, 256), (384, 128))
        expected = [(0, 0, 255), (255, 255, 255), (0, 255, 0), (0, 0, 0), (0, 0, 0)]
        assert await colours(page, *points) == expected
