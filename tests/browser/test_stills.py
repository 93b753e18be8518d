"""What a camera sees: through the relay, once a minute, while somebody looks, if its model gives stills."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Request, Route, expect

from tests.browser.looking import SIZES, card, opened, shows, sized
from tests.browser.running_hub import RunningHub, running_hub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH: Final = "/view/still.jpg?size=small"
BODY: Final = '{"now": true}'
MODELS: Final = f"""
[[model]]
codename = "skycam-2"
device_name = "Skycam 2"
probe = {{ path = "/osc/info" }}
snapshot = {{ path = "{PATH}" }}

[[model]]
codename = "skycam-3"
device_name = "Skycam 3"
probe = {{ path = "/osc/info" }}
snapshot = {{ path = "/osc/info" }}

[[model]]
codename = "skycam-4"
device_name = "Skycam 4"
probe = {{ path = "/osc/info" }}
snapshot = {{ path = "{PATH}", body = '{BODY}' }}

[[model]]
codename = "skycam-5"
device_name = "Skycam 5"
probe = {{ path = "/osc/info" }}
snapshot = {{ path = "{PATH}", while_recording = false }}
"""
"""The simulated cameras answer at /osc/info, with JSON; at the other path a test does."""
DRAW: Final = """async ([width, height]) => {
  const canvas = Object.assign(document.createElement('canvas'), {width, height});
  const context = canvas.getContext('2d');
  context.fillStyle = '#c33';
  context.fillRect(0, 0, width, height);
  return canvas.toDataURL('image/jpeg').split(',')[1];
}"""
HIDE: Final = """
Object.defineProperty(Document.prototype, 'hidden', {get: () => window.isAway === true});
window.turn = isAway => { window.isAway = isAway; document.dispatchEvent(new Event('visibilitychange')); };
"""
"""A headless browser's pages are always in view."""
FIRST_PIXEL: Final = "canvas => [...canvas.getContext('2d').getImageData(0, 0, 1, 1).data]"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub with two models of its own, which give stills."""
    folder = tmp_path_factory.mktemp("stills")
    (folder / "catalog.d").mkdir()
    (folder / "catalog.d/own.toml").write_text(MODELS)
    async with running_hub(folder, "[link]\ngrace_s = 2\n") as hub:
        yield hub


class Stills:
    """What the camera answers, and how often it was asked."""

    def __init__(self, data: bytes, content_type: str = "image/jpeg") -> None:
        self.data = data
        self.content_type = content_type
        self.asked: list[str] = []

    def saw(self, request: Request) -> None:
        """Count what the page asks a camera for."""
        if "/cameras/" in request.url:
            self.asked.append(request.url)

    async def answer(self, route: Route) -> None:
        """Answer as the camera does."""
        await route.fulfill(body=self.data, content_type=self.content_type)


async def camera(hub: RunningHub, codename: str = "skycam-2", number: int = 1, name: str = "Front") -> int:
    """A connected camera of a model."""
    device = await hub.create(number, name)
    await hub.client.update_device(device, {"codename": codename})
    await hub.until(device, "connected")
    return device


async def drawn(page: Page, width: int = 1600, height: int = 900) -> bytes:
    """A JPEG of one colour."""
    await page.goto("about:blank")
    return base64.b64decode(await page.evaluate(DRAW, [width, height]))


async def stills(page: Page) -> Stills:
    """Be the camera, at the address at which the relay reaches it."""
    made = Stills(await drawn(page))
    page.on("request", made.saw)
    await page.route(lambda address: PATH in address, made.answer)
    return made


async def test_the_card_and_the_page_show_the_latest_still(page: Page, hub: RunningHub) -> None:
    seen = await stills(page)
    device = await camera(hub)
    await opened(page, hub)
    still = card(page, "Front").locator("canvas.still")
    await expect(still).not_to_have_class("none")
    await expect(still).to_have_js_property("width", 800)
    red, green, blue, _ = await still.evaluate(FIRST_PIXEL)
    assert red > 180 > 80 > max(green, blue)
    assert seen.asked == [f"{hub.url}cameras/{device}{PATH}"]
    assert await findings(page) == []
    await card(page, "Front").get_by_role("link", name="Front").click()
    await expect(page.get_by_role("figure")).to_contain_text("The camera's view at ")
    await expect(page.locator("canvas.still.large")).to_have_js_property("height", 450)
    assert len(seen.asked) == 1, "it has one of this minute already"
    assert await findings(page) == []


async def test_it_is_asked_for_once_a_minute_and_only_while_somebody_looks(
    page: Page, hub: RunningHub
) -> None:
    await page.add_init_script(HIDE)
    await page.clock.install()
    seen = await stills(page)
    await camera(hub)
    await opened(page, hub)
    still = card(page, "Front").locator("canvas.still:not(.none)")
    await expect(still).to_be_visible()
    await page.clock.fast_forward(50_000)
    assert len(seen.asked) == 1
    await page.evaluate("turn(true)")
    await page.clock.fast_forward(120_000)
    assert len(seen.asked) == 1
    async with page.expect_request(lambda one: PATH in one.url):
        await page.evaluate("turn(false)")
    await page.goto(hub.url + "#adapters")
    await page.clock.fast_forward(120_000)
    assert len(seen.asked) == 2
    async with page.expect_request(lambda one: PATH in one.url):
        await page.goto(hub.url + "#cameras")
    async with page.expect_request(lambda one: PATH in one.url):
        await page.clock.run_for(61_000)
    assert len(seen.asked) == 4


async def test_a_card_out_of_view_asks_for_none(page: Page, hub: RunningHub) -> None:
    seen = await stills(page)
    await camera(hub)
    await page.set_viewport_size({"width": 390, "height": 120})
    await opened(page, hub)
    await shows(page, "Front", "Connected")
    await expect(card(page, "Front").locator("canvas.still.none")).to_have_count(1)
    await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert seen.asked == []
    await card(page, "Front").locator("canvas.still").scroll_into_view_if_needed()
    await expect(card(page, "Front").locator("canvas.still:not(.none)")).to_be_visible()


async def test_what_is_no_picture_or_too_large_is_not_shown(page: Page, hub: RunningHub) -> None:
    picture = await drawn(page)
    frame = picture.index(b"\xff\xc0")
    giant = picture[: frame + 5] + b"\xff\xff\xff\xff" + picture[frame + 9 :]
    for number, data in enumerate(
        (b"", b"GIF89a" + picture, giant, picture[:200], picture + bytes(4 << 20)), 1
    ):
        seen = Stills(data)
        await page.unroute_all()
        await page.route("**/cameras/**", seen.answer)
        device = await camera(hub, name=f"Front {number}")
        async with page.expect_response(lambda one: PATH in one.url):
            await opened(page, hub)
        still = card(page, f"Front {number}").locator("canvas.still")
        await expect(still).to_have_class("still none")
        await page.evaluate("new Promise(done => setTimeout(done, 200))")
        await expect(still).to_have_class("still none")
        await hub.client.remove_device(device)


STREAM: Final = 'multipart/x-mixed-replace; boundary="frame"'


def parts(*pictures: bytes, length: int | None = None) -> bytes:
    """A stream of JPEGs, each of which says its length, or another."""
    heads = (
        f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {length or len(one)}\r\n\r\n".encode()
        for one in pictures
    )
    return b"".join(head + one + b"\r\n" for head, one in zip(heads, pictures, strict=True))


async def test_the_first_picture_of_a_stream_is_shown(page: Page, hub: RunningHub) -> None:
    first, second = await drawn(page, 320, 200), await drawn(page, 640, 480)
    seen = Stills(parts(first, second), STREAM)
    await page.route("**/cameras/**", seen.answer)
    await camera(hub, "skycam-4")
    async with page.expect_request(lambda one: PATH in one.url) as asked:
        await opened(page, hub)
    still = card(page, "Front").locator("canvas.still:not(.none)")
    await expect(still).to_have_js_property("width", 320)
    await expect(still).to_have_js_property("height", 200)
    request = await asked.value
    assert (request.method, request.post_data) == ("POST", BODY)
    assert (await request.header_value("Content-Type") or "").startswith("application/json")


async def test_a_stream_that_begins_with_no_picture_shows_none(page: Page, hub: RunningHub) -> None:
    picture = await drawn(page)
    frame = picture.index(b"\xff\xc0")
    giant = picture[: frame + 5] + b"\xff\xff\xff\xff" + picture[frame + 9 :]
    for number, data in enumerate(
        (
            b"",
            picture,
            b"x" * 2000 + parts(picture),
            parts(b"GIF89a", picture),
            parts(giant, picture),
            parts(picture, length=len(picture) + 100),
            parts(picture, length=200),
            parts(picture, length=5 << 20),
            parts(picture).replace(b"image/jpeg", b"text/html", 1),
        ),
        1,
    ):
        seen = Stills(data, STREAM)
        await page.unroute_all()
        await page.route("**/cameras/**", seen.answer)
        device = await camera(hub, "skycam-4", name=f"Front {number}")
        async with page.expect_response(lambda one: PATH in one.url):
            await opened(page, hub)
        still = card(page, f"Front {number}").locator("canvas.still")
        await expect(still).to_have_class("still none")
        await page.evaluate("new Promise(done => setTimeout(done, 200))")
        await expect(still).to_have_class("still none")
        await hub.client.remove_device(device)


async def test_a_camera_that_sends_no_end_is_given_up(page: Page, hub: RunningHub) -> None:
    await page.clock.install()
    ended = asyncio.Event()
    page.on("requestfailed", lambda one: ended.set() if PATH in one.url else None)

    async def never(_: Route) -> None:
        await ended.wait()

    await drawn(page)
    await page.route("**/cameras/**", never)
    await camera(hub)
    async with page.expect_request(lambda one: PATH in one.url):
        await opened(page, hub)
    await page.clock.run_for(11_000)
    async with asyncio.timeout(10):
        await ended.wait()


async def test_they_come_through_the_relay_and_other_answers_are_nothing(page: Page, hub: RunningHub) -> None:
    device = await camera(hub, "skycam-3")
    async with page.expect_response(f"**/cameras/{device}/osc/info") as answer:
        await opened(page, hub)
    assert (await answer.value).status == 200
    assert (
        (await answer.value).headers["content-type"].startswith("application/json")
    )  # its body is left unread
    await expect(card(page, "Front").locator("canvas.still.none")).to_have_count(1)


async def test_one_that_gives_none_while_it_records_is_not_asked_if_that_is_not_known(
    page: Page, hub: RunningHub
) -> None:
    seen = await stills(page)
    await camera(hub, "skycam-5", 1, "Front")
    await camera(hub, "skycam-2", 2, "Back")
    await opened(page, hub)
    await expect(card(page, "Back").locator("canvas.still:not(.none)")).to_be_visible()
    await expect(card(page, "Front").get_by_role("img", name="Front: no picture yet")).to_be_visible()
    assert len(seen.asked) == 1


async def test_a_model_without_stills_has_no_place_for_one(page: Page, hub: RunningHub) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    await hub.connected(1, "Front")
    await opened(page, hub)
    await shows(page, "Front", "Connected")
    await expect(page.get_by_text("Insta360 X3")).to_be_visible()  # the models are read
    await expect(page.locator("canvas")).to_have_count(0)
    assert not [one for one in asked if "/cameras/" in one]


async def test_a_camera_that_left_has_no_still(page: Page, hub: RunningHub) -> None:
    await stills(page)
    device = await camera(hub)
    await opened(page, hub)
    await expect(card(page, "Front").locator("canvas.still:not(.none)")).to_be_visible()
    await disconnect(hub.client, device)
    await shows(page, "Front", "Off")
    await expect(page.locator("canvas")).to_have_count(0)


@pytest.mark.parametrize("size", SIZES)
async def test_cards_with_stills_have_the_height_of_all_others(
    browser: Browser, hub: RunningHub, size: str
) -> None:
    async with sized(browser, size) as page:
        await stills(page)
        await camera(hub)
        await hub.connected(2, "Back")
        await hub.create(4, "Tail", "wrong-password")
        await opened(page, hub)
        await expect(card(page, "Front").locator("canvas.still:not(.none)")).to_be_visible()
        heights = await page.locator(".card").evaluate_all("cards => cards.map(one => one.offsetHeight)")
        assert len(heights) == 3
        assert len(set(heights)) == 1
        assert await no_scrolling_sideways(page)
        await page.goto(hub.url + "#cameras")
        await card(page, "Front").get_by_role("link", name="Front").click()
        await expect(page.locator("canvas.still.large")).to_be_visible()
        assert await no_scrolling_sideways(page)
