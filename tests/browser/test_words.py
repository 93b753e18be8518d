"""The words of the page: one catalog, each error with a heading in the guide, names as they are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.looking import card, details, opened, shows
from tests.browser.running_hub import RunningHub
from wifimgrd.domain.commands import CONNECT
from wifimgrd.domain.errors import ErrorCode

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "frontend/check_messages.mjs"
OF_CAMERAS = {*CONNECT.errors, ErrorCode.NOT_AUTHORIZED}


def test_all_texts_are_in_the_catalog() -> None:
    found = subprocess.run(["node", CHECK], capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr, found.returncode) == ("", "", 0)


def test_a_text_outside_of_the_catalog_is_found(tmp_path: Path) -> None:
    view = tmp_path / "view.tsx"
    view.write_text(
        'const A = () => <p title="Read me">Hello <b>{yes ? "Good" : t.bad}</b> {`made ${of} it`}</p>;'
    )
    found = subprocess.run(
        ["node", CHECK, f"../../{'../' * 20}{view}"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert [line.split(": ", 1)[1] for line in found.stdout.splitlines()] == [
        "Read me",
        "Hello",
        "Good",
        "made",
        "it",
    ]


@pytest.mark.parametrize("code", sorted(OF_CAMERAS))
def test_an_error_has_a_heading_in_the_guide_and_its_words_on_the_page(code: ErrorCode) -> None:
    guide = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    assert re.search(rf"^### `{code.value}`$", guide, re.MULTILINE)
    catalog = (ROOT / "frontend/src/messages.ts").read_text(encoding="utf-8")
    name = code.value if code.value.isidentifier() else f'"{code.value}"'
    assert len(re.findall(rf"^    {name}: ", catalog, re.MULTILINE)) >= 2, "what happened, and what to do"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", None),  # Persian needs its joiner
        ("\U0001f469\u200d\U0001f680 cockpit", None),
        ("a\u202egnorw", r"a\u202egnorw"),
        ("a\u2066b\u2069", r"a\u2066b\u2069"),
        ("a\u200bb", r"a\u200bb"),
    ],
)
async def test_joiners_are_shown_and_bidi_controls_are_escaped(
    page: Page, hub: RunningHub, name: str, shown: str | None
) -> None:
    await hub.connected(1, name)
    await opened(page, hub)
    await shows(page, shown or name, "Connected")
    await card(page, shown or name).get_by_role("link", name=shown or name).first.click()
    await expect(page.get_by_role("heading", level=2, name=shown or name)).to_be_visible()


@pytest.mark.asyncio(loop_scope="session")
async def test_the_codes_of_errors_are_on_the_page(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.create(1, "Front", "not-its-password")
    await expect((await details(page, "Front")).locator(".trouble code")).to_have_text(
        "authentication-failed"
    )


OUTSIDE = """() => {
  const found = [];
  for (const one of document.querySelectorAll(".unbroken")) {  // a part of a text
    const whole = one.parentElement;
    one.replaceWith(one.textContent);
    whole.normalize();
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const shown = node.parentElement;
    if (shown.closest("bdi, code, time, script, noscript, .mono, .about-adapter, option:not([value=''])")) {
      continue;
    }
    let rest = node.data;
    for (let before = ""; before !== rest; ) {  // a text may be within another
      before = rest;
      rest = rest.replace(/\u27e6[^\u27e6\u27e7]*\u27e7/g, "");
    }
    rest = rest.replace(/[\\d.]+GHz/g, "").trim();
    if (/\\p{L}{2,}/u.test(rest)) found.push(rest);
  }
  return found;
}"""
"""The texts that are not in the brackets of the pseudo-language, but for names, codes and times."""
NAMES = {
    "GoPro HERO12",
    "Insta360 X3",
    "Insta360 X4",
    "Ricoh Theta X",
    "Skycam 2",
    "wlan0",
    "wlan1",
    "wlan2",
    "Simulated 802.11ac adapter",
}


@pytest.mark.asyncio(loop_scope="session")
async def test_no_text_stands_outside_of_the_catalog(browser: Browser, hub: RunningHub) -> None:
    context = await browser.new_context(locale="en-XA")
    page = await context.new_page()
    await hub.connected(1, "Front")
    await hub.create(2, "Tail", "not-its-password")
    await hub.create(3, "Wing", "not-its-password")
    views = {
        "": ".card",
        f"#camera/{min(hub.client.devices)}": "[role=slider]",
        "#adapters": "[data-interface]",
        "#events": ".events li",
        "#add": ".heard",  # a camera that is heard over Bluetooth
        "style": ".card",
        "nowhere": ".empty",
    }
    for view, part in views.items():
        await page.goto("about:blank")
        await page.goto(hub.url + view)
        await expect(page.locator(part).first).to_be_visible()
        outside = set(await page.evaluate(OUTSIDE)) - NAMES
        assert outside == set(), view
    await context.close()
