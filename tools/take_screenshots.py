"""The pictures in docs/images of page and terminal, anew: `.venv/bin/python -m tools.take_screenshots`."""

from __future__ import annotations

import asyncio
import html
import math
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pyte
from playwright.async_api import Browser, Page, Route, async_playwright, expect

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.looking import card, opened, shows
from tests.browser.made_rig import MadeRig, failed, recording, stopped
from tests.browser.running_hub import RunningHub, running_hub
from tests.browser.takes import Json, Takes, missing
from tests.browser.told import ago
from tests.cli.running import on_terminal

_SCENARIO: Final = "adapter_count = 3\n" + "".join(
    f"""
[[camera]]
ssid = "SIM-CAM-{number}"
password = "camera-pass-{number}"
driver = "insta360"
camera_model = "Insta360 X3"
signal = {signal}
battery = {battery}
card_gb = 256
card_free_gb = {free}
"""
    for number, signal, battery, free in (
        (1, 90, 92, 201),
        (2, 60, 58, 140),
        (3, 70, 80, 256),
        (4, 45, 31, 96),
    )
)
_TERMINAL: Final = """
pre { display: inline-block; margin: 0; padding: 1em; background: #16181d; font: 14px/1.35 monospace }
b { --of: #d7dae0; font-weight: normal; color: var(--of) } .bold { font-weight: bold }
.green { --of: #7ec77e } .red { --of: #ef7d7d } .brown { --of: #e0b95c } .cyan { --of: #6cc4cf }
.reverse { background: var(--of); color: #16181d }
"""
_IMAGES: Final = Path(__file__).parents[1] / "docs/images"


async def main() -> None:
    """Make a hub with something going on, and look at it."""
    with tempfile.TemporaryDirectory() as folder:
        async with running_hub(Path(folder), scenario=_SCENARIO) as hub, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            await _desktop(browser, hub)
            await _phone(browser, hub)
            await _takes(browser, hub)
            await _wall(browser, hub)
            await _terminal(browser, hub)
            await browser.close()


async def _desktop(browser: Browser, hub: RunningHub) -> None:
    page = await _page(browser, 1280, 860, "light")
    await opened(page, hub)
    await hub.connected(1, "Front")
    await hub.connected(2, "Left wing")
    lost = await hub.connected(4, "Right wing")
    await page.get_by_role("button", name="Record on all").click()
    await expect(page.locator(".badge.recording")).to_have_count(3)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Network name").fill("SIM-CAM-3")
    await dialog.get_by_role("button", name="Next").click()
    await expect(dialog.get_by_label("Model")).to_be_visible()
    await dialog.get_by_label("Model").select_option("insta360-x4")
    await page.screenshot(path=_IMAGES / "add-a-camera.png")
    await page.keyboard.press("Escape")
    await hub.power(4, on=False)
    await hub.until(lost, "disconnected")
    await shows(page, "Right wing", "Searching")
    await hub.set_fault("slow-join")
    await hub.create(3, "Tail")
    await shows(page, "Tail", "Connecting")
    await expect(card(page, "Front").locator(".badge")).to_have_text("Recording 0:12")
    await _quiet(page)
    await page.screenshot(path=_IMAGES / "page.png")
    await card(page, "Right wing").get_by_role("link", name="Right wing").click()
    await expect(page.get_by_role("article").get_by_role("listitem").first).to_be_visible()
    await expect(page.get_by_role("slider")).to_be_visible()
    await _quiet(page)
    await page.screenshot(path=_IMAGES / "camera.png")


async def _quiet(page: Page) -> None:
    """Without the messages that go away by themselves."""
    while await page.locator(".toast").count():
        await page.locator(".toast button").first.click()


async def _phone(browser: Browser, hub: RunningHub) -> None:
    page = await _page(browser, 390, 844, "dark")
    await opened(page, hub)
    await _quiet(page)
    await page.screenshot(path=_IMAGES / "phone.png")


async def _takes(browser: Browser, hub: RunningHub) -> None:
    """Takes of a morning, since the hub has run for a minute; the first one runs."""
    page = await _page(browser, 1280, 720, "light")
    ids = {device.name: device.id for device in hub.client.devices.values()}
    shown = _morning(ids)
    await page.route("**/takes?*", lambda route: route.fulfill(json={"takes": shown}))
    await opened(page, hub, "#takes")
    await page.get_by_role("button", name="7 days").click()
    await expect(page.locator(".running")).to_have_count(2)
    await _quiet(page)
    await page.screenshot(path=_IMAGES / "takes.png")


def _morning(ids: dict[str, int]) -> list[Json]:
    makes = Takes(datetime.now(UTC) - timedelta(seconds=724))

    def recording(name: str, begin: float, end: float | None, offset: int = 20, **members: object) -> Json:
        free = {"Front": 208_000_000_000, "Left wing": 147_000_000_000}.get(name)
        known = {"clock_offset_ms": offset, "clock_bound_ms": 40, "storage_free": free}
        return makes.recording(ids[name], name, begin, end, **{**known, **members})

    tail = missing(ids["Tail"], "Tail", "not-connected")
    running = [
        recording("Right wing", 0.038, 550, -30, code="full", files=_clips(31, 4_000, 3_800)),
        recording("Front", 0, None),
        recording("Left wing", 0.012, None, 4),
    ]
    off = "The recording stopped: the camera was switched off."
    broken = [
        recording("Left wing", -4_600, -4_130, 4, code="unknown", message=off, files=_clips(19, 3_900)),
        recording("Left wing", -4_124, -3_495, 4, files=_clips(20, 4_000, 1_200)),
        recording("Front", -4_599.96, -3_495, files=_clips(11, 4_000, 4_000, 1_100)),
        recording("Right wing", -4_599.97, -3_495, -30, files=_clips(30, 4_000, 4_000, 1_100)),
        recording("Tail", -4_599.98, -3_495, clock_offset_ms=None, clock_bound_ms=None),
    ]
    whole = [
        recording(name, at - 7_200, -6_460, files=_clips(8, 4_000, 2_100))
        for name, at in (("Front", 0), ("Left wing", 0.029), ("Right wing", 0.02), ("Tail", 0.011))
    ]
    return [makes.take(running, [tail]), makes.take(broken), makes.take(whole)]


def _clips(first: int, *megabytes: int) -> list[Json]:
    return [
        {"name": f"DCIM/Camera01/VID_00_{number:03}.insv", "size": size * 1_000_000}
        for number, size in enumerate(megabytes, first)
    ]


async def _wall(browser: Browser, hub: RunningHub) -> None:
    """Nine cameras in flight, of which two need somebody."""
    cameras = {
        "Front": recording(),
        "Left wing": recording(battery_level=64, recording_time_left_s=2_900),
        "Right wing": recording(battery_level=14, recording_time_left_s=1_230, problems=["battery-low"]),
        "Tail": stopped("storage-full"),
        "Nose": failed("authentication-failed"),
        "Belly": recording(492, battery_level=77, recording_time_left_s=6_010),
        "Chin": {"power_state": "asleep", "last_seen": ago(8)},
        "Mast": failed("connection-lost") | {"lost_at": ago(60)},
        "Keel": recording(battery_level=91, recording_time_left_s=7_390),
    }
    page = await _page(browser, 1280, 720, "light")
    await MadeRig(cameras).to(page)
    await opened(page, hub, "#wall")
    await expect(page.locator(".wall-tile")).to_have_count(len(cameras))
    await page.screenshot(path=_IMAGES / "wall.png")


async def _terminal(browser: Browser, hub: RunningHub) -> None:
    """`wifimgrctl watch` in 80 columns."""
    screen = pyte.Screen(80, 24)
    stream = pyte.Stream(screen)
    async with on_terminal(hub.bus, "watch", TERM="xterm-256color") as terminal:
        fed = 0
        while not screen.display[-1].startswith("q quit"):
            await terminal.more()
            stream.feed(terminal.seen[fed:])
            fed = len(terminal.seen)
    lines = (
        "".join(_shown(screen.buffer[row][column]) for column in range(screen.columns))
        for row in range(screen.lines)
    )
    page = await _page(browser, 800, 600, "dark")
    await page.set_content(f"<style>{_TERMINAL}</style><pre>{'<br>'.join(lines)}</pre>")
    await page.locator("pre").screenshot(path=_IMAGES / "watch.png")


def _shown(cell: pyte.screens.Char) -> str:
    """A character of a terminal as HTML."""
    classes = [cell.fg, *(name for name in ("bold", "reverse") if getattr(cell, name))]
    return f'<b class="{" ".join(classes)}">{html.escape(cell.data)}</b>'


async def _page(browser: Browser, width: int, height: int, scheme: str) -> Page:
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = await context.new_page()
    await page.route("**/signal?*", _an_hour)
    return page


async def _an_hour(route: Route) -> None:
    """The signal of an hour, since the hub has run for a minute: a slow wave, and a gap; and the battery."""
    device = int(route.request.url.partition("/signal")[0].rpartition("/")[2])
    now = datetime.now(UTC).replace(microsecond=0)
    values = [
        [(now - timedelta(minutes=ago)).isoformat(), mean, mean - 4 - ago * device % 7]
        for ago in range(60, 1, -1)
        if not 20 + device <= ago <= 22 + 2 * device
        for mean in (round(64 + 9 * math.sin(ago / 7 + device) + 5 * math.sin(ago / 2.3)),)
    ]
    # As the camera whose page is shown says in the end.
    battery = [31 + left // 2 for left in range(len(values), 0, -1)]
    await route.fulfill(json={"step_s": 60, "samples": values, "battery": battery})


if __name__ == "__main__":
    asyncio.run(main())
