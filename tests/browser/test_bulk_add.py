"""Several cameras at once: texts of QR codes or a table; what would come of each line, and what did."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, Route, expect

from tests.browser.looking import SIZES, opened, sized, toast
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways

pytestmark = pytest.mark.asyncio(loop_scope="session")

CSV: Final = (
    "name,ssid,password,open,codename\n"
    "Nose,SIM-CAM-1,camera-pass-1,,insta360-x3\n"
    "Tail,SIM-CAM-2,camera-pass-2,,\n"
    "Short,SIM-CAM-3,short,,\n"
    "Free,SIM-CAM-3,,yes,\n"
)
QR: Final = "WIFI:T:WPA;S:SIM-CAM-1;P:camera-pass-1;;\nWIFI:T:WPA;S:SIM-CAM-2;P:camera-pass-2;;\n"
PASTE: Final = """([text, place]) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const options = { clipboardData, bubbles: true, cancelable: true };
  return document.querySelector(place).dispatchEvent(new ClipboardEvent("paste", options));
}"""
DROP: Final = """([text, name]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name, { type: "text/csv" }));
  const there = document.querySelector("dialog") ?? document.body;
  const options = { dataTransfer, bubbles: true, cancelable: true };
  return there.dispatchEvent(new DragEvent("drop", options));
}"""


async def several(page: Page) -> Locator:
    """The dialog for several cameras."""
    await page.get_by_role("button", name="Add a camera").click()
    await page.get_by_role("button", name="Several cameras at once").click()
    dialog = page.get_by_role("dialog", name="Add several cameras")
    await expect(dialog.get_by_label("QR texts or a CSV table")).to_be_focused()
    return dialog


async def checked(page: Page, text: str) -> Locator:
    """The dialog with the plan for a text."""
    dialog = await several(page)
    await dialog.get_by_label("QR texts or a CSV table").fill(text)
    await dialog.get_by_role("button", name="Check the list").click()
    await expect(dialog.get_by_role("table")).to_be_visible()
    return dialog


async def cells(dialog: Locator) -> list[list[str]]:
    """The table, without its head."""
    rows = await dialog.locator("tbody tr").all()
    return [await row.locator("th, td").all_inner_texts() for row in rows]


async def test_a_table_is_planned_and_then_added(page: Page, hub: RunningHub) -> None:
    await hub.create(2, "Tail")
    await opened(page, hub)
    dialog = await checked(page, CSV)
    status = dialog.get_by_role("status")
    await expect(status).to_have_text(
        "2 would be registered, 1 already registered, 1 not registered. Nothing has been changed."
    )
    assert await cells(dialog) == [
        ["Nose", "SIM-CAM-1", "Insta360 X3", "yes", "New", "the text, line 2"],
        ["Tail", "SIM-CAM-2", "Wi-Fi camera", "yes", "Already registered", "the text, line 3"],
        [
            *("Short", "SIM-CAM-3", "Wi-Fi camera", "yes"),
            "Not registered\npassword: A password has 8 to 63 characters, or 64 hexadecimal digits.",
            "the text, line 4",
        ],
        ["Free", "SIM-CAM-3", "Wi-Fi camera", "open", "New", "the text, line 5"],
    ]
    assert await findings(page) == []
    await dialog.get_by_role("button", name="Add 2 cameras").click()
    await expect(status).to_have_text("2 registered, 1 already registered, 1 not registered.")
    results = [row[4].partition("\n")[0] for row in await cells(dialog)]
    assert results == ["Registered", "Already registered", "Not registered", "Registered"]
    names = {one.name: one.codename for one in hub.client.devices.values()}
    assert names == {"Tail": "insta360-x3", "Nose": "insta360-x3", "Free": "generic-wifi-camera"}
    await dialog.get_by_role("button", name="Close", exact=True).last.click()
    await expect(dialog).to_have_count(0)


@pytest.mark.parametrize("place", ["#add-ssid", "[name=network]"])
async def test_several_qr_texts_are_pasted_where_one_is(page: Page, hub: RunningHub, place: str) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    await expect(page.locator("#add-ssid")).to_be_visible()
    await expect(page.locator("[name=network]").first).to_be_visible()
    one = QR.partition("\n")[0]
    assert await page.evaluate(PASTE, [one, "#add-ssid"]) is True, "one text is the field's"
    assert await page.evaluate(PASTE, [QR, place]) is False, "it is taken"
    dialog = page.get_by_role("dialog", name="Add several cameras")
    await expect(dialog.get_by_role("status")).to_contain_text("2 would be registered.")
    assert [row[:5] for row in await cells(dialog)] == [
        ["SIM-CAM-1", "SIM-CAM-1", "Wi-Fi camera", "yes", "New"],
        ["SIM-CAM-2", "SIM-CAM-2", "Wi-Fi camera", "yes", "New"],
    ]


@pytest.mark.parametrize("view", ["", "#events", "#add"])
async def test_a_file_is_dropped_on_the_page(page: Page, hub: RunningHub, view: str) -> None:
    await hub.create(4, "Mast")
    await opened(page, hub, view)
    if view == "#add":
        await expect(page.get_by_role("dialog", name="Add a camera")).to_be_visible()
    assert await page.evaluate(DROP, [CSV, "rig.csv"]) is False, "the browser does not open it"
    dialog = page.get_by_role("dialog", name="Add several cameras")
    await expect(dialog.get_by_role("row").nth(1)).to_contain_text("rig.csv, line 2")
    await expect(dialog.get_by_role("status")).to_contain_text("3 would be registered, 1 not registered.")


async def test_a_file_is_chosen(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    dialog = await several(page)
    file: FilePayload = {"name": "rig.csv", "mimeType": "text/csv", "buffer": CSV.encode()}
    await dialog.get_by_label("Or choose a file").set_input_files(file)
    await expect(dialog.get_by_role("row").nth(4)).to_contain_text("rig.csv, line 5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ssid,pasword\nx,y\n", 'the text: unknown column "pasword"; did you mean "password"?'),
        ("ssid\n" + "x\n" * 501, "501 cameras are more than the 500 of one import"),
        ("hunter2 swordfish\n", "the text: column 1 has an unknown name"),
    ],
)
async def test_why_a_text_is_no_list_of_cameras(page: Page, hub: RunningHub, text: str, said: str) -> None:
    await opened(page, hub)
    dialog = await several(page)
    field = dialog.get_by_label("QR texts or a CSV table")
    await field.fill(text)
    await dialog.get_by_role("button", name="Check the list").click()
    await expect(dialog.locator("#bulk-text-fault")).to_have_text(said)
    await expect(field).to_have_value(text)


async def test_a_file_that_is_too_large_is_not_read(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    dialog = await several(page)
    file: FilePayload = {"name": "film.csv", "mimeType": "text/csv", "buffer": b"x" * (1024 * 1024 + 1)}
    await dialog.get_by_label("Or choose a file").set_input_files(file)
    await expect(dialog.locator("#bulk-text-fault")).to_contain_text("film.csv has more than 1048576 bytes")


async def test_what_the_hub_refuses_is_said_and_the_others_are_added(page: Page, hub: RunningHub) -> None:
    async def refuse(route: Route) -> None:
        data = route.request.post_data_json if route.request.method == "POST" else {}
        if data and data.get("name") == "Nose":
            await route.fulfill(status=400, json={"code": "invalid-request", "detail": "codename: no such"})
        else:
            await route.continue_()

    await page.route("**/devices/", refuse)
    await opened(page, hub)
    dialog = await checked(page, CSV)
    await dialog.get_by_role("button", name="Add 3 cameras").click()
    await expect(dialog.get_by_role("status")).to_have_text("2 registered, 2 not registered.")
    assert (await cells(dialog))[0][4] == "Not registered\ncodename: no such"


async def test_a_lost_answer_ends_it_and_the_others_can_be_added_then(page: Page, hub: RunningHub) -> None:
    lost = True

    async def answer(route: Route) -> None:
        if lost and route.request.method == "POST":
            await route.abort()
        else:
            await route.continue_()

    await page.route("**/devices/", answer)
    await opened(page, hub)
    dialog = await checked(page, CSV)
    await dialog.get_by_role("button", name="Add 3 cameras").click()
    await expect(dialog.get_by_role("status")).to_have_text(
        "2 would be registered, 1 not registered, 1 not known."
    )
    await expect(dialog.locator("#bulk-fault")).to_contain_text("look whether it is in the list of cameras")
    lost = False
    await dialog.get_by_role("button", name="Add 2 cameras").click()
    await expect(dialog.get_by_role("status")).to_have_text("2 registered, 1 not registered, 1 not known.")


async def registrations_held(page: Page) -> list[Route]:
    """The registrations of a page, which nobody answers yet."""
    held: list[Route] = []

    async def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append(route)
        else:
            await route.continue_()

    await page.route("**/devices/", hold)
    return held


async def test_another_list_waits_until_this_one_is_added(page: Page, hub: RunningHub) -> None:
    held = await registrations_held(page)
    await opened(page, hub)
    dialog = await checked(page, CSV)
    await dialog.get_by_role("button", name="Add 3 cameras").click()
    await expect(dialog.get_by_role("status")).to_have_text("Adding 1 of 3: Nose")
    await page.evaluate(DROP, ["ssid,password\nCAM-9,88888888\n", "next.csv"])
    await expect(toast(page, "next.csv is not read while another list is added.")).to_be_visible()
    await expect(dialog.get_by_role("table")).to_contain_text("Nose")
    await page.keyboard.press("Escape")
    await held[0].continue_()


async def test_who_leaves_is_told_what_was_not_added(page: Page, hub: RunningHub) -> None:
    held = await registrations_held(page)
    await opened(page, hub)
    dialog = await checked(page, CSV)
    await dialog.get_by_role("button", name="Add 3 cameras").click()
    await expect(dialog.get_by_role("status")).to_have_text("Adding 1 of 3: Nose")
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await held[0].continue_()
    await expect(toast(page, "Added 1 camera. 2 of the list were not added.")).to_be_visible()
    assert len(held) == 1


async def test_its_passwords_stay_out_of_sight(page: Page, hub: RunningHub) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    await opened(page, hub)
    dialog = await checked(page, CSV)
    await dialog.get_by_role("button", name="Add 3 cameras").click()
    await expect(dialog.get_by_role("status")).to_contain_text("3 registered")
    kept: Any = await page.evaluate(
        "[location.href, document.body.innerText, "
        "JSON.stringify([{...sessionStorage}, {...localStorage}, history.state])]"
    )
    assert not any("camera-pass" in text for text in [*kept, *said])
    await dialog.get_by_role("button", name="Another list").click()
    await expect(dialog.get_by_label("QR texts or a CSV table")).to_have_value("")


LONG: Final = (
    "name,ssid,password,codename\n"
    "Nose,X4 1A2B3C.OSC,88888888,insta360-x4\nTail,THETAYR00000002.OSC,88888888,theta-xx\n"
    f"{'Very' * 12},SIM-CAM-3,short,\n"
)
BROKEN: Final = """(table) => [...table.querySelectorAll("th, td bdi")].filter((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return one.textContent.length < 12 && new Set([...range.getClientRects()].map((line) => line.top)).size > 1;
}).map((one) => one.textContent)"""


@pytest.mark.parametrize("width", [820, 1366])
async def test_no_heading_and_no_short_name_is_broken(browser: Browser, hub: RunningHub, width: int) -> None:
    context = await browser.new_context(viewport={"width": width, "height": 768})
    try:
        page = await context.new_page()
        await opened(page, hub)
        table = (await checked(page, LONG)).get_by_role("table")
        assert await table.evaluate(BROKEN) == []
        network = table.get_by_text("THETAYR00000002.OSC")
        assert await network.evaluate("one => one.getClientRects().length") == 1
    finally:
        await context.close()


async def test_several_cameras_are_offered_without_scrolling(browser: Browser, hub: RunningHub) -> None:
    context = await browser.new_context(viewport={"width": 1366, "height": 768})
    try:
        page = await context.new_page()
        await opened(page, hub)
        await page.get_by_role("button", name="Add a camera").click()
        dialog = page.get_by_role("dialog", name="Add a camera")
        await expect(dialog.get_by_role("radio").first).to_be_focused()
        await expect(dialog.get_by_role("button", name="Several cameras at once")).to_be_in_viewport(ratio=1)
    finally:
        await context.close()


@pytest.mark.parametrize("size", SIZES)
async def test_it_fits_every_screen(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        await opened(page, hub)
        dialog = await checked(page, CSV)
        assert await no_scrolling_sideways(page)
        wide = "dialog => [dialog.scrollWidth, dialog.clientWidth]"
        [needed, there] = await dialog.evaluate(wide)
        assert needed <= there
        assert await findings(page) == []
