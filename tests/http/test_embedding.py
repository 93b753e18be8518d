"""The platform's page behind a proxy, with the lines that docs/platform.md prints, in a real nginx."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.docs.code_blocks import code_blocks
from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http._server import bind
from wifimgrd.http.settings import Settings

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
TOKEN = "0123456789abcdef"
START_S = 60.0
AROUND = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {lines}
}}
"""
KEPT = "        proxy_set_header Host $http_host;\n"
FOREIGN = "http://elsewhere.example"


@pytest.fixture
def settings() -> Settings:
    return Settings(token=TOKEN)


@pytest.fixture
def port() -> int:
    """A free one, for nginx."""
    [free] = bind("127.0.0.1", 0)
    with free:
        port: int = free.getsockname()[1]
    return port


def printed_lines() -> str:
    """The lines for nginx in the document."""
    [block] = [one for one in code_blocks("docs/platform.md") if one.language == "nginx"]
    assert KEPT in block.text
    return block.text


@asynccontextmanager
async def proxy(hub: Served, port: int, folder: Path, lines: str) -> AsyncIterator[Served]:
    """nginx before a hub, and an HTTP client that asks it."""
    assert NGINX, "nginx is not installed"
    page = folder / "platform"
    page.mkdir()
    (page / "index.html").write_text("the platform's page")
    for printed, here in (
        ("127.0.0.1:5173", f"127.0.0.1:{port}"),
        ("127.0.0.1:8080", hub.host),
        ("/srv/platform", str(page)),
    ):
        assert printed in lines
        lines = lines.replace(printed, here)
    configuration = folder / "nginx.conf"
    configuration.write_text(AROUND.format(folder=folder, lines=lines))
    process = await asyncio.create_subprocess_exec(NGINX, "-c", str(configuration), "-p", str(folder))
    try:
        async with asyncio.timeout(START_S), Served.at(f"http://127.0.0.1:{port}") as client:
            while True:
                with suppress(aiohttp.ClientConnectorError):
                    await client.get("/")
                    break
                await asyncio.sleep(0.01)
        async with Served.at(f"http://127.0.0.1:{port}") as client:
            yield client
    finally:
        process.terminate()
        await process.wait()


async def assert_works(page: Served, fake_hub: FakeHub) -> None:
    """What the platform's page does, all of it on its own origin, without a token."""
    own = {"Origin": page.url}
    assert (await page.get("/")).data == b"the platform's page"
    assert (await page.get("/icons/camera.svg")).headers["Content-Type"] == "image/svg+xml"
    assert [one["id"] for one in (await page.get(P + "/")).json] == [1]
    assert (await page.get(f"{P}/wifi/connect?device_id=1", headers=own)).status == 200
    body = {"codename": "x", "connection_type": "wifi", "connection_settings": {}}
    assert (await page.post(P + "/", json=body, headers=own)).status == 201
    channel = await page.channel("/ws/management/", headers=own)
    assert (await channel.receive_json())["type"] == "snapshot"
    kind = "command.device.device_connection.connect"
    await channel.send_str(json.dumps({"type": kind, "device_connection_id": 1}))
    assert (await channel.receive_json())["type"] == "device.connection_status.update"
    assert [one[0] for one in fake_hub.asked] == ["connect", "create", "connect"]


async def assert_another_site_is_refused(page: Served) -> None:
    answer = await page.get(f"{P}/wifi/connect?device_id=1", headers={"Origin": FOREIGN})
    assert answer.problem["code"] == "not-authorized"
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await page.channel("/ws/management/", headers={"Origin": FOREIGN})


async def test_the_page_works_through_nginx_on_one_origin(
    served: Served, fake_hub: FakeHub, port: int, tmp_path: Path
) -> None:
    fake_hub.appear(DeviceRecord(1))
    async with proxy(served, port, tmp_path, printed_lines()) as page:
        await assert_works(page, fake_hub)
        await assert_another_site_is_refused(page)


async def test_where_host_is_rewritten_the_pages_origin_is_to_be_admitted(
    served: Served, fake_hub: FakeHub, port: int, tmp_path: Path
) -> None:
    fake_hub.appear(DeviceRecord(1))
    async with proxy(served, port, tmp_path, printed_lines().replace(KEPT, "")) as page:
        refused = await page.get(f"{P}/wifi/connect?device_id=1", headers={"Origin": page.url})
        assert refused.problem["code"] == "not-authorized"


class TestAdmitted:
    """Where the page's origin is admitted by name."""

    @pytest.fixture
    def settings(self, port: int) -> Settings:
        return Settings(token=TOKEN, origins=frozenset({f"http://127.0.0.1:{port}"}))

    async def test_where_host_is_rewritten_an_admitted_page_works(
        self, served: Served, fake_hub: FakeHub, port: int, tmp_path: Path
    ) -> None:
        fake_hub.appear(DeviceRecord(1))
        async with proxy(served, port, tmp_path, printed_lines().replace(KEPT, "")) as page:
            await assert_works(page, fake_hub)
            await assert_another_site_is_refused(page)
