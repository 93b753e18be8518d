"""Adding a camera: what is offered, kept, understood and explained."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import card, choose_network, opened, shows
from tests.browser.running_hub import RunningHub

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_model_is_guessed_and_can_be_changed(page: Page, hub: RunningHub) -> None:
    await hub.add_camera(b"X3 1234AB.OSC", "camera-pass-x")
    await opened(page, hub)
    dialog = await choose_network(page, "X3 1234AB.OSC")
    model = dialog.get_by_label("Model")
    await expect(model).to_have_value("insta360-x3")
    await expect(dialog).to_contain_text("Guessed from the network.")
    await model.select_option("insta360-x4")
    await dialog.get_by_role("button", name="Back").click()
    await dialog.get_by_role("radio", name="SIM-CAM-1").check()
    await dialog.get_by_role("radio", name="X3 1234AB.OSC").check()
    await dialog.get_by_role("button", name="Next").click()
    await expect(model).to_have_value("insta360-x4")
    await dialog.get_by_label("Password", exact=True).fill("camera-pass-x")
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, "X3 1234AB.OSC", "Connected")
    [device] = hub.client.devices.values()
    assert device.codename == "insta360-x4"


async def test_a_network_that_says_nothing_gets_the_general_model(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    dialog = await choose_network(page, "SIM-CAM-1")
    await expect(dialog.get_by_label("Model")).to_have_value("generic-wifi-camera")
    await expect(dialog).to_contain_text("Not recognized.")


async def test_the_password_can_be_shown_and_the_focus_is_where_it_is_typed(
    page: Page, hub: RunningHub
) -> None:
    await opened(page, hub)
    dialog = await choose_network(page, "SIM-CAM-1")
    field = dialog.get_by_label("Password", exact=True)
    await expect(field).to_be_focused()
    await expect(field).to_have_attribute("type", "password")
    show = dialog.get_by_role("button", name="Show the password")
    await show.click()
    await expect(field).to_have_attribute("type", "text")
    await dialog.get_by_role("button", name="Hide the password").click()
    await expect(field).to_have_attribute("type", "password")


async def test_the_password_of_a_simulated_camera_need_not_be_typed(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    dialog = await choose_network(page, "SIM-CAM-2")
    await dialog.get_by_role("button", name="Use it").click()
    await expect(dialog.get_by_label("Password", exact=True)).to_have_value("camera-pass-2")
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, "SIM-CAM-2", "Connected")


@pytest.mark.parametrize(
    ("text", "ssid", "password"),
    [
        ("WIFI:S:SIM-CAM-3;T:WPA;P:camera-pass-3;;", "SIM-CAM-3", "camera-pass-3"),
        (r"WIFI:T:WPA;P:a\;b\:c\\d-12;S:odd\; name;H:true;;", "odd; name", r"a;b:c\d-12"),
        ("wifi:S:free for all;T:nopass;;", "free for all", None),
    ],
)
async def test_the_text_of_a_qr_code_is_understood(
    page: Page, hub: RunningHub, text: str, ssid: str, password: str | None
) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("radio", name="SIM-CAM-1")).to_be_visible()
    name = dialog.get_by_label("Network name")
    await name.focus()
    await page.keyboard.insert_text(text)
    await expect(name).to_have_value(ssid)
    await expect(dialog).to_contain_text("from the QR code")
    await dialog.get_by_role("button", name="Next").click()
    field = dialog.get_by_label("Password", exact=True)
    if password is None:
        await expect(dialog.get_by_label("The network is open and has no password")).to_be_checked()
        await expect(field).to_have_count(0)
    else:
        await expect(field).to_have_value(password)


async def test_a_text_of_a_qr_code_that_is_not_understood_is_kept_nowhere(
    page: Page, hub: RunningHub
) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("radio", name="SIM-CAM-1")).to_be_visible()
    name = dialog.get_by_label("Network name")
    await name.focus()
    await page.keyboard.insert_text("WIFI:T:WPA;P:camera-pass-3;")
    await expect(dialog).to_contain_text("This text of a QR code is not complete.")
    await expect(dialog.get_by_role("button", name="Next")).to_be_disabled()
    assert "camera-pass-3" not in await page.evaluate("JSON.stringify(sessionStorage)")
    await name.fill("")
    await page.keyboard.insert_text("WIFI:T:WPA2-EAP;S:Corp;E:PEAP;I:me;P:camera-pass-3;;")
    await expect(dialog).to_contain_text("This network uses 802.1X, which cameras do not have.")
    await expect(dialog.get_by_role("button", name="Next")).to_be_disabled()
    assert "camera-pass-3" not in await page.evaluate("JSON.stringify(sessionStorage)")
    for text, said in (
        ("WIFI:T:WPA;S:SIM-CAM-3;;", "This text has no password, but says that the network needs one."),
        ("WIFI:T:nopass;S:SIM-CAM-3;P:camera-pass-3;;", "says that the network is open (T:nopass)."),
    ):
        await name.fill("")
        await page.keyboard.insert_text(text)
        await expect(dialog).to_contain_text(said)
        await expect(dialog.get_by_role("button", name="Next")).to_be_disabled()
        assert "camera-pass-3" not in await page.evaluate("JSON.stringify(sessionStorage)")
    await name.fill("")
    await name.press_sequentially("WIFI:S:SIM-CAM-3;T:WPA;P:camera-pass-3;;")
    await expect(name).to_have_value("SIM-CAM-3")
    await expect(dialog).not_to_contain_text("is not complete")


async def test_open_is_offered_only_where_it_may_be_so(page: Page, hub: RunningHub) -> None:
    await hub.add_camera(b"FREE", "")
    await opened(page, hub)
    dialog = await choose_network(page, "SIM-CAM-1")
    is_open = dialog.get_by_label("The network is open and has no password")
    await expect(dialog.get_by_label("Password", exact=True)).to_be_visible()
    await expect(is_open).to_have_count(0)
    await dialog.get_by_role("button", name="Back").click()
    await dialog.get_by_role("radio", name="FREE").check()
    await dialog.get_by_role("button", name="Next").click()
    await expect(dialog).to_contain_text("This network is open, so it has no password.")
    await expect(dialog.get_by_label("Password", exact=True)).to_have_count(0)
    await dialog.get_by_role("button", name="Back").click()
    await dialog.get_by_label("Network name").fill("hidden one")
    await dialog.get_by_role("button", name="Next").click()
    await is_open.check()
    await expect(dialog.get_by_label("Password", exact=True)).to_have_count(0)


async def test_a_network_that_is_registered_already_is_warned_of(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    warning = dialog.get_by_text("Front already uses this network.")
    await dialog.get_by_role("radio", name="SIM-CAM-2").check()
    await expect(warning).to_have_count(0)
    await dialog.get_by_role("radio", name="SIM-CAM-1").check()
    await expect(warning).to_be_visible()
    await dialog.get_by_label("Network name").fill("SIM-CAM-10")
    await expect(warning).to_have_count(0)


async def test_back_is_a_step_back_and_then_out(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    dialog = await choose_network(page, "SIM-CAM-1")
    step = dialog.locator("[aria-current=step]")
    await expect(step).to_have_text("Camera")
    await page.go_back()
    await expect(step).to_have_text("Network")
    await expect(dialog.get_by_role("radio", name="SIM-CAM-1")).to_be_checked()
    await page.go_forward()
    await expect(step).to_have_text("Camera")
    await page.go_back()
    await page.go_back()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_role("button", name="Add a camera")).to_be_visible()


async def test_what_is_done_is_not_gone_back_to(page: Page, hub: RunningHub) -> None:
    await opened(page, hub, "#events")
    await page.get_by_role("link", name="Cameras", exact=True).click()
    dialog = await choose_network(page, "SIM-CAM-1")
    await dialog.get_by_label("Password", exact=True).fill("camera-pass-1")
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, "SIM-CAM-1", "Connected")
    await expect(dialog).to_have_count(0)
    await page.go_back()
    await expect(page.get_by_role("heading", name="Events", level=2)).to_be_visible()


async def test_a_reload_keeps_what_was_typed_but_the_password(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    dialog = await choose_network(page, "SIM-CAM-2")
    await dialog.get_by_label("Password", exact=True).fill("camera-pass-2")
    await dialog.get_by_label("Model").select_option("insta360-x3")
    await dialog.get_by_label("Name (optional)").fill("Left wing")
    await page.reload()
    await expect(dialog.locator("[aria-current=step]")).to_have_text("Camera")
    await expect(dialog).to_contain_text("SIM-CAM-2")
    await expect(dialog.get_by_label("Model")).to_have_value("insta360-x3")
    await expect(dialog.get_by_label("Name (optional)")).to_have_value("Left wing")
    await expect(dialog.get_by_label("Password", exact=True)).to_have_value("")
    kept = await page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, history.state])")
    assert "Left wing" in kept
    assert "camera-pass-2" not in kept


async def test_an_error_stands_at_its_field(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Network name").fill("x" * 33)
    await dialog.get_by_role("button", name="Next").click()
    password = dialog.get_by_label("Password", exact=True)
    await dialog.get_by_role("button", name="Add and connect").click()
    await expect(dialog.locator("#add-password-fault")).to_have_text("Enter the camera's Wi-Fi password.")
    await expect(password).to_be_focused()
    await password.fill("long-enough-1")
    await dialog.get_by_role("button", name="Add and connect").click()
    await expect(dialog.locator("[aria-current=step]")).to_have_text("Network")
    await expect(dialog.locator("#add-ssid-fault")).to_contain_text("at most 32 bytes")
    await expect(dialog.get_by_label("Network name")).to_have_attribute("aria-invalid", "true")
    await dialog.get_by_label("Network name").fill("SIM-CAM-1")
    await dialog.get_by_role("button", name="Next").click()
    await password.fill("short")
    await dialog.get_by_role("button", name="Add and connect").click()
    await expect(dialog.locator("#add-password-fault")).to_contain_text("8 to 63 characters")
    await expect(password).to_be_focused()
    assert not hub.client.devices


async def test_after_a_wrong_password_the_first_action_is_to_change_it(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.create(1, "Front", "not-its-password")
    await shows(page, "Front", "Wrong password")
    first = card(page, "Front").locator(".card-foot").get_by_role("button").first
    await expect(first).to_have_text("Change the password")
    await first.click()
    await expect(page.get_by_label("Camera's Wi-Fi password")).to_be_focused()
