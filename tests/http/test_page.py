"""The page's files: headers, tags, compression, and what is in them."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from tests.http.fake_hub import FakeHub
from tests.http.served import Answer, Served
from tests.programs import built_page
from wifimgrd.config.web_address import web_socket_address
from wifimgrd.http._errors import problems_middleware
from wifimgrd.http._routes import Routes
from wifimgrd.http._server import Server, bind
from wifimgrd.http.page.files import Files
from wifimgrd.http.page.resource import Page
from wifimgrd.http.page.sending import accepts_gzip
from wifimgrd.http.settings import Fleet, Settings

SCRIPT_LIMIT = 150_000
MOST_SCRIPTS = 5
PLAIN = {"Accept-Encoding": "identity"}


async def page(served: Served, path: str = "/") -> str:
    answer = await served.get(path, headers=PLAIN)
    assert answer.status == 200
    return answer.data.decode()


def assets_in(text: str) -> list[str]:
    return re.findall(r'(?:src|href)="(?:\.\./)?(assets/[^"]+)"', text)


async def test_the_page_and_the_docs_are_strict(served: Served) -> None:
    for path in ("/", "/docs", "/docs/", "/docs/http/"):
        answer = await served.get(path)
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_nothing_is_inline_and_nothing_comes_from_elsewhere(served: Served) -> None:
    for path in ("/", "/docs", "/docs/", "/docs/http/"):
        text = await page(served, path)
        assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=", text) == []
        assert re.findall(r"(?:src|href)=\"(?:https?:)?//", text) == []
        for asset in assets_in(text):
            assert (await served.get("/" + asset)).status == 200


async def test_a_browser_at_a_wrong_address_gets_a_page_that_leads_back(served: Served) -> None:
    for path, root in (("/nowhere", ""), ("/far/from/here/", "../../../")):
        answer = await served.get(path, headers={"Accept": "text/html,*/*;q=0.8", **PLAIN})
        assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        text = answer.data.decode()
        assert f'name="wifimgrd-root" content="{root}"' in text
        for asset in re.findall(r'(?:src|href)="([^"]*assets/[^"]+)"', text):
            assert asset.startswith(f"{root}assets/")
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    program = await served.get("/nowhere")
    assert (program.status, program.headers["Content-Type"]) == (404, "application/problem+json")
    posted = await served.ask("POST", "/nowhere", headers={"Accept": "text/html"})
    assert posted.headers["Content-Type"] == "application/problem+json"


async def test_the_page_can_be_among_a_phones_applications(served: Served) -> None:
    [manifest] = [one for one in assets_in(await page(served)) if one.endswith(".webmanifest")]
    answer = await served.get("/" + manifest)
    assert answer.headers["Content-Type"] == "application/manifest+json"
    application = json.loads(answer.data)
    assert application["start_url"] == "../"
    assert (await served.get("/assets/" + application["icons"][0]["src"])).status == 200


async def test_the_page_knows_the_platforms_addresses() -> None:
    async with Served.start(FakeHub(), Settings(platform="ground.station")) as served:
        text = await page(served)
    assert 'content="plugin-views/ground.station_plugin_device_manager/devices"' in text


@pytest.mark.parametrize(
    ("token", "headers", "shown"),
    [
        (None, {}, ""),
        ("s3cret", {}, "session"),
        ("s3cret", {"Authorization": "Bearer wrong"}, "session"),
        ("s3cret", {"Authorization": "Bearer s3cret"}, ""),
    ],
)
async def test_the_page_can_end_a_session_but_where_a_proxy_adds_the_token(
    token: str | None, headers: dict[str, str], shown: str
) -> None:
    async with Served.start(FakeHub(), Settings(token=token)) as served:
        answer = await served.get("/", headers=PLAIN | headers)
    assert f'<meta name="wifimgrd-sessions" content="{shown}">' in answer.data.decode()


async def test_a_client_that_has_it_gets_not_modified(served: Served) -> None:
    for path in ("/", "/" + assets_in(await page(served))[0]):
        first = await served.get(path)
        again = await served.get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status, again.data) == (304, b"")
        assert (await served.get(path, headers={"If-None-Match": 'W/"other", *'})).status in (200, 304)
        assert (await served.get(path, headers={"If-None-Match": '"other"'})).status == 200


async def test_assets_are_kept_for_good_and_the_page_is_asked_for_again(served: Served) -> None:
    assert (await served.get("/")).headers["Cache-Control"] == "no-cache"
    asset = await served.get("/" + assets_in(await page(served))[0])
    assert "immutable" in asset.headers["Cache-Control"]


@pytest.mark.parametrize("wanted", ["script", "/openapi.json", "/asyncapi.json"])
async def test_who_takes_gzip_gets_gzip(served: Served, wanted: str) -> None:
    if wanted == "script":
        wanted = "/" + next(one for one in assets_in(await page(served)) if one.endswith(".js"))
    plain = await served.get(wanted, headers=PLAIN)
    assert "Content-Encoding" not in plain.headers
    async with served.session.get(
        served.url + wanted, headers={"Accept-Encoding": "br, gzip;q=0.5"}, auto_decompress=False
    ) as answer:
        packed = Answer(answer.status, answer.headers, await answer.read())
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert packed.headers["ETag"] != plain.headers["ETag"]
    assert len(packed.data) < len(plain.data)
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("", False),
        ("gzip", True),
        ("GZIP, br", True),
        ("*", True),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip;q=0.001", True),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
    ],
)
def test_accept_encoding(accepted: str, takes: bool) -> None:
    assert accepts_gzip(accepted) is takes


@pytest.mark.parametrize(
    "name", ["no-such.js", "..%2findex.html", "%2e%2e%2f..%2ffiles.py", ".set-up", "index.html", "a%00b.js"]
)
async def test_nothing_else_is_given_away(served: Served, name: str) -> None:
    answer = await served.get(f"/assets/{name}")
    assert (answer.status, answer.problem["code"]) == (404, "not-found")


DOCUMENTS = ("index.html", "docs.html", "fleet.html", "missing.html")


def scripts_of(document: str) -> list[str]:
    """The scripts that a document names, which are all that is read before it is drawn."""
    return re.findall(r"(?:src|href)=\"\{root\}assets/([^\"]+\.js)\"", (built_page() / document).read_text())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_script_is_small_without_map_and_plots(document: str) -> None:
    scripts = scripts_of(document)
    assert 0 < sum((built_page() / "assets" / name).stat().st_size for name in scripts) < SCRIPT_LIMIT
    for large in ("map-", "mqtt.", "over_time-"):
        assert not any(name.startswith(large) for name in scripts)
        assert list((built_page() / "assets").glob(f"{large}*.js")), "they are read when they are needed"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_each_script_that_it_needs(document: str) -> None:
    """A browser would learn of each only once it has read another."""
    scripts = scripts_of(document)
    for name in scripts:
        text = (built_page() / "assets" / name).read_text()
        needed = re.findall(r"(?:\bfrom|\bimport)\"\./([^\"]+\.js)\"", text)
        assert set(needed) <= set(scripts)


def test_the_hubs_page_is_read_in_few_requests() -> None:
    assert len(scripts_of("index.html")) <= MOST_SCRIPTS


FLEET = Settings(fleet=Fleet(web_socket_address("wss://broker.example:8084/mqtt"), "ours/boats"))


async def test_the_page_of_all_hubs_may_connect_to_its_broker_alone() -> None:
    async with Served.start(FakeHub(), FLEET) as served:
        answer = await served.get("/fleet/")
        own = await served.get("/")
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert "connect-src wss://broker.example:8084" in policy
    assert "connect-src 'self'" in own.headers["Content-Security-Policy"].split("; ")
    rest = [one for one in own.headers["Content-Security-Policy"].split("; ") if "connect-src" not in one]
    assert [one for one in policy if "connect-src" not in one] == rest


async def test_the_page_of_all_hubs_is_given_the_broker_and_the_prefix() -> None:
    async with Served.start(FakeHub(), FLEET) as served:
        with_slash, without = await page(served, "/fleet/"), await page(served, "/fleet")
        assert '<meta name="wifimgrd-fleet" content="fleet/">' in await page(served)
    assert '<meta name="wifimgrd-broker" content="wss://broker.example:8084/mqtt">' in with_slash
    assert '<meta name="wifimgrd-prefix" content="ours/boats">' in with_slash
    assert 'src="../assets/' in with_slash
    assert 'src="assets/' in without
    assert "{" not in with_slash


async def test_without_a_broker_there_is_no_page_of_all_hubs(served: Served) -> None:
    for path in ("/fleet", "/fleet/"):
        answer = await served.get(path)
        assert (answer.status, answer.problem["code"]) == (404, "not-found")
        browser = await served.get(path, headers={"Accept": "text/html"})
        assert (browser.status, browser.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert '<meta name="wifimgrd-fleet" content="">' in await page(served)


async def test_the_page_of_all_hubs_needs_no_token_as_no_page_does() -> None:
    async with Served.start(FakeHub(), replace(FLEET, token="0123456789abcdef")) as served:
        assert (await served.get("/fleet/")).status == 200


async def test_a_page_that_was_not_built_is_said(tmp_path: Path) -> None:
    bare = web.Application(middlewares=[problems_middleware])
    Page("/devices", Files(tmp_path)).add_to(Routes(bare))
    server = Server(bare)
    await server.start(bind("127.0.0.1", 0))
    try:
        async with Served.at(server.addresses[0].rstrip("/")) as served:
            assert "not built" in (await served.get("/")).problem["detail"]
    finally:
        await server.stop()


class TestWithAToken:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(token="secret")

    async def test_the_pages_files_need_none_and_what_they_show_does(self, served: Served) -> None:
        text = await page(served)
        for asset in assets_in(text):
            assert (await served.get("/" + asset)).status == 200
        for path in ("/docs", "/docs/", "/docs/http/", "/docs/search/search_index.json"):
            assert (await served.get(path)).status == 200
        for path in ("/openapi.json", "/metrics", "/tiles/"):
            assert (await served.get(path)).status == 401
