"""What hands do: press twice, turn the phone, leave a dialog open while others work on the same camera."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import (
    act,
    card,
    details,
    opened_menu,
    opened_rows,
    press,
    shows,
    sized,
    toast,
)
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import no_scrolling_sideways
from tests.browser.test_many import fill, row
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

ON_TOP = """one => {
  const {left, top, width, height} = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}"""


async def covered(menu: Locator) -> list[str]:
    """What of a menu cannot be pressed, since something lies over it."""
    items = await menu.get_by_role("menuitem").all()
    return [await one.inner_text() for one in items if not await one.evaluate(ON_TOP)]


async def test_nothing_lies_over_an_open_menu(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened_rows(page, hub)
    for name in ("Camera 3", "Camera 5", "Camera 9"):
        assert await covered(await opened_menu(row(page, name))) == []
        await page.keyboard.press("Escape")


async def test_a_menu_that_does_not_fit_scrolls(page: Page, hub: RunningHub) -> None:
    await page.set_viewport_size({"width": 568, "height": 320})
    await hub.connected(1, "Front")
    await opened_rows(page, hub)
    menu = await opened_menu(card(page, "Front"))
    box = await menu.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    await menu.get_by_role("menuitem", name="Remove").scroll_into_view_if_needed()
    await expect(menu.get_by_role("menuitem", name="Remove")).to_be_in_viewport(ratio=1)


async def test_a_phones_rows_have_every_command_in_their_menu(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        await fill(hub, 9)
        await disconnect(hub.client, next(iter(hub.client.devices)))
        await opened_rows(page, hub)
        for name, command in (("Camera 1", "Connect"), ("Camera 2", "Record"), ("Camera 2", "Disconnect")):
            menu = await opened_menu(row(page, name))
            item = menu.get_by_role("menuitem", name=command, exact=True)
            box = await item.bounding_box()
            assert box is not None
            assert box["height"] >= 44
            await page.keyboard.press("Escape")
        await act(row(page, "Camera 1"), "Connect")
        await expect(row(page, "Camera 1").locator(".badge")).to_have_text("Connected")


async def test_the_second_click_of_two_is_not_for_what_takes_the_buttons_place(
    page: Page, hub: RunningHub
) -> None:
    device = await hub.create(1, "Front")
    await disconnect(hub.client, device)
    await opened_rows(page, hub)
    for pause_ms in (0, 60, 250):
        await shows(page, "Front", "Off")
        button = card(page, "Front").get_by_role("button", name="Connect", exact=True)
        await expect(button).to_be_enabled()  # the disconnect before has ended
        box = await button.bounding_box()
        assert box is not None
        place = (box["x"] + 20, box["y"] + box["height"] / 2)
        await page.mouse.click(*place)
        await page.wait_for_timeout(pause_ms)
        await page.mouse.click(*place)
        await shows(page, "Front", "Connected")
        await expect(page.locator(".badge.recording")).to_have_count(0)
        await act(card(page, "Front"), "Disconnect")


async def test_the_focus_stays_with_the_commands_of_a_camera(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await opened_rows(page, hub)
    shown = await details(page, "Front")
    for name, state in (("Disconnect", "Off"), ("Connect", "Connected")):
        button = shown.get_by_role("button", name=name, exact=True)
        await expect(button).to_have_attribute("aria-disabled", "false")
        await button.focus()
        await page.keyboard.press("Enter")
        await expect(shown.locator(".badge")).to_have_text(state)
        await expect(shown.locator(".actions button").first).to_be_focused()


async def test_the_focus_is_not_taken_back_from_where_a_person_has_clicked(
    page: Page, hub: RunningHub
) -> None:
    device = await hub.connected(1, "Front")
    await opened_rows(page, hub)
    await press(card(page, "Front").get_by_role("button", name="Record", exact=True))
    await expect(card(page, "Front").get_by_role("button", name="Stop recording")).to_be_focused()
    await page.mouse.click(2, 2)
    await expect(page.locator("body")).to_be_focused()
    await hub.client.update_device(device, {"name": "Rear"})
    await expect(card(page, "Rear")).to_be_visible()
    await hub.power(1, on=False)
    await expect(card(page, "Rear").get_by_role("button", name="Stop recording")).to_have_count(0)
    await expect(page.locator("body")).to_be_focused()


async def test_an_open_dialog_outlives_the_card_behind_it(page: Page, hub: RunningHub) -> None:
    await fill(hub, 8)
    await opened_rows(page, hub)
    await act(card(page, "Camera 4"), "Edit")
    dialog = page.get_by_role("dialog", name="Edit ")
    await dialog.get_by_label("Name", exact=True).fill("Nose")
    await hub.create(9, "Camera 9")
    await expect(page.get_by_role("row", name="Camera 9", include_hidden=True)).to_be_visible()
    await expect(dialog.get_by_label("Name", exact=True)).to_have_value("Nose")
    await dialog.get_by_role("button", name="Save").click()
    await expect(row(page, "Nose")).to_be_visible()
    await expect(dialog).to_have_count(0)


async def test_the_dialog_of_a_camera_that_another_person_removes_says_so(
    page: Page, hub: RunningHub
) -> None:
    device = await hub.connected(1, "Front")
    await opened_rows(page, hub)
    await act(card(page, "Front"), "Edit")
    await expect(page.get_by_role("dialog", name="Edit ")).to_be_visible()
    await hub.client.remove_device(device)
    await expect(toast(page, "Front was removed")).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.locator("#content")).to_be_focused()


async def test_what_another_person_changed_meanwhile_is_kept(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened_rows(page, hub)
    await act(card(page, "Front"), "Edit")
    dialog = page.get_by_role("dialog", name="Edit ")
    await dialog.get_by_label("Priority").fill("3")
    await hub.client.update_device(device, {"name": "Nose"})
    await expect(page.get_by_role("dialog", name="Edit Front")).to_be_visible()
    await dialog.get_by_role("button", name="Save").click()
    await expect(toast(page, "Nose")).to_be_visible()
    assert (hub.client.devices[device].name, hub.client.devices[device].priority) == ("Nose", 3)


async def test_a_phone_is_turned(page: Page, hub: RunningHub) -> None:
    await page.set_viewport_size({"width": 844, "height": 390})
    await hub.connected(1, "Front")
    await opened_rows(page, hub)
    await details(page, "Front")
    await expect(page.locator(".plot canvas")).to_be_visible()
    await page.set_viewport_size({"width": 390, "height": 844})
    await expect(page.locator(".plot canvas")).to_have_js_property("clientWidth", 336)
    assert await no_scrolling_sideways(page)


async def test_one_message_is_about_all_that_are_connected_together(page: Page, hub: RunningHub) -> None:
    ids = await fill(hub, 9)
    await asyncio.gather(*(disconnect(hub.client, one) for one in ids[:3]))
    await opened_rows(page, hub)
    for number in (1, 2, 3):
        await page.get_by_role("checkbox", name=f"Select Camera {number}", exact=True).check()
    await page.locator(".chosen").get_by_role("button", name="Connect", exact=True).click()
    for number in (1, 2, 3):
        await expect(row(page, f"Camera {number}").locator(".badge")).to_have_text("Connected")
    await expect(page.locator(".toast > span")).to_have_text([r"3 cameras connecting."])


async def test_a_long_message_stays_in_its_box(page: Page, hub: RunningHub) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    await hub.connected(1, "Front")
    await opened_rows(page, hub)
    body = {"code": "busy", "detail": "the camera is busy: " + "it copies what it has recorded, " * 12}
    await page.route("**/wifi/disconnect?*", lambda route: route.fulfill(status=409, json=body))
    await act(card(page, "Front"), "Disconnect")
    text = toast(page, "it copies").locator("span")
    await expect(text).to_be_visible()
    inside = "one => one.getBoundingClientRect().height <= one.parentElement.getBoundingClientRect().height"
    assert await text.evaluate(inside)


async def test_who_has_selected_with_the_pointer_sees_the_order_of_now(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened_rows(page, hub)
    await page.get_by_role("checkbox", name="Select Camera 5", exact=True).click()
    await page.mouse.move(2, 2)
    await hub.power(2, on=False)
    await expect(page.locator("tbody tr").first).to_contain_text("Camera 2")


async def test_no_row_moves_beside_an_open_menu(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened_rows(page, hub)
    first = page.locator("tbody tr").first
    name = await first.get_by_role("link").first.inner_text()
    menu = await opened_menu(row(page, "Camera 5"))
    await page.mouse.move(2, 2)
    await hub.power(2, on=False)
    await expect(row(page, "Camera 2").locator(".badge")).not_to_have_text("Connected")
    await expect(first).to_contain_text(name)
    await expect(menu).to_be_visible()
    await page.keyboard.press("Escape")
    await page.mouse.click(2, 2)
    await expect(first).to_contain_text("Camera 2")


async def test_a_second_recording_begins_when_the_first_has_ended(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await opened_rows(page, hub)
    for name in ("Record", "Stop recording", "Record", "Stop recording"):
        await press(card(page, "Front").get_by_role("button", name=name, exact=True))
    await shows(page, "Front", "Connected")
