"""The wall: the rig as it is read from three metres, and nothing on it that nobody knows."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, Page, Route, ViewportSize, expect

from tests.browser.looking import opened, sized
from tests.browser.made_rig import CONNECTED, MadeRig, failed, recording, stopped
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.told import ago, said

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCREENS: Final[tuple[ViewportSize, ...]] = (
    {"width": 1366, "height": 768},
    {"width": 1920, "height": 1080},
    {"width": 3840, "height": 2160},
)
LEAST: Final = {"smallest": 28, "name": 32, "word": 38, "time": 62}
"""Letters in px on a screen of 1920x1080 that has 16 tiles."""
LETTERS: Final = """wall => {
  const size = one => parseFloat(getComputedStyle(one).fontSize);
  const least = chosen => Math.min(...[...wall.querySelectorAll(chosen)].map(size));
  const texts = document.createTreeWalker(wall, NodeFilter.SHOW_TEXT);
  const all = [];
  while (texts.nextNode())
    if (texts.currentNode.data.trim() && !texts.currentNode.parentElement.closest(".visually-hidden"))
      all.push(size(texts.currentNode.parentElement));
  const [name, word, time] = ["h2", ".wall-state.word", ".wall-state.time"].map(least);
  return {smallest: Math.min(...all), name, word, time};
}"""
CUT: Final = """wall => {
  const found = [];
  const inside = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1
    && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
  for (const one of wall.querySelectorAll("h1, h2, p:not(.visually-hidden), time")) {
    const isBox = getComputedStyle(one).display !== "inline";
    if (isBox && one.scrollWidth > one.clientWidth + 1) found.push(one.textContent);
    const range = document.createRange();
    range.selectNodeContents(one);
    const around = (one.closest(".wall-in") ?? one.closest(".wall-head")).getBoundingClientRect();
    if (!inside(range.getBoundingClientRect(), around)) found.push(one.textContent);
  }
  for (const tile of wall.querySelectorAll(".wall-in")) {
    const parts = [...tile.querySelectorAll("h2, .wall-state, .wall-foot > p")]
      .map(one => one.getBoundingClientRect());
    parts.slice(1).forEach((one, at) => one.top < parts[at].bottom - 1 && found.push(tile.textContent));
  }
  return found;
}"""
"""What is wider than its place, does not end in its tile, or lies over what is above it."""
FRAME: Final = """tile => {
  const frame = getComputedStyle(tile, "::after"), stripes = getComputedStyle(tile, "::before");
  const shape = tile.querySelector(".shape");
  const hasStripes = stripes.backgroundImage !== "none";
  return [frame.borderTopStyle, frame.borderTopWidth, hasStripes, shape.dataset.shape].join(" ");
}"""
"""What tells a tile's look without its colour."""
LIGHT: Final = """tile => {
  const [red, green, blue] = getComputedStyle(tile).backgroundColor.match(/[.\\d]+/g).map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}"""
"""How light its ground is, as in a picture without colours."""


def every() -> dict[str, dict[str, Any]]:
    """Sixteen cameras, in each state there is, and with long names."""
    return {
        "Front": recording(),
        "Left wing": recording(8_100, recording_time_left_s=6_000),
        "Right wing": recording(battery_level=14, problems=["battery-low"]),
        "Tail": stopped("storage-full"),
        "Nose": failed("authentication-failed"),
        "Belly": recording(battery_level=100, recording_time_left_s=45_000),
        "Chin": {"power_state": "asleep", "last_seen": ago(8)},
        "Mast": searching(),
        "Keel": recording() | {"reachable": False, "device_reachability": "unavailable"},
        "Mast 1": recording(recording=None, problems=["recording-unconfirmed"]),
        "Mast 2": recording(problems=["storage-slow"], recording_time_left_s=30),
        "Rail starboard, aft": recording(read_at=ago(300)),
        "Rail port, below the keel and behind": stopped("storage-missing"),
        "Winch": recording(recording=True, problems=["still-recording"]),
        "Hatch": CONNECTED | {"camera": said(recording=False, battery_level=60)},
        "Bow, far out on the end of its long spar": recording(),
    }


def searching() -> dict[str, Any]:
    return failed("connection-lost") | {"lost_at": ago(60)}


def rig_of(count: int) -> dict[str, dict[str, Any]]:
    """So many cameras that record."""
    return {f"Camera {number}": recording() for number in range(1, count + 1)}


async def walled(page: Page, hub: RunningHub, cameras: dict[str, dict[str, Any]]) -> MadeRig:
    """Cameras, on the wall."""
    rig = MadeRig(cameras)
    await rig.to(page)
    await opened(page, hub, "#wall")
    await expect(tiles(page)).to_have_count(min(len(cameras), 16))
    return rig


def tiles(page: Page) -> Locator:
    return page.locator(".wall-tile")


def tile(page: Page, name: str) -> Locator:
    return tiles(page).filter(has=page.get_by_role("heading", name=name, exact=True))


def names(page: Page) -> Locator:
    return page.locator(".wall-tile h2")


def title(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


async def test_the_wall_fills_the_window_and_escape_leads_back(page: Page, hub: RunningHub) -> None:
    rig = MadeRig(rig_of(2))
    await rig.to(page)
    await opened(page, hub)
    link = page.get_by_role("navigation").get_by_role("link", name="Wall")
    for leave in ("Escape", "link"):
        await link.click()
        await expect(title(page)).to_have_text("2 of 2 cameras record.")
        await expect(title(page)).to_be_focused()
        for gone in (page.get_by_role("banner"), page.get_by_role("contentinfo"), page.get_by_role("button")):
            await expect(gone).to_have_count(0)
        box = await page.locator(".wall").bounding_box()
        assert box == {"x": 0, "y": 0, "width": 1280, "height": 800}
        if leave == "Escape":
            await page.keyboard.press("Escape")
        else:
            await page.get_by_role("link").click()
        await expect(page.locator("#cameras-title")).to_be_visible()
        await expect(link).to_be_focused()


async def test_on_a_phone_it_is_under_more(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        rig = MadeRig(every())
        await rig.to(page)
        await opened(page, hub)
        await page.get_by_role("button", name="More", exact=True).click()
        await page.get_by_role("menuitem", name="Wall").click()
        await expect(tiles(page)).to_have_count(16)
        assert await page.locator(".wall").evaluate(CUT) == []
        assert await no_scrolling_sideways(page)
        await page.get_by_role("link", name="Leave the wall").click()
        await expect(page.get_by_role("button", name="More", exact=True)).to_be_focused()


async def test_on_a_tablet_its_link_is_in_the_header(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "tablet") as page:
        await MadeRig(rig_of(2)).to(page)
        for view in ("", "#takes"):
            await opened(page, hub, view)
            for name in ("Cameras", "Events", "Wall"):
                link = page.get_by_role("navigation").get_by_role("link", name=name)
                await expect(link).to_be_in_viewport(ratio=1)
        await expect(page.locator(".rig-pill")).to_have_text("2 of 2 record.")
        assert await no_scrolling_sideways(page)


@pytest.mark.parametrize("count", [4, 9, 16])
async def test_letters_are_seen_from_three_metres_and_none_is_cut(
    browser: Browser, hub: RunningHub, count: int
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await walled(page, hub, dict(list(every().items())[:count]))
    for screen in SCREENS:
        await page.set_viewport_size(screen)
        letters = await page.locator(".wall").evaluate(LETTERS)
        # A long name has smaller letters, and so has the time below it.
        short = await page.locator(".wall-tile:not(.long)").evaluate_all(
            f"all => all.map({LETTERS}).map(one => [one.name, one.word, one.time])"
        )
        least = [min(one for one in sizes if one is not None) for sizes in zip(*short, strict=True)]
        letters |= dict(zip(("name", "word", "time"), least, strict=True))
        for kind, px in LEAST.items():
            assert letters[kind] >= px * screen["height"] / 1080, (screen, kind)
        assert await page.locator(".wall").evaluate(CUT) == []
        for one in await tiles(page).all():
            await expect(one).to_be_in_viewport(ratio=1)
    await context.close()


@pytest.mark.parametrize("size", [(1024, 768), (820, 1180), (640, 400), (320, 640)])
async def test_it_fits_other_windows(browser: Browser, hub: RunningHub, size: tuple[int, int]) -> None:
    context = await browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = await context.new_page()
    await walled(page, hub, every())
    assert await page.locator(".wall").evaluate(CUT) == []
    assert await page.locator(".wall").evaluate("wall => wall.scrollWidth <= wall.clientWidth")
    await context.close()


async def test_a_tile_says_what_stops_next_and_why_it_does_not_record(page: Page, hub: RunningHub) -> None:
    rig = await walled(page, hub, every())
    await expect(tile(page, "Front")).to_contain_text("Recording12:")
    await expect(tile(page, "Front")).to_contain_text("82 %1 h 12 min left")
    for name, words in (
        ("Left wing", ("2:15:", "1 h 40 min left")),
        ("Right wing", ("12:", "14 %")),
        ("Tail", ("Not recording", "Card full.")),
        ("Nose", ("Wrong password", "At ")),
        ("Mast", ("Searching", "Lost at ")),
        ("Keel", ("Not answering", "Was recording at ")),
        ("Mast 2", ("Card too slow.", "under 1 min left")),
    ):
        for each in words:
            await expect(tile(page, name)).to_contain_text(each)
    await expect(tile(page, "Right wing").locator(".wall-values > .low")).to_have_text("14 %")
    rig.change("Tail", **recording(5))
    await expect(tile(page, "Tail")).to_contain_text("0:0")


async def test_need_is_told_without_colours(browser: Browser, hub: RunningHub) -> None:
    for options in ({}, {"color_scheme": "dark"}, {"forced_colors": "active"}):
        chosen: Any = options
        context = await browser.new_context(**chosen)
        page = await context.new_page()
        await walled(page, hub, every())
        looks = {
            look: await page.locator(f'[data-look="{look}"]').first.evaluate(FRAME)
            for look in ("act", "look", "ahead", "work", "rest", "plain")
        }
        assert len(set(looks.values())) == len(looks)
        assert "true" in looks["act"]
        assert "true" in looks["look"]
        grounds = sorted([await tile(page, name).evaluate(LIGHT) for name in ("Tail", "Front")], reverse=True)
        assert (grounds[0] + 0.05) / (grounds[1] + 0.05) > 4.5
        await context.close()


async def test_a_change_of_state_moves_nothing(page: Page, hub: RunningHub) -> None:
    rig = await walled(page, hub, rig_of(9))
    box = "one => one.getBoundingClientRect().toJSON()"
    place, letters = await tile(page, "Camera 5").evaluate(box), await names(page).nth(4).evaluate(box)
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        (recording(problems=["battery-low"]), "ahead"),
        (searching() | {"connected": False, "connection_status": "disconnected"}, "work"),
    )
    for members, look in changes:
        rig.change("Camera 5", **members)
        await expect(tile(page, "Camera 5")).to_have_attribute("data-look", look)
        assert await tile(page, "Camera 5").evaluate(box) == place
        assert await names(page).nth(4).evaluate(box) == letters


TOUCHED: Final = """
  window.touched = new Set();
  const tileOf = ({target}) => (target.closest ? target : target.parentElement).closest(".wall-tile");
  new MutationObserver(all => all.forEach(one => touched.add(tileOf(one)?.dataset.device)))
    .observe(document.querySelector(".wall-tiles"),
      {subtree: true, childList: true, characterData: true, attributes: true});
"""


async def test_only_tiles_that_change_are_drawn(page: Page, hub: RunningHub) -> None:
    rig = await walled(page, hub, {name: stopped() for name in rig_of(16)})
    await page.evaluate(TOUCHED)
    rig.change("Camera 7", **stopped("too-hot"))
    await expect(tile(page, "Camera 7")).to_contain_text("Too hot.")
    assert await page.evaluate("[...touched]") == ["7"]


async def test_places_are_a_persons_own_and_are_kept(page: Page, hub: RunningHub) -> None:
    rig = await walled(page, hub, rig_of(4))
    await expect(names(page)).to_have_text([f"Camera {number}" for number in (1, 2, 3, 4)])
    await tile(page, "Camera 1").focus()
    await page.keyboard.press("ArrowRight")
    await expect(names(page)).to_have_text([f"Camera {number}" for number in (2, 1, 3, 4)])
    await expect(tile(page, "Camera 1")).to_be_focused()
    await expect(page.get_by_role("status")).to_have_text("Camera 1 has place 2 of 4.")
    await page.keyboard.press("ArrowDown")  # a row
    await expect(names(page)).to_have_text([f"Camera {number}" for number in (2, 3, 4, 1)])
    await page.keyboard.press("ArrowDown")  # it is the last one
    await tile(page, "Camera 4").drag_to(tile(page, "Camera 2"))
    moved = [f"Camera {number}" for number in (4, 2, 3, 1)]
    await expect(names(page)).to_have_text(moved)
    # What happens to a camera moves none, and a new one is the last.
    rig.change("Camera 1", **stopped())
    rig.add("Camera 5", **recording())
    await expect(names(page)).to_have_text([*moved, "Camera 5"])
    await page.reload()
    await expect(names(page)).to_have_text([*moved, "Camera 5"])


async def test_escape_ends_a_drag_and_not_the_wall(page: Page, hub: RunningHub) -> None:
    await walled(page, hub, rig_of(4))
    first, last = (
        await tile(page, "Camera 1").bounding_box(),
        await tile(page, "Camera 4").bounding_box(),
    )
    assert first is not None
    assert last is not None
    await page.mouse.move(first["x"] + 50, first["y"] + 50)
    await page.mouse.down()
    await page.mouse.move(last["x"] + 50, last["y"] + 50)
    await expect(tile(page, "Camera 4")).to_have_attribute("data-mark", "target")
    await page.keyboard.press("Escape")
    await page.mouse.up()
    await expect(page.locator("[data-mark]")).to_have_count(0)
    await expect(names(page)).to_have_text([f"Camera {number}" for number in (1, 2, 3, 4)])


async def test_of_many_cameras_those_in_need_are_never_off_screen(page: Page, hub: RunningHub) -> None:
    rig = await walled(page, hub, rig_of(30))
    own = [f"Camera {number}" for number in range(1, 16)]
    others = page.locator(".wall-tile.others")
    await expect(names(page)).to_have_text([*own, "15 more cameras"])
    await expect(others).to_contain_text("15 record")
    # It borrows the last place of one that needs nobody; all others stay.
    rig.change("Camera 15", **stopped())
    rig.change("Camera 20", **stopped())
    await expect(names(page)).to_have_text([*own[:13], "Camera 20", "Camera 15", "15 more cameras"])
    rig.change(
        "Camera 29", **failed("device-not-reachable"), connected=False, connection_status="disconnected"
    )
    await expect(names(page)).to_have_text(
        [*own[:12], "Camera 29", "Camera 20", "Camera 15", "15 more cameras"]
    )
    # It keeps the place that it has borrowed, until it is well.
    rig.change("Camera 15", **recording())
    rig.change("Camera 20", **recording())
    await expect(names(page)).to_have_text([*own[:12], "Camera 29", *own[13:], "15 more cameras"])
    for number in range(1, 31):
        rig.change(f"Camera {number}", **stopped())
    await expect(others).to_contain_text("15 need you")
    await expect(others).to_have_attribute("data-look", "act")


async def test_of_those_without_a_tile_none_is_well_that_is_not_connected(
    page: Page, hub: RunningHub
) -> None:
    others = page.locator(".wall-tile.others")
    rig = await walled(page, hub, {f"Camera {number}": {"waiting_since": ago(60)} for number in range(1, 31)})
    await expect(others).to_contain_text("None connected")
    await expect(others).to_have_attribute("data-look", "rest")
    rig.change("Camera 20", **CONNECTED)
    await expect(others).to_contain_text("1 connected")
    await expect(others).to_have_attribute("data-look", "plain")


async def test_who_was_just_told_to_record_is_not_calm_before_it_does(page: Page, hub: RunningHub) -> None:
    told = CONNECTED | {"camera": said(recording=False, recording_requested=True)}
    rig = await walled(page, hub, {"Front": told})
    await expect(tile(page, "Front")).to_contain_text("Not recording")
    await expect(tile(page, "Front")).to_have_attribute("data-look", "work")
    rig.change("Front", **recording())
    await expect(tile(page, "Front")).to_have_attribute("data-look", "plain")


async def test_what_is_old_is_shown_as_old(page: Page, hub: RunningHub) -> None:
    idle = CONNECTED | {"camera": said(recording=False, battery_level=60, read_at=ago(300))}
    await walled(page, hub, {"Front": recording(read_at=ago(300)), "Back": idle})
    front, back = tile(page, "Front"), tile(page, "Back")
    await expect(front.locator(".wall-state")).to_have_text("Recording not known")
    await expect(front).to_contain_text("Was recording at ")
    await expect(front).to_have_attribute("data-look", "look")
    await expect(front.locator("[data-shape=recording], .wall-values")).to_have_count(0)
    await expect(back.locator(".wall-values.old")).to_have_text("60 %")
    await expect(back).to_contain_text("Read at ")


async def test_a_hub_that_is_lost_is_said_at_once_and_large(page: Page, hub: RunningHub) -> None:
    rig = await walled(page, hub, every())
    await rig.cut()
    await expect(title(page)).to_have_text("No connection.")
    head = page.locator(".wall-head")
    await expect(head).to_have_attribute("data-tone", "unknown")
    await expect(head).to_contain_text("Silent since ")
    await expect(head).to_contain_text("Last known: ")
    # No still of it claims what nobody knows.
    await expect(page.locator("[data-look=unknown]")).to_have_count(16)
    await expect(page.locator("[data-shape=recording], .wall-state.time, .wall-values")).to_have_count(0)
    for state in await page.locator(".wall-state").all():
        await expect(state).to_have_text("Unknown")
    await expect(tile(page, "Front")).to_contain_text("Was recording at ")
    await expect(tile(page, "Mast")).to_contain_text("Last known: Searching")
    assert await page.locator(".wall").evaluate(CUT) == []
    assert await findings(page) == []


async def test_a_daemon_that_is_away_is_said_too(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened(page, hub, "#wall")
    await expect(tile(page, "Front").locator(".wall-state")).to_have_text("Connected")
    async with hub.without_daemon():
        await expect(title(page)).to_have_text("Unavailable.")
        await expect(page.locator(".wall-head")).to_contain_text("Last known: Front is ready.")
        await expect(tile(page, "Front").locator(".wall-state")).to_have_text("Unknown")
        await expect(tile(page, "Front")).to_contain_text("Last known: Connected")
    await hub.until(device, "connected")
    await expect(title(page)).to_have_text("Front is ready.")


@pytest.mark.parametrize("timezone", ["UTC"])
async def test_the_clock_is_the_hubs(page: Page, hub: RunningHub) -> None:
    async def dated(route: Route) -> None:
        if route.request.resource_type != "fetch":
            await route.continue_()
            return
        answer = await route.fetch()
        await route.fulfill(
            response=answer, headers=answer.headers | {"date": "Sun, 06 Jan 2030 08:41:12 GMT"}
        )

    await page.route("**/*", dated)
    await walled(page, hub, rig_of(1))
    await expect(page.locator(".wall-clock time")).to_contain_text("8:41:1")
    await expect(page.locator(".wall-clock")).to_contain_text("1/6/2030")


WAKE_LOCK: Final = """
  window.locks = [];
  const lock = () => ({released: false, async release() { locks.push("released"); }});
  Object.defineProperty(navigator, "wakeLock", {value: {async request(kind) {
    locks.push(kind);
    if (window.isRefused) throw new DOMException("", "NotAllowedError");
    return lock();
  }}});
"""


async def test_the_screen_stays_on_while_the_wall_is_shown(page: Page, hub: RunningHub) -> None:
    await page.add_init_script(WAKE_LOCK)
    await walled(page, hub, rig_of(1))
    await expect_locks(page, ["screen"])
    # It is taken back from a page that was hidden.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect_locks(page, ["screen", "screen"])
    await page.keyboard.press("Escape")
    await expect_locks(page, ["screen", "screen", "released"])


async def expect_locks(page: Page, wanted: list[str]) -> None:
    await page.wait_for_function("wanted => JSON.stringify(locks) === JSON.stringify(wanted)", arg=wanted)


@pytest.mark.parametrize("refusal", ["window.isRefused = true", "delete navigator.wakeLock"])
async def test_a_browser_that_refuses_that_has_the_wall_all_the_same(
    page: Page, hub: RunningHub, refusal: str
) -> None:
    if refusal.startswith("window"):
        await page.add_init_script(WAKE_LOCK + refusal)
    else:
        await page.add_init_script("Object.defineProperty(navigator, 'wakeLock', {value: undefined})")
    await walled(page, hub, rig_of(1))
    await expect(title(page)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".wall")).to_have_count(0)


@pytest.mark.parametrize("count", [0, 1, 16])
async def test_everybody_can_use_it(page: Page, hub: RunningHub, count: int) -> None:
    await walled(page, hub, dict(list(every().items())[:count]))
    await expect(title(page)).to_be_visible()
    assert await findings(page) == []


async def test_nothing_moves_for_who_wants_that(page: Page, hub: RunningHub) -> None:
    await page.emulate_media(reduced_motion="reduce")
    rig = await walled(page, hub, every())
    rig.change("Hatch", connected=False, connection_status="connecting")
    await expect(tile(page, "Hatch").locator("[data-shape=connecting]")).to_be_visible()
    assert await page.evaluate("document.getAnimations().length") == 0
