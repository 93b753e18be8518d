"""The page on real 802.11: the product runs in the lab's guest, the browser outside of it.

Its name keeps it out of a plain run of the suite, which needs no lab: `tools/test` names it.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from asyncio.subprocess import STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import card, is_the_same, mark, opened_menu, shows
from tests.lab.guest.serial_line import SerialLine

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAB = Path(__file__).parents[1] / "lab"
COMMAND = "tests/lab/guest/install_checkout.sh && cd /src && exec python3 -m tests.lab.guest.stage"
BOOT_S, PLAY_S, WORD_S = 60, 240, 30
LOST_BOOT = (124, 125)  # boot.sh
RADIO_MS = 60_000
"""What a step may take that real radios take."""


@dataclass
class Stage:
    """A guest in which the product runs, and the way to it."""

    guest: Process
    line: SerialLine
    received: asyncio.Queue[str]
    log: Path

    async def until_received(self, word: str, seconds: float = WORD_S) -> None:
        """Wait for a word of the guest's director."""
        async with asyncio.timeout(seconds):
            assert await self.received.get() == word

    async def do(self, word: str) -> None:
        """Have something done in the guest."""
        self.line.say(word)
        await self.until_received(word)

    async def is_ready(self) -> bool:
        """Whether it booted; it may be lost while it does, as the lab's README says."""
        ready = asyncio.create_task(self.until_received("ready", BOOT_S + WORD_S))
        ended = asyncio.create_task(self.guest.wait())
        await asyncio.wait((ready, ended), return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ended.cancel()
            ready.result()
            return True
        ready.cancel()
        assert ended.result() in LOST_BOOT, self.said()
        return False

    async def end(self, word: str) -> int:
        """End it; what the guest's command ended with."""
        self.line.say(word)
        async with asyncio.timeout(WORD_S):
            return await self.guest.wait()

    def said(self) -> str:
        """The end of what the guest printed."""
        return self.log.read_text(errors="replace")[-4000:]


@asynccontextmanager
async def booting(folder: Path) -> AsyncIterator[Stage]:
    """Boot a guest, and end it after."""
    ours, theirs = socket.socketpair()
    received: asyncio.Queue[str] = asyncio.Queue()
    reader, writer = await asyncio.open_connection(sock=ours)
    line = SerialLine(reader, writer, received.put, None)
    log = folder / "guest.log"
    with log.open("ab") as output:
        guest = await asyncio.create_subprocess_exec(
            LAB / "boot.sh", "-o", str(folder / "out"), "-l", str(theirs.fileno()),
            "-b", str(BOOT_S), "-t", str(PLAY_S), "--", COMMAND,
            stdout=output, stderr=STDOUT, pass_fds=(theirs.fileno(),),
        )  # fmt: skip
    theirs.close()
    following = asyncio.create_task(line.follow())
    try:
        yield Stage(guest, line, received, log)
    finally:
        if guest.returncode is None:
            guest.terminate()
            await guest.wait()
        following.cancel()
        writer.close()


@asynccontextmanager
async def on_stage(folder: Path) -> AsyncIterator[tuple[Stage, str]]:
    """A guest that plays, and where a browser finds its shim; a boot that is lost is made once more."""
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(booting(folder))
        if not await stage.is_ready():
            stage = await stack.enter_async_context(booting(folder))
            assert await stage.is_ready(), stage.said()
        server = await asyncio.start_server(stage.line.carry, "127.0.0.1", 0)
        stack.callback(server.close)
        try:
            yield stage, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        except BaseException:
            await stage.end("fail")
            raise
        assert await stage.end("end") == 0, stage.said()


async def test_a_camera_is_added_looked_at_dies_and_returns(page: Page, tmp_path: Path) -> None:
    subprocess.run([LAB / "build.sh", "uml"], check=True)  # noqa: ASYNC221 - once, before anything runs
    page.set_default_timeout(RADIO_MS)
    expect.set_options(timeout=RADIO_MS)
    async with on_stage(tmp_path) as (lab, url):
        await page.goto(url)
        await expect(page.locator("[data-hub=ready]")).to_be_attached()
        await mark(page)
        await page.get_by_role("button", name="Add a camera").click()
        dialog = page.get_by_role("dialog", name="Add a camera")
        await dialog.get_by_role("radio", name="CAM_A").check()
        await dialog.get_by_role("button", name="Next").click()
        await dialog.get_by_label("Model").select_option("Insta360 X3")
        await dialog.get_by_label("Password", exact=True).fill("secret-A")
        await dialog.get_by_label("Name (optional)").fill("Front")
        await dialog.get_by_role("button", name="Add and connect").click()
        await shows(page, "Front", "Connected")
        menu = await opened_menu(card(page, "Front"))
        async with page.expect_popup() as opening:
            await menu.get_by_role("menuitem", name="Open the camera's own page").click()
        cameras_own = await opening.value
        await expect(cameras_own.locator("body")).to_have_text("A")
        await cameras_own.close()

        await lab.do("kill")
        await shows(page, "Front", "Searching")
        trouble = card(page, "Front").locator(".trouble")
        await expect(trouble).to_contain_text("The connection was lost.")
        await expect(trouble).to_contain_text("Reconnects automatically")

        await lab.do("on")
        await shows(page, "Front", "Connected")
        await expect(trouble).to_be_hidden()
        assert await is_the_same(page)
