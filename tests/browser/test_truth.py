"""What the page says holds now, and each click is answered, also where nothing changes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.looking import SIZES, act, beside, card, details, opened, opened_menu, shows, sized, toast
from tests.browser.running_hub import ADAPTERS, RunningHub, running_hub
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def no_adapter_for(hub: RunningHub, name: str) -> list[int]:
    """Three cameras that are connected, and a fourth that was refused."""
    first = [await hub.connected(number) for number in (1, 2, 3)]
    return [*first, await hub.create(4, name)]


async def test_a_refusal_says_what_holds_now(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    first, second, _, _ = await no_adapter_for(hub, "Tail")
    line = card(page, "Tail").locator(".trouble")
    await expect(line).to_have_text("All 3 adapters are in use. Plug one in, or disconnect a camera.")
    trouble = (await details(page, "Tail")).locator(".trouble")
    await expect(trouble).to_contain_text("All adapters were in use at ")
    await expect(trouble).to_contain_text("No adapter is free now.")
    await disconnect(hub.client, first)
    await expect(trouble).to_contain_text("One adapter is free now.")
    await page.go_back()
    await expect(line).to_have_text("One adapter is free now.")
    await page.go_forward()
    await disconnect(hub.client, second)
    await expect(trouble).to_contain_text("Two adapters are free now.")
    await expect(trouble).to_contain_text("no-interface-available")
    await page.go_back()
    await act(card(page, "Tail"), "Connect")
    await shows(page, "Tail", "Connected")
    await expect(trouble).to_be_hidden()


async def test_a_refusal_says_when_it_was_while_nothing_is_known(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await no_adapter_for(hub, "Tail")
    line = card(page, "Tail").locator(".trouble")
    await expect(line).to_have_text("All 3 adapters are in use. Plug one in, or disconnect a camera.")
    async with hub.without_daemon():
        await expect(line).to_have_text(re.compile("^No adapter is free at .*[.]$"))
    await hub.client.wait_until(lambda client: client.available, 30)


async def test_an_adapter_reserved_for_another_camera_is_not_free(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    first, _, _, _ = await no_adapter_for(hub, "Tail")
    adapter = hub.client.interfaces[hub.client.devices[first].interface or ""]
    await hub.client.update_device(first, {"pin": {"usb_port": adapter.usb_port}})
    await disconnect(hub.client, first)
    await shows(page, "SIM-CAM-1", "Off")
    await expect(page.locator(".tag.reserved")).to_have_text(f"{adapter.name} for SIM-CAM-1")
    other = await beside(page, hub, "#adapters")
    row = other.locator(f'[data-interface="{adapter.name}"]')
    await expect(row.locator(".badge.reserved")).to_have_text("Reserved for SIM-CAM-1")
    await expect(other.locator(".badge.available")).to_have_count(0)
    await expect(page.locator("#adapters-title .count")).to_have_text("0 of 3 free")
    trouble = (await details(page, "Tail")).locator(".trouble")
    kept = f"{adapter.name} is reserved for SIM-CAM-1."
    await expect(trouble).to_contain_text(f"No adapter is free now. {kept}")
    await hub.client.update_device(first, {"name": "Nose"})
    await expect(row.locator(".badge.reserved")).to_have_text("Reserved for Nose")
    await hub.client.update_device(first, {"pin": {}})
    await expect(row.locator(".badge.available")).to_have_text("Free")
    await expect(trouble).to_contain_text("One adapter is free now.")


async def test_the_interfaces_of_one_radio_are_one_adapter(page: Page, tmp_path: Path) -> None:
    radio = 'radio = "phy0"\n'
    scenario = "".join(f'[[adapter]]\nname = "{name}"\n{radio}' for name in ("wlan0", "uap0"))
    async with running_hub(tmp_path, scenario=f'{scenario}[[adapter]]\nname = "wlan1"\n') as hub:
        await opened(page, hub, "#adapters")
        await expect(page.locator('[data-interface="uap0"]')).to_contain_text("Shares the radio of wlan0")
        await expect(page.locator("#adapters-title .count")).to_have_text("2 of 2 free")


async def test_a_reserved_adapter_that_is_unplugged_stays_in_the_list(page: Page, hub: RunningHub) -> None:
    await opened(page, hub, "#adapters")
    device = await hub.connected(1, "Nose")
    adapter = hub.client.interfaces[hub.client.devices[device].interface or ""]
    await hub.client.update_device(device, {"pin": {"usb_port": adapter.usb_port}})
    await hub.client.simulate("UnplugAdapter", "s", adapter.name)
    row = page.locator(f"[data-absent='{adapter.usb_port}']")
    await expect(row).to_contain_text(adapter.name)
    await expect(row).to_contain_text("Reserved for Nose")
    await expect(row.locator(".badge")).to_contain_text("Unplugged since")
    await hub.set_fault("backend-gone")
    await expect(page.locator("#adapters-title .count")).to_contain_text("states unknown")
    await expect(row).to_contain_text("Reserved for Nose")
    await hub.set_fault("backend-gone", off=True)
    await hub.client.simulate("PlugAdapter", "s", adapter.name)
    await expect(row).to_have_count(0)


async def test_a_camera_waits_for_an_adapter(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    first, _, _, tail = await no_adapter_for(hub, "Tail")
    await shows(page, "Tail", "No adapter")
    await act(card(page, "Tail"), "Connect when free")
    await shows(page, "Tail", "Waiting")
    await expect(card(page, "Tail").locator(".since")).to_contain_text("since ")
    await expect(card(page, "Tail").locator(".trouble")).to_have_text(
        "It connects as soon as an adapter is free."
    )
    await act(card(page, "Tail"), "Stop waiting")
    await expect(card(page, "Tail").get_by_role("button", name="Connect when free")).to_be_enabled()
    await act(card(page, "Tail"), "Connect when free")
    await shows(page, "Tail", "Waiting")
    await disconnect(hub.client, first)
    await shows(page, "Tail", "Connected")
    assert hub.client.devices[tail].state == "connected"


@pytest.mark.parametrize("size", SIZES)
async def test_a_second_refusal_is_answered_as_the_first(
    browser: Browser, hub: RunningHub, size: str
) -> None:
    async with sized(browser, size) as page:
        await no_adapter_for(hub, "Tail")
        await opened(page, hub)
        # By the answer alone, without the events that follow a refusal.
        body = {"code": "no-interface-available", "detail": "no Wi-Fi interface is available: none"}
        await page.route("**/wifi/connect?*", lambda route: route.fulfill(status=409, json=body))
        for _ in range(2):
            await act(card(page, "Tail"), "Connect")
            shown = toast(page, "Tail: No adapter is free.")
            await expect(shown).to_be_in_viewport(ratio=1)
            await expect(page.get_by_role("status")).to_have_text("Tail: No adapter is free.")
            await shown.get_by_role("button", name="Dismiss").click()
            await expect(shown).to_have_count(0)


async def test_a_refusal_comes_with_its_events_too(page: Page, hub: RunningHub) -> None:
    await no_adapter_for(hub, "Tail")
    await opened(page, hub)
    await act(card(page, "Tail"), "Connect")
    await expect(toast(page, "Tail: No adapter is free.")).to_have_count(1)
    # What the tests before had refused for the same reason is one line with it.
    words = re.compile(r"Tail: No adapter is free\.|cameras got no adapter: .*\bTail\b")
    newest = page.get_by_role("log").get_by_role("listitem").first
    await expect(newest).to_contain_text(words)


@pytest.mark.parametrize("verb", ["connect", "disconnect"])
async def test_a_click_is_answered_before_the_hub_answers(page: Page, hub: RunningHub, verb: str) -> None:
    device = await hub.connected(1, "Front")
    await hub.client.update_device(device, {"codename": "generic-wifi-camera"})  # it cannot record
    if verb == "connect":
        await disconnect(hub.client, device)
        await hub.until(device, "disconnected")
    await opened(page, hub)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await answer.wait()
        await route.continue_()

    await page.route("**/wifi/*connect?*", hold)
    button = card(page, "Front").get_by_role("button", name=verb.capitalize(), exact=True)
    await button.click()
    await asked.wait()
    await expect(button).to_have_attribute("aria-busy", "true")
    await expect(toast(page, f"{verb.capitalize()}ing Front …")).to_be_visible()
    answer.set()
    await shows(page, "Front", "Connected" if verb == "connect" else "Off")
    await expect(toast(page, f"{verb.capitalize()}ing Front …")).to_have_count(0)


async def test_what_fails_is_answered_with_the_reason(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await opened(page, hub)
    body = {"code": "busy", "detail": "the camera is being removed"}
    await page.route("**/wifi/disconnect?*", lambda route: route.fulfill(status=409, json=body))
    await act(card(page, "Front"), "Disconnect")
    await expect(toast(page, "Front: The camera is busy. The camera is being removed.")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
async def test_without_adapters_that_is_said_first(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        await opened(page, hub)
        for name in ADAPTERS:
            await hub.client.simulate("UnplugAdapter", "s", name)
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("No USB Wi-Fi adapter is plugged in.")
        await expect(alert).to_be_in_viewport(ratio=1)
        await page.reload()
        await expect(alert).to_contain_text("No USB Wi-Fi adapter is plugged in.")
        await hub.client.simulate("PlugAdapter", "s", ADAPTERS[0])
        await expect(alert).to_have_count(0)


async def test_a_lost_camera_without_a_free_adapter_says_what_is_missing(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Nose")
    await opened(page, hub)
    for name in ADAPTERS:
        await hub.client.simulate("UnplugAdapter", "s", name)
    await shows(page, "Nose", "Searching")
    line = card(page, "Nose").locator(".trouble")
    await expect(line).to_contain_text("Reconnects once an adapter is free. Plug one in.")
    await hub.power(1, on=False)
    await hub.client.simulate("PlugAdapter", "s", ADAPTERS[0])
    await expect(line).to_contain_text("Reconnects automatically.")


async def test_that_no_adapter_can_be_used_is_said_first_too(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    for name in ADAPTERS:
        await hub.set_fault("rfkill", interface=name)
    await expect(page.get_by_role("alert")).to_contain_text("None of the adapters can be used.")


async def test_while_the_daemon_is_away_nothing_counts(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    await shows(page, "Front", "Connected")
    async with hub.without_daemon():
        await expect(page.get_by_role("heading", name="Cameras")).to_contain_text("1 camera, states unknown")
        adapters = page.get_by_role("heading", name="Adapters")
        await expect(adapters).to_contain_text("3 adapters, states unknown")
        await expect(page.locator(".tag.unknown")).to_have_text(ADAPTERS)
        await page.get_by_role("link", name="Adapters").click()
        for name in ADAPTERS:
            await expect(page.locator(f"[data-interface={name}] .badge")).to_have_text("Unknown")
        await page.get_by_role("link", name="Cameras").click()
    await hub.until(device, "connected")
    await expect(page.get_by_role("heading", name="Cameras")).to_contain_text("1 of 1 connected")
    log = page.get_by_role("log")
    await expect(log).to_contain_text("The hub cannot connect cameras")
    await expect(log).to_contain_text("The hub is ready")


async def test_a_camera_that_does_not_answer_is_not_green(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    green = await colour(page)
    menu = await opened_menu(card(page, "Front"))
    await expect(menu.get_by_role("menuitem", name="Open the camera's own page")).to_be_visible()
    await page.keyboard.press("Escape")
    await hub.silence(device)
    await shows(page, "Front", "Not answering")
    assert await colour(page) != green
    await expect(page.get_by_role("heading", name="Cameras")).to_contain_text("1 not answering")
    menu = await opened_menu(card(page, "Front"))
    await expect(menu.get_by_role("menuitem", name="Open the camera's own page")).to_have_count(0)


async def colour(page: Page) -> Any:
    """The colour of the only card's state, once it shows the camera as connected or not answering."""
    await expect(page.locator(".card.connected, .card.not-answering")).to_have_count(1)
    return await page.locator(".card .badge").evaluate("badge => getComputedStyle(badge).color")
