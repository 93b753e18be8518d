"""The documents at `/docs/`: each file of the built site, and nothing else."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from aiohttp import web

from tests.http.served import Served
from tests.programs import built_site
from wifimgrd.http._errors import problems_middleware
from wifimgrd.http._routes import Routes
from wifimgrd.http._server import Server, bind
from wifimgrd.http.page._site import DocumentSite
from wifimgrd.http.page.resource import Page

PLAIN = {"Accept-Encoding": "identity"}
TEXT = {".html", ".css", ".js", ".json", ".svg", ".txt", ".yml"}


def files() -> list[Path]:
    found = [one for one in built_site().rglob("*") if one.is_file() and not one.name.startswith(".")]
    assert len(found) > 40
    return found


async def test_each_file_is_sent_as_it_was_built_and_kept_as_long_as_it_is_the_same(served: Served) -> None:
    for file in files():
        path = "/docs/" + file.relative_to(built_site()).as_posix().removesuffix("index.html")
        plain = await served.get(path, headers=PLAIN)
        assert (plain.status, plain.data) == (200, file.read_bytes()), path
        assert plain.headers["X-Content-Type-Options"] == "nosniff"
        assert plain.headers["Cache-Control"] == "no-cache"
        assert ("Content-Security-Policy" in plain.headers) is (file.suffix == ".html")
        again = await served.get(path, headers={**PLAIN, "If-None-Match": plain.headers["ETag"]})
        assert (again.status, again.data) == (304, b"")


async def test_what_is_text_comes_compressed(served: Served) -> None:
    for file in files():
        path = "/docs/" + file.relative_to(built_site()).as_posix().removesuffix("index.html")
        async with served.session.get(
            served.url + path, headers={"Accept-Encoding": "gzip"}, auto_decompress=False
        ) as answer:
            packed, coding = await answer.read(), answer.headers.get("Content-Encoding")
        assert coding == ("gzip" if file.suffix in TEXT else None), path
        assert (gzip.decompress(packed) if coding else packed) == file.read_bytes()


async def test_a_page_without_its_slash_leads_to_the_page(served: Served) -> None:
    for path, target in (("/docs/operating", "operating/"), ("/docs/api-stability", "api-stability/")):
        answer = await served.get(path)
        # Relative: a proxy may have put something before it.
        assert (answer.status, answer.headers["Location"]) == (308, target)


async def test_the_api_is_at_the_same_address_without_the_slash(served: Served) -> None:
    api, documents = await served.get("/docs"), await served.get("/docs/")
    assert b"Camera hub API" in api.data
    assert b"<title>wifimgrd</title>" in documents.data
    head = await served.ask("HEAD", "/docs/")
    assert (head.status, head.data) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        *("nowhere/", "images/", "search/nothing.js", ".set-up", "index.html/", "/operating/"),
        *("..%2fbuilt%2findex.html", "%2e%2e/resource.py", "images/..%2f..%2fresource.py", "a%00b.js"),
    ],
)
async def test_nothing_else_is_given_away(served: Served, path: str) -> None:
    answer = await served.get(f"/docs/{path}")
    assert (answer.status, answer.problem["code"]) == (404, "not-found")


async def test_a_browser_at_a_wrong_address_gets_a_page_that_leads_back(served: Served) -> None:
    answer = await served.get("/docs/nowhere/", headers={"Accept": "text/html", **PLAIN})
    assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert 'name="wifimgrd-root" content="../../"' in answer.data.decode()


async def test_documents_that_were_not_built_are_said_and_there_once_they_are(tmp_path: Path) -> None:
    bare = web.Application(middlewares=[problems_middleware])
    Page("/devices", site=DocumentSite(tmp_path)).add_to(Routes(bare))
    server = Server(bare)
    await server.start(bind("127.0.0.1", 0))
    try:
        async with Served.at(server.addresses[0].rstrip("/")) as served:
            answer = await served.get("/docs/", headers={"Accept": "text/html"})
            assert "`make site`" in answer.problem["detail"]
            (tmp_path / "index.html").write_text("built")
            assert (await served.get("/docs/")).data == b"built"
    finally:
        await server.stop()
