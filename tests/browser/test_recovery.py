"""A camera that does not answer is recovered: the step that runs, what came of it, and a step by a click."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.looking import act, card, details, opened, opened_menu, shows, toast
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings
from tests.browser.told import Told, ago
from wifimgrd.client.json_records import history_json
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.records import HistoryRecord
from wifimgrd.domain.sentences import STEP_WORDS

pytestmark = pytest.mark.asyncio(loop_scope="session")

WHY = "The camera answers ARP and nothing else."
HELPED = "Joining the camera's network again has helped: the camera answers again."
AWAY: dict[str, Any] = {
    "connection_status": "connecting",
    "connected": False,
    "reachable": None,
    "device_reachability": "unknown",
    "connection_phase": "joining",
}
SILENT = {"reachable": False, "device_reachability": "unavailable"}
ROW = HistoryRecord(
    id=1,
    time=1_764_000_000_000_000,
    kind="recovery",
    device_name="Nose",
    interface="wlan0",
    code="rejoin",
    message=f"{WHY} {HELPED}",
)


async def silent(page: Page, hub: RunningHub) -> Told:
    """A page that shows a camera that does not answer, and its channel."""
    channel = Told()
    await channel.to(page)
    await hub.connected(1, "Nose")
    await opened(page, hub)
    await shows(page, "Nose", "Connected")
    channel.link("Nose", **SILENT)
    await shows(page, "Nose", "Not answering")
    return channel


async def test_a_step_is_shown_from_its_begin_to_the_cameras_answer(page: Page, hub: RunningHub) -> None:
    channel = await silent(page, hub)
    first = page.locator(".events li").first
    channel.link("Nose", **AWAY, recovery_step="rejoin")
    await shows(page, "Nose", "Recovering")
    await expect(card(page, "Nose")).to_contain_text("The hub is joining the camera's network again.")
    begun = "Nose does not answer: the hub is joining the camera's network again"
    await expect(first).to_contain_text(begun)
    await expect(toast(page, begun)).to_be_visible()
    assert await findings(page) == []
    channel.link("Nose", recovery_step="rejoin")  # the link is back, and the camera has not answered yet
    await shows(page, "Nose", "Recovering")
    await expect(first).to_contain_text(begun)
    channel.link("Nose")
    await shows(page, "Nose", "Connected")
    await expect(toast(page, "Nose answers, through wlan0")).to_be_visible()
    await expect(page.locator(".events li").nth(0)).to_contain_text("Nose answers, through wlan0")
    await expect(page.locator(".events li").nth(1)).to_contain_text(begun)


async def test_a_step_by_a_command_says_so_of_a_camera_that_answers(page: Page, hub: RunningHub) -> None:
    channel = Told()
    await channel.to(page)
    await hub.connected(1, "Nose")
    await opened(page, hub)
    await shows(page, "Nose", "Connected")
    channel.link("Nose", **AWAY, recovery_step="other-adapter")
    begun = "Nose: by a command, the hub is joining the camera's network through another adapter"
    first = page.locator(".events li").first
    await expect(first).to_contain_text(begun)
    channel.link("Nose", interface="wlan1")
    await expect(first).to_contain_text("Nose answers, through wlan1")
    await expect(first).not_to_contain_text("again")


async def test_a_step_that_does_not_help_is_followed_by_the_next(page: Page, hub: RunningHub) -> None:
    channel = await silent(page, hub)
    for step in LinkStep:
        channel.link("Nose", **SILENT, recovery_step=step.value)
        await expect(card(page, "Nose")).to_contain_text(f"The hub is {STEP_WORDS[step]}.")
        channel.link("Nose", **SILENT)
        await shows(page, "Nose", "Not answering")
        await expect(page.locator(".events li").first).to_contain_text("Nose still does not answer")


async def test_a_step_of_a_later_version_is_a_step(page: Page, hub: RunningHub) -> None:
    channel = await silent(page, hub)
    channel.link("Nose", **SILENT, recovery_step="of-a-later-version")
    await shows(page, "Nose", "Recovering")
    await expect(card(page, "Nose")).to_contain_text("The hub is trying to recover it.")


async def test_it_needs_attention_and_can_be_stopped(page: Page, hub: RunningHub) -> None:
    channel = await silent(page, hub)
    channel.link("Nose", **AWAY, recovery_step="other-adapter")
    await expect(card(page, "Nose").get_by_role("button", name="Stop", exact=True)).to_be_enabled()
    shown = await details(page, "Nose")
    await expect(shown.locator(".badge").first).to_have_text("Recovering")
    await expect(shown.locator(".trouble")).to_have_text(
        "The hub is joining the camera's network through another adapter."
    )
    await expect(shown.get_by_role("progressbar", name="Recovering")).to_be_visible()
    await act(shown, "Stop")
    channel.link("Nose", connection_status="disconnected", connected=False, reachable=None)
    await expect(shown.locator(".badge").first).to_have_text("Off")


async def test_a_person_asks_for_a_step_where_the_camera_does_not_answer(page: Page, hub: RunningHub) -> None:
    asked: list[str] = []

    async def answer(route: Route) -> None:
        asked.append(f"{route.request.method} {route.request.url.rpartition('/')[2]}")
        await route.fulfill(status=202, json={})

    await page.route("**/devices/*/recover", answer)
    channel = await silent(page, hub)
    await act(card(page, "Nose"), "Try to recover")
    await expect(toast(page, "Trying to recover Nose …")).to_be_visible()
    assert asked == ["POST recover"]
    channel.link("Nose")
    await shows(page, "Nose", "Connected")
    menu = await opened_menu(card(page, "Nose"))
    await expect(menu.get_by_role("menuitem", name="Try to recover")).to_have_count(0)


async def test_why_no_step_is_taken(page: Page, hub: RunningHub) -> None:
    body = {"code": "camera-busy", "detail": "the camera records, or may"}
    await page.route("**/devices/*/recover", lambda route: route.fulfill(status=409, json=body))
    await silent(page, hub)
    await act(card(page, "Nose"), "Try to recover")
    refused = "Nose: The camera is busy with something else. The camera records, or may."
    await expect(toast(page, refused)).to_be_visible()


async def test_the_history_has_its_begin_its_end_and_its_reason(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Nose")
    ended = replace(ROW, device_id=device, ended=ROW.time + 14_000_000)
    running = replace(ROW, id=2, device_id=device, code="reboot-camera", message=WHY)
    rows = [dict(history_json(one)) for one in (running, ended)]
    rows[0]["time"], rows[1]["time"], rows[1]["ended"] = ago(10), ago(100), ago(86)
    await page.route("**/history?*", lambda route: route.fulfill(json={"history": rows}))
    await opened(page, hub)
    lines = page.locator(".events li")
    await expect(lines.filter(has_text="Nose: the hub is rebooting the camera")).to_have_count(1)
    await expect(lines.filter(has_text="the hub is joining the camera's network again")).to_have_count(1)
    await expect(lines.filter(has_text=f"Nose: {WHY} {HELPED}")).to_have_count(1)
    shown = (await details(page, "Nose")).locator(".past")
    first, second = shown.locator("[data-kind=recovery]").nth(0), shown.locator("[data-kind=recovery]").nth(1)
    await expect(first).to_contain_text("Recovery since ")
    await expect(first).to_contain_text(f"Rebooting the camera. {WHY}")
    await expect(second).to_contain_text("Recovery from ")
    await expect(second).to_contain_text(f"{WHY} {HELPED}")
    await expect(second).to_contain_text("Code rejoin")
    await expect(second).not_to_contain_text("failed")
    assert await findings(page) == []
