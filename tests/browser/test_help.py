"""The help: the API for people, with an index and a line for a shell each, and what the page is made of."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import is_the_same, mark, opened
from tests.browser.running_hub import RunningHub
from wifimgrd import __version__

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_each_operation_is_in_the_index_with_an_example(page: Page, hub: RunningHub) -> None:
    await page.goto(hub.url + "docs")
    index = page.get_by_role("navigation", name="Index")
    await expect(index).to_be_visible()
    names = await index.get_by_role("link").all_text_contents()
    assert names[0] == "Every device, in order of id", "what people look for comes first"
    assert len(names) > 20
    for link in await index.get_by_role("link").all():
        part = page.locator(f"article{await link.get_attribute('href')}")
        await expect(part.locator("> pre.curl")).to_have_count(1)
    await expect(index).to_contain_text("GET P/wifi/interfaces")
    await expect(index).not_to_contain_text("/assets/")
    await index.get_by_role("link", name="Register a camera").click()
    await expect(page.get_by_role("heading", name="Register a camera")).to_be_in_viewport()


async def test_the_examples_are_those_of_the_description(page: Page, hub: RunningHub) -> None:
    await page.goto(hub.url + "docs")
    part = page.locator("#create_device")
    await expect(part.locator("pre.curl")).to_be_visible()
    paths = (await (await page.request.get(hub.url + "openapi.json")).json())["paths"]
    [described] = [
        methods["post"]
        for methods in paths.values()
        if methods.get("post", {}).get("operationId") == "create_device"
    ]
    line = shlex.split(await part.locator("pre.curl").inner_text())
    sent = described["requestBody"]["content"]["application/json"]["example"]
    assert json.loads(line[line.index("-d") + 1]) == sent
    answer = await part.locator("pre.answer").inner_text()
    assert json.loads(answer) == described["responses"]["201"]["content"]["application/json"]["example"]


async def test_the_lines_for_a_shell_are_understood(page: Page, hub: RunningHub) -> None:
    """Those that read: what they ask for may be missing, e.g. a map, but none is a wrong request."""
    device = await hub.connected(1)
    await page.goto(hub.url + "docs")
    await expect(page.locator("pre.curl").first).to_be_visible()
    lines = await page.locator("pre.curl").all_text_contents()
    read = [line for line in lines if " -X " not in line and " -d " not in line]
    # What goes on for ever, and what the camera itself would answer, are not read here.
    read = [line for line in read if not re.search(r"/ws/|/events|/cameras/", line)]
    assert len(read) > 12
    for line in read:
        command = shlex.split(line.replace("device_id=1", f"device_id={device}"))
        assert command[0] == "curl"
        found = await asyncio.create_subprocess_exec(
            *command,
            "--max-time",
            "60",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            stdout=asyncio.subprocess.PIPE,
        )
        status, _ = await found.communicate()
        assert status.decode() in ("200", "404", "202"), line


async def test_the_example_of_a_body_registers_a_camera(page: Page, hub: RunningHub) -> None:
    await page.goto(hub.url + "docs")
    await expect(page.locator("pre.curl").first).to_be_visible()
    lines = await page.locator("pre.curl").all_text_contents()
    [line] = [one for one in lines if "connection_settings" in one and " -X " not in one]
    created = await asyncio.create_subprocess_exec(*shlex.split(line), stdout=asyncio.subprocess.PIPE)
    answer, _ = await created.communicate()
    record = json.loads(answer)
    await hub.until(record["id"], "connected")
    assert record["connection_settings"] == {"ssid": "SIM-CAM-1"}


async def test_version_and_licenses_are_shown(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await expect(page.get_by_text(f"wifimgrd {__version__}")).to_be_visible()
    await page.get_by_role("link", name="Licenses").click()
    body = page.locator("body")
    for part in ("Apache License", "preact", "leaflet", "MIT License"):
        await expect(body).to_contain_text(part)


async def test_a_report_is_downloaded_and_names_no_camera(page: Page, hub: RunningHub) -> None:
    await hub.connected(1)
    await opened(page, hub)
    await mark(page)
    async with page.expect_download() as started:
        await page.get_by_role("link", name="Download a report").click()
    download = await started.value
    assert download.suggested_filename == "wifimgrd-report.txt"
    text = await asyncio.to_thread(Path(await download.path()).read_text)
    assert "wifimgrctl diagnose" in text
    assert "SSID-" in text
    assert "SIM-CAM" not in text
    await expect(page.locator(".toast")).to_contain_text("Read it before you send it")
    assert await is_the_same(page)


async def test_why_there_is_no_report_is_shown(page: Page, hub: RunningHub) -> None:
    await page.set_extra_http_headers({"X-Forwarded-For": "192.0.2.1"})
    await opened(page, hub)
    await page.get_by_role("link", name="Download a report").click()
    refusal = "without a token, a report can be downloaded only on the hub itself"
    await expect(page.locator(".toast")).to_contain_text(refusal)
