"""The rows of the check: the step of each camera's card, its cause, and equal ones as one."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import SIZES, card, opened, opened_menu, shows, sized, toast
from tests.browser.made_rig import CONNECTED, MadeRig, failed, stopped
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_check_view import rows, title
from tests.browser.told import ago, said

pytestmark = pytest.mark.asyncio(loop_scope="session")

READY: Final[dict[str, Any]] = CONNECTED | {"camera": said(recording=False, battery_level=80)}
SEARCHING: Final[dict[str, Any]] = failed("connection-lost") | {"lost_at": ago(60)}
WAITING: Final[dict[str, Any]] = {"expected": True, "waiting_since": ago(60)}
LOW: Final[dict[str, Any]] = CONNECTED | {"camera": said(problems=["battery-low"], battery_level=14)}


async def checked(page: Page, hub: RunningHub, cameras: dict[str, dict[str, Any]]) -> MadeRig:
    """Cameras that a test makes up, on the check's page."""
    rig = MadeRig(cameras)
    await rig.to(page)
    await opened(page, hub, "#check")
    await expect(title(page)).to_be_visible()
    return rig


def several(page: Page) -> Locator:
    """The rows that stand for several cameras."""
    return page.locator(".findings .several")


async def without_adapters(hub: RunningHub) -> None:
    """No adapter is free for anybody."""
    for number in (1, 2, 3):
        await hub.connected(number, f"Other {number}")


async def test_a_camera_that_searches_is_not_connected_by_hand_while_no_adapter_is_free(
    page: Page, hub: RunningHub
) -> None:
    await without_adapters(hub)
    rig = MadeRig({"Nose": SEARCHING, "Tail": SEARCHING | {"power_state": "asleep", "auto_wake": False}})
    await rig.to(page)
    await opened(page, hub)
    for name, state in (("Nose", "Searching"), ("Tail", "Asleep")):
        await shows(page, name, state)
        await expect(card(page, name).get_by_role("button", name="Stop searching")).to_be_visible()
        menu = await opened_menu(card(page, name))
        await expect(menu.get_by_role("menuitem", name="Edit")).to_be_visible()
        await expect(menu.get_by_role("menuitem", name="onnect")).to_have_count(0)
        await page.keyboard.press("Escape")


async def test_a_camera_that_searches_can_be_connected_by_hand_while_an_adapter_is_free(
    page: Page, hub: RunningHub
) -> None:
    rig = MadeRig({"Nose": SEARCHING})
    await rig.to(page)
    await opened(page, hub)
    menu = await opened_menu(card(page, "Nose"))
    await expect(menu.get_by_role("menuitem", name="Connect", exact=True)).to_be_visible()


async def test_the_check_leaves_a_search_to_the_hub(page: Page, hub: RunningHub) -> None:
    await checked(page, hub, {"Nose": SEARCHING, "Tail": WAITING})
    await expect(rows(page)).to_have_count(2)
    await expect(rows(page).first).to_contain_text("Reconnects automatically.")
    await expect(rows(page).get_by_role("button")).to_have_count(0)
    await expect(rows(page).get_by_role("link", name="Show the camera")).to_have_count(2)


async def test_what_the_hub_is_at_is_amber(page: Page, hub: RunningHub) -> None:
    recovering = READY | {"reachable": False, "recovery_step": "rejoin"}
    rig = await checked(page, hub, {"Nose": SEARCHING, "Tail": WAITING, "Mast": recovering})
    await expect(page.locator(".checked.busy")).to_be_visible()
    await expect(rows(page)).to_have_class(["busy", "busy", "busy"])
    await expect(rows(page).get_by_role("link", name="Show the camera")).to_have_count(3)
    rig.change("Mast", recovery_step=None)
    await expect(page.locator(".checked.bad")).to_be_visible()
    await expect(rows(page)).to_have_class(["busy", "busy", "bad"])
    await expect(rows(page).get_by_role("button")).to_have_text(["Try to recover"])


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("device-not-reachable", "Connect"),
        ("authentication-failed", "Change the password"),
        ("address-failed", "Connect"),
        ("association-refused", "Connect"),
        ("connection-lost", "Connect"),
        ("not-paired", "Connect"),
        ("no-interface-available", "Connect when free"),
        (None, "Connect"),
    ],
)
async def test_a_camera_that_is_not_connected_has_the_step_of_its_card(
    page: Page, hub: RunningHub, code: str | None, step: str
) -> None:
    if code == "no-interface-available":
        await without_adapters(hub)
    await checked(page, hub, {"Nose": {"expected": True} if code is None else failed(code)})
    await expect(rows(page).get_by_role("button")).to_have_text([step])
    await page.evaluate("location.hash = 'cameras'")
    await expect(card(page, "Nose").get_by_role("button").first).to_have_text(step)


async def test_the_step_for_a_wrong_password_asks_for_another(page: Page, hub: RunningHub) -> None:
    await checked(page, hub, {"Nose": failed("authentication-failed")})
    await rows(page).get_by_role("button", name="Change the password").click()
    await expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("storage-full", "Card full. Change it, or delete recordings."),
        ("storage-missing", "No card. Insert one."),
        ("storage-error", "Card unusable. Insert it again, unlock it, or change it."),
        ("too-hot", "Too hot. Let it cool down in the shade."),
    ],
)
async def test_what_stops_a_recording_is_its_cause_in_one_row(
    page: Page, hub: RunningHub, cause: str, words: str
) -> None:
    await checked(page, hub, {"Nose": stopped(cause), "Tail": READY})
    await expect(rows(page)).to_have_count(1)
    await expect(rows(page)).to_have_class("bad")
    await expect(rows(page)).to_contain_text("Not recording")
    await expect(rows(page)).to_contain_text(words)
    await expect(rows(page).get_by_role("button")).to_have_count(0)
    await expect(rows(page).get_by_role("link", name="Show the camera")).to_be_visible()


async def test_a_camera_that_only_does_not_record_is_told_again(page: Page, hub: RunningHub) -> None:
    await checked(page, hub, {"Nose": stopped("battery-low", battery_level=14)})
    await expect(rows(page)).to_have_count(2)
    await expect(rows(page).get_by_role("button")).to_have_text(["Record", "Accept"])


async def test_three_equal_rows_are_one_that_opens(page: Page, hub: RunningHub) -> None:
    away = {f"Camera {number}": failed("device-not-reachable") for number in range(1, 7)}
    await checked(page, hub, {"Front": READY, **away, "Nose": failed("authentication-failed")})
    await expect(rows(page)).to_have_count(2)
    await expect(several(page)).to_contain_text("6 cameras")
    await expect(several(page)).to_contain_text("Camera 1, Camera 2, Camera 3, Camera 4 and 2 more.")
    await expect(several(page)).to_contain_text("The camera was not found.")
    assert await findings(page) == []
    fold = several(page).get_by_role("button", name="6 cameras")
    await fold.focus()
    await page.keyboard.press("Enter")
    await expect(fold).to_have_attribute("aria-expanded", "true")
    await expect(fold).to_be_focused()
    await expect(rows(page)).to_have_count(8)
    await expect(rows(page).nth(1).get_by_role("link", name="Camera 1")).to_be_visible()
    await expect(rows(page).nth(1).get_by_role("button")).to_have_text(["Connect"])
    assert await findings(page) == []
    await fold.click()
    await expect(rows(page)).to_have_count(2)


async def test_two_equal_rows_are_two(page: Page, hub: RunningHub) -> None:
    both = {name: failed("device-not-reachable") for name in ("Nose", "Tail")}
    await checked(page, hub, both | {"Mast": failed("address-failed")})
    await expect(rows(page)).to_have_count(3)
    await expect(several(page)).to_have_count(0)


async def test_a_fold_of_cameras_that_wait_has_no_step(page: Page, hub: RunningHub) -> None:
    await checked(page, hub, dict.fromkeys(("Nose", "Tail", "Mast"), WAITING))
    await expect(several(page)).to_have_class("busy several")
    await expect(several(page).get_by_role("button")).to_have_text(["3 cameras"])


async def test_the_cameras_of_a_fold_are_connected_by_one_press(page: Page, hub: RunningHub) -> None:
    names = [f"Camera {number}" for number in range(1, 4)]
    await checked(page, hub, {name: failed("device-not-reachable") for name in names})
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "/connect" in one.url else None)
    await several(page).get_by_role("button", name="Connect", exact=True).click()
    await expect(toast(page, "Camera 1")).to_be_visible()
    assert len(asked) == len(names)


async def test_the_cameras_of_a_fold_record_by_one_command(page: Page, hub: RunningHub) -> None:
    await checked(page, hub, dict.fromkeys(("Nose", "Tail", "Mast"), stopped()))
    async with page.expect_request("**/recording") as asked:
        await several(page).get_by_role("button", name="Record").click()
    assert (await asked.value).post_data_json == {"recording": True, "device_ids": [1, 2, 3]}


async def test_a_fold_is_accepted_and_taken_back_as_a_whole(page: Page, hub: RunningHub) -> None:
    await checked(page, hub, dict.fromkeys(("Nose", "Tail", "Mast"), LOW))
    await expect(several(page)).to_contain_text("Battery 14 %")
    await several(page).get_by_role("button", name="Accept").click()
    await expect(title(page)).to_have_text("All 3 cameras are ready.")
    await several(page).get_by_role("button", name="Do not accept").click()
    await expect(several(page).get_by_role("button", name="Accept")).to_be_visible()


async def test_an_outage_of_the_hub_is_one_row(page: Page, hub: RunningHub) -> None:
    codes = ("backend-unavailable", "connection-lost")
    away = {f"Camera {number}": failed(code) for number, code in enumerate(codes, 1)}
    await checked(page, hub, {"Front": READY, **away})
    await expect(rows(page)).to_have_count(2)
    await hub.set_fault("backend-gone")
    try:
        await expect(rows(page)).to_have_count(1)
        await expect(several(page)).to_contain_text("Camera 1 and Camera 2.")
        await expect(several(page)).to_contain_text("The hub cannot connect cameras right now.")
        await expect(several(page)).to_contain_text("NetworkManager is not running")
        await expect(several(page).get_by_role("button")).to_have_text(["2 cameras"])
    finally:
        await hub.set_fault("backend-gone", off=True)
    await expect(rows(page)).to_have_count(2)


async def test_an_outage_that_costs_one_camera_has_its_name(page: Page, hub: RunningHub) -> None:
    await hub.set_fault("backend-gone")
    try:
        rig = MadeRig({"Front": READY, "Nose": failed("backend-unavailable")})
        await rig.to(page)
        await page.goto(hub.url + "#check")
        await expect(rows(page)).to_have_count(1)
        await expect(rows(page).get_by_role("link", name="Nose")).to_be_visible()
        await expect(rows(page)).to_contain_text("The hub cannot connect cameras right now.")
        await expect(rows(page).get_by_role("button")).to_have_count(0)
    finally:
        await hub.set_fault("backend-gone", off=True)


LEFT: Final = "all => [...new Set(all.map(one => one.getBoundingClientRect().left))]"


@pytest.mark.parametrize("size", SIZES)
async def test_the_columns_of_the_rows_line_up(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        await checked(
            page,
            hub,
            {
                "Front": LOW,
                "Back": stopped(),
                "Nose": failed("authentication-failed"),
                "Tail": failed("device-not-reachable"),
                "Mast": CONNECTED | {"camera": said(recording=True, problems=["storage-full"])},
                "Keel": SEARCHING,
                **{f"Camera {number}": failed("address-failed") for number in range(1, 5)},
            },
        )
        await expect(rows(page)).to_have_count(7)
        for column in (1, 2):
            cells = page.locator(f".findings > li > div:nth-of-type({column})")
            await expect(cells).to_have_count(7)
            assert len(await cells.evaluate_all(LEFT)) == 1
        assert await no_scrolling_sideways(page)
        assert await findings(page) == []


COLOURS: Final = (
    "one => { const {color, backgroundColor} = getComputedStyle(one); return [color, backgroundColor]; }"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_record_is_as_quiet_under_the_pointer(page: Page, hub: RunningHub, scheme: Any) -> None:
    await page.emulate_media(color_scheme=scheme)
    rolling = {"camera": said(recording=True, recording_requested=True)}
    await checked(page, hub, {"Nose": CONNECTED | rolling, "Tail": CONNECTED | rolling})
    button = page.get_by_role("button", name="All record")
    await expect(button).to_be_visible()
    quiet = await button.evaluate(COLOURS)
    await button.hover()
    assert await button.evaluate(COLOURS) == quiet
    assert await button.evaluate("one => getComputedStyle(one).filter") == "none"
    assert await findings(page) == []


async def test_the_check_is_of_the_cameras_among_the_views(page: Page, hub: RunningHub) -> None:
    await checked(page, hub, {"Nose": READY})
    await expect(page.get_by_role("navigation").locator("[aria-current=page]")).to_have_text(["Cameras"])
