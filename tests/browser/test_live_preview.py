"""A Theta's picture, the first of its live preview: while somebody looks and it does not record."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Request, expect

from tests.browser.looking import SIZES, act, card, opened, shows, sized
from tests.browser.running_hub import RunningHub, running_hub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_recording import CAMERAS, SCENARIO, clear, connected
from tests.browser.test_stills import FIRST_PIXEL
from tests.browser.told import Told, said
from wifimgrd.simulator.emulators._live_preview import picture

pytestmark = pytest.mark.asyncio(loop_scope="session")

COMMAND: Final = '{"name":"camera.getLivePreview","parameters":{}}'
WELL: Final = {
    "battery = 18": "battery = 80",
    "card_free_gb = 1.5": "card_free_gb = 40",
    "clock_offset_s = -75": "",
}
"""What is wrong with the Theta of the demonstration, and what is not."""
WITHOUT_A_PICTURE: Final = ("Front", "Back", "Helmet")
SHOWN: Final = "canvas.still:not(.none)"
SKY: Final = "canvas => [...canvas.getContext('2d').getImageData(400, 8, 1, 1).data]"
"""The colour of a place that no text and no mark comes to."""
DECODED: Final = """async bytes => {
  const blob = new Blob([Uint8Array.from(atob(bytes), one => one.charCodeAt(0))]);
  const decoded = await createImageBitmap(blob, { resizeWidth: 800, resizeQuality: "medium" });
  const canvas = Object.assign(document.createElement("canvas"), { width: 800, height: 400 });
  canvas.getContext("2d").drawImage(decoded, 0, 0);
  return [...canvas.getContext("2d").getImageData(400, 8, 1, 1).data];
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub with the cameras of the demonstration in the air, nothing wrong with any."""
    scenario = SCENARIO.read_text()
    for troubled, sound in WELL.items():
        assert troubled in scenario
        scenario = scenario.replace(troubled, sound)
    folder = tmp_path_factory.mktemp("live_preview")
    async with running_hub(folder, "[cameras]\nset_clock = false\n", scenario) as hub:
        yield hub


@pytest_asyncio.fixture(loop_scope="session")
async def hub(whole_hub: RunningHub) -> RunningHub:
    """The same, without devices; no camera records."""
    await clear(whole_hub)
    return whole_hub


class Asked:
    """The requests to cameras, and those of them that the page has ended."""

    def __init__(self, page: Page) -> None:
        self.requests: list[Request] = []
        self.ended = asyncio.Event()
        page.on("request", self._saw)
        page.on("requestfailed", self._ended)

    def _saw(self, request: Request) -> None:
        if "/cameras/" in request.url:
            self.requests.append(request)

    def _ended(self, request: Request) -> None:
        if request in self.requests:
            self.ended.set()


async def test_the_card_and_the_page_show_the_first_picture_of_the_live_preview(
    page: Page, hub: RunningHub
) -> None:
    devices = dict(zip(CAMERAS, await connected(hub, *CAMERAS), strict=True))
    asked = Asked(page)
    await opened(page, hub)
    still = card(page, "Tail").locator(SHOWN)
    await expect(still).to_have_js_property("width", 800)
    await expect(still).to_have_js_property("height", 400)
    seen = picture(CAMERAS["Tail"][1], 0, 1024, 512)
    assert await still.evaluate(SKY) == await page.evaluate(DECODED, base64.b64encode(seen).decode())
    async with asyncio.timeout(10):
        await asked.ended.wait()  # the stream has no end of its own
    [request] = asked.requests
    assert request.url == f"{hub.url}cameras/{devices['Tail']}/osc/commands/execute"
    assert (request.method, request.post_data) == ("POST", COMMAND)
    for name in WITHOUT_A_PICTURE:
        await expect(card(page, name).locator("canvas")).to_have_count(0)
    assert await findings(page) == []
    await card(page, "Tail").get_by_role("link", name="Tail").click()
    await expect(page.get_by_role("figure")).to_contain_text("The camera's view at ")
    await expect(page.locator("canvas.still.large")).to_have_js_property("height", 400)
    assert len(asked.requests) == 1, "it has one of this minute already"
    assert await findings(page) == []


async def test_while_it_records_it_is_not_asked_and_shows_none(page: Page, hub: RunningHub) -> None:
    await connected(hub, "Tail")
    asked = Asked(page)
    await page.clock.install()
    await opened(page, hub)
    await expect(card(page, "Tail").locator(SHOWN)).to_be_visible()
    await act(card(page, "Tail"), "Record")
    await expect(card(page, "Tail").locator(".badge")).to_contain_text("Recording")
    without = card(page, "Tail").get_by_role("img", name="Tail: no picture while it records")
    await expect(without).to_have_class("still none away")
    await expect(without).to_have_js_property("width", 1)
    assert await without.evaluate(FIRST_PIXEL) == [0, 0, 0, 0], "the last picture is not there either"
    await page.clock.fast_forward(600_000)
    await card(page, "Tail").get_by_role("link", name="Tail").click()
    await expect(page.get_by_role("figure")).to_have_text("The camera gives no picture while it records")
    await expect(page.get_by_role("figure").locator("canvas")).to_have_count(0)
    assert await findings(page) == []
    await page.clock.fast_forward(600_000)
    assert len(asked.requests) == 1
    await page.goto(hub.url + "#cameras")
    await act(card(page, "Tail"), "Stop recording")
    await shows(page, "Tail", "Connected")
    await expect(card(page, "Tail").locator(SHOWN)).to_be_visible()
    assert len(asked.requests) == 2


async def test_a_minute_later_it_is_asked_for_another_if_somebody_looks(page: Page, hub: RunningHub) -> None:
    await connected(hub, "Tail")
    asked = Asked(page)
    await page.clock.install()
    await opened(page, hub)
    await expect(card(page, "Tail").locator(SHOWN)).to_be_visible()
    await page.clock.fast_forward(50_000)
    assert len(asked.requests) == 1
    async with page.expect_request("**/osc/commands/execute"):
        await page.clock.run_for(11_000)
    await page.goto(hub.url + "#adapters")
    await page.clock.fast_forward(600_000)
    assert len(asked.requests) == 2


async def test_a_reason_stands_in_its_place_on_the_card(page: Page, hub: RunningHub) -> None:
    channel = Told()
    await channel.to(page)
    channel.say("Tail", said(problems=["battery-low"], recording=False))
    await connected(hub, "Tail")
    await opened(page, hub)
    await expect(card(page, "Tail")).to_contain_text("Battery low. Charge it, or change it.")
    await expect(card(page, "Tail").locator("canvas")).to_have_count(0)
    channel.say("Tail", said(recording=False))
    await expect(card(page, "Tail").locator(SHOWN)).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
async def test_a_recording_moves_nothing_on_the_card(browser: Browser, hub: RunningHub, size: str) -> None:
    await connected(hub, "Tail", "Front")
    async with sized(browser, size) as page:
        await opened(page, hub)
        still = card(page, "Tail").locator("canvas")
        await expect(card(page, "Tail").locator(SHOWN)).to_be_visible()
        heights = await page.locator(".card").evaluate_all("cards => cards.map(one => one.offsetHeight)")
        place = await still.bounding_box()
        await act(card(page, "Tail"), "Record")
        await expect(still).to_have_class("still none away")
        assert await still.bounding_box() == place
        assert (
            await page.locator(".card").evaluate_all("cards => cards.map(one => one.offsetHeight)") == heights
        )
        assert await no_scrolling_sideways(page)
