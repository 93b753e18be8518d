"""A report of a fault over HTTP: who gets it, and as what."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiohttp.test_utils import make_mocked_request

from tests.http.api.test_connect import register
from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from wifimgrd.domain.errors import NotAuthorized
from wifimgrd.http._errors import Problem
from wifimgrd.http.api.diagnose import Diagnose
from wifimgrd.http.settings import Settings

TOKEN = "token-of-this-test"


async def test_it_is_a_file_of_plain_text_that_nobody_keeps(served: Served) -> None:
    answer = await served.get("/diagnose")
    assert (answer.status, answer.data) == (200, b"a report")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="wifimgrd-report.txt"'
    assert answer.headers["Cache-Control"] == "no-store"


async def test_the_real_daemon_names_no_network_in_it(shim: Served) -> None:
    await register(shim)
    text = (await shim.get("/diagnose")).data.decode()
    for part in ("wifimgrctl diagnose", "== Configuration ==", "== Hub ==", '"ssid": "SSID-'):
        assert part in text
    for secret in ("SIM-CAM", "camera-pass", "02:00:00"):
        assert secret not in text


async def test_with_a_token_the_token_decides(fake_hub: FakeHub, settings: Settings) -> None:
    async with Served.start(fake_hub, replace(settings, token=TOKEN)) as served:
        assert (await served.get("/diagnose")).status == 401
        # A proxy is no matter then.
        headers = {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-For": "192.0.2.1"}
        assert (await served.get("/diagnose", headers=headers)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "192.0.2.1"},
        {"Forwarded": "for=192.0.2.1"},
        {"X-Real-IP": "192.0.2.1"},
        {"Host": "hub.local"},
    ],
)
async def test_without_a_token_nothing_goes_through_a_proxy(
    fake_hub: FakeHub, settings: Settings, headers: dict[str, str]
) -> None:
    settings = replace(settings, hosts=settings.hosts | {"hub.local"})
    async with Served.start(fake_hub, settings) as served:
        answer = await served.get("/diagnose", headers=headers)
    assert (answer.status, answer.problem["code"]) == (403, "not-authorized")
    assert not fake_hub.asked


@pytest.mark.parametrize("remote", ["192.0.2.1", "fe80::1", ""])
async def test_without_a_token_nothing_goes_to_another_host(fake_hub: FakeHub, remote: str) -> None:
    fake_hub.appear()
    request = make_mocked_request("GET", "/diagnose", {"Host": "localhost"}).clone(remote=remote)
    with pytest.raises(Problem) as refused:
        await Diagnose(fake_hub, with_token=False).diagnose(request)
    assert refused.value.status == 403
    assert not fake_hub.asked


async def test_another_site_gets_none(served: Served, fake_hub: FakeHub) -> None:
    assert (await served.get("/diagnose", headers={"Sec-Fetch-Site": "cross-site"})).status == 403
    assert not fake_hub.asked


async def test_what_polkit_denies_is_denied(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.answer = NotAuthorized("user 7 is not authorized for org.wifimgrd1.diagnose")
    answer = await served.get("/diagnose")
    assert (answer.status, answer.problem["code"]) == (403, "not-authorized")


async def test_without_the_daemon_there_is_none(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.vanish()
    answer = await served.get("/diagnose")
    assert (answer.status, answer.problem["code"]) == (503, "backend-unavailable")
