"""Whose requests are answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.http.fake_hub import FakeHub, changed
from tests.http.served import P, Served
from tests.http.tiles.making import pyramid, write_mbtiles
from wifimgrd.config.configuration import TileSource
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http.access.request_safety import host_name, is_fetched_ahead, is_foreign
from wifimgrd.http.settings import Settings

OK = frozenset({"https://ok.example"})
CONNECT = P + "/wifi/connect?device_id=1"


@pytest.fixture
def settings() -> Settings:
    return replace(Settings(), origins=OK)


@pytest.fixture
def device(served: Served, fake_hub: FakeHub) -> None:
    """There is a device 1."""
    fake_hub.appear(DeviceRecord(1, "Front"))


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("LocalHost.:8080", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8080", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("::1", "::1"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("", ""),
        (":80", ""),
        ("localhost:80@evil.example", ""),
        ("localhost/evil.example", ""),
        ("[localhost", ""),
        ("localhost:port", ""),
    ],
)
def test_a_host_is_known_by_its_name_alone(host: str, name: str) -> None:
    assert host_name(host) == name


HOST = {"Host": "hub.local:8080"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://hub.local:8080"},
        {"Origin": "http://HUB.local:8080"},
        {"Origin": "https://ok.example"},
        {"Origin": "https://ok.example", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-origin", "Referer": "http://evil.example/"},
        {"Referer": "http://hub.local:8080/page"},
        {"Referer": "https://ok.example/page"},
        {"Origin": "http://hub.local:8080", "Referer": "http://evil.example/"},
    ],
)
def test_these_come_from_here(headers: dict[str, str]) -> None:
    assert not is_foreign(HOST | headers, OK)


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://hub.local:9090"},
        {"Sec-Fetch-Site": "something-new"},
        {"Sec-Fetch-Site": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "http://hub.local"},
        {"Origin": "http://hub.local:9090"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://ok.example"},
        {"Origin": "https://ok.example:8443"},
        {"Origin": "https://ok.example.evil.example"},
        {"Referer": "http://evil.example/hub.local:8080"},
        {"Referer": "garbage"},
    ],
)
def test_these_come_from_another_site(headers: dict[str, str]) -> None:
    assert is_foreign(HOST | headers, OK)


@given(st.text(), st.text())
def test_no_header_is_too_odd_to_be_judged(origin: str, host: str) -> None:
    is_foreign({"Host": host, "Origin": origin}, OK)
    host_name(host)


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}, {"X-Moz": "Prefetch"}],
)
def test_a_browser_that_fetches_ahead_is_known(headers: dict[str, str]) -> None:
    assert is_fetched_ahead(headers)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "", "127.0.0.1.evil.example", "[::2]"])
@pytest.mark.parametrize("path", ["/healthz", P + "/", "/ws/management/", "/nowhere"])
async def test_a_host_that_is_not_ours_is_refused_everywhere(served: Served, host: str, path: str) -> None:
    answer = await served.get(path, headers={"Host": host})
    assert (answer.status, answer.problem["code"]) == (403, "not-authorized")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:80", "localhost."])
async def test_loopback_names_are_ours_on_any_port(served: Served, host: str) -> None:
    assert (await served.get("/healthz", headers={"Host": host})).status == 200


async def test_a_request_without_a_host_is_not_valid(served: Served) -> None:
    answer = await served.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert b" 400 " in answer.splitlines()[0]
    assert b'"invalid-request"' in answer


async def test_a_request_with_two_hosts_is_not_valid(served: Served) -> None:
    answer = await served.raw(
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    )
    assert b" 400 " in answer.splitlines()[0]
    assert b'"invalid-request"' in answer


async def test_a_request_of_old_needs_no_host(served: Served) -> None:
    assert b" 200 " in (await served.raw(b"GET /healthz HTTP/1.0\r\n\r\n")).splitlines()[0]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", CONNECT),
        ("POST", CONNECT),
        ("GET", P + "/wifi/disconnect/?device_id=1"),
        ("POST", P + "/wifi/disconnect?device_id=1"),
        ("POST", P + "/"),
        ("PATCH", P + "/1/"),
        ("DELETE", P + "/1/"),
    ],
)
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Purpose": "prefetch"},
    ],
)
async def test_another_site_changes_nothing(
    served: Served, fake_hub: FakeHub, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = await served.ask(method, path, headers=headers)
    assert (answer.status, answer.problem["code"]) == (403, "not-authorized")
    assert fake_hub.asked == []


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
async def test_our_own_page_and_a_person_connect(served: Served, headers: dict[str, str]) -> None:
    assert (await served.get(CONNECT, headers=headers)).status == 200


@pytest.mark.usefixtures("device")
async def test_our_own_origin_connects(served: Served) -> None:
    assert (await served.post(CONNECT, headers={"Origin": served.url})).status == 200


@pytest.mark.usefixtures("device")
async def test_another_port_of_this_host_is_another_site(served: Served) -> None:
    assert (await served.post(CONNECT, headers={"Origin": "http://127.0.0.1:1"})).status == 403


@pytest.mark.usefixtures("device")
async def test_an_admitted_origin_connects(served: Served) -> None:
    headers = {"Origin": "https://ok.example", "Sec-Fetch-Site": "cross-site"}
    assert (await served.get(CONNECT, headers=headers)).status == 200


async def test_another_site_may_ask_for_what_it_cannot_read(served: Served) -> None:
    answer = await served.get(P + "/", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 200
    assert "Access-Control-Allow-Origin" not in answer.headers


HIDDEN = {"Host": "hub.local:8080"}
"""A request of a browser over plain HTTP whose page hides where it is; a Host that is allowed."""
CHANGES = [
    ("GET", CONNECT),
    ("POST", CONNECT),
    ("GET", P + "/wifi/disconnect?device_id=1"),
    ("PATCH", P + "/1/"),
    ("DELETE", P + "/1/"),
    ("GET", "/cameras/1/"),
]


class TestOnAName:
    """Reached by a name that is not loopback's, without a token."""

    @pytest.fixture
    def settings(self) -> Settings:
        return replace(Settings(), origins=OK, hosts=frozenset({"hub.local", "localhost"}))

    @pytest.mark.usefixtures("device")
    @pytest.mark.parametrize(("method", "path"), CHANGES)
    @pytest.mark.parametrize("more", [{}, {"Referer": "http://hub.local:8080/cameras/1/page"}])
    async def test_what_does_not_say_where_it_comes_from_changes_nothing(
        self, served: Served, fake_hub: FakeHub, method: str, path: str, more: dict[str, str]
    ) -> None:
        answer = await served.ask(method, path, headers=HIDDEN | more)
        assert (answer.status, answer.problem["code"]) == (403, "not-authorized")
        assert fake_hub.asked == []

    @pytest.mark.usefixtures("device")
    @pytest.mark.parametrize(
        "evidence",
        [
            {"Sec-Fetch-Site": "same-origin"},
            {"Sec-Fetch-Site": "none"},
            {"Origin": "http://hub.local:8080"},
            {"Origin": "https://ok.example"},
            {"Referer": "http://hub.local:8080/"},
            {"Referer": "https://ok.example/page"},
            {"X-Requested-With": "XMLHttpRequest"},
        ],
    )
    async def test_evidence_of_an_admitted_page_is_enough(
        self, served: Served, evidence: dict[str, str]
    ) -> None:
        assert (await served.get(CONNECT, headers=HIDDEN | evidence)).status == 200

    @pytest.mark.parametrize("path", [P + "/", "/healthz", P + "/wifi/interfaces", "/"])
    async def test_reading_needs_no_evidence(self, served: Served, path: str) -> None:
        assert (await served.get(path, headers=HIDDEN)).status == 200

    async def test_following_needs_no_evidence(self, served: Served) -> None:
        channel = await served.channel(headers=HIDDEN)
        assert (await channel.receive_json())["type"] == "snapshot"
        async with served.session.get(served.url + "/events", headers=HIDDEN) as events:
            assert events.status == 200

    @pytest.mark.usefixtures("device")
    @pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:80", "[::1]"])
    async def test_loopback_names_need_no_evidence(self, fake_hub: FakeHub, host: str) -> None:
        settings = replace(Settings(), hosts=frozenset({"localhost", "127.0.0.1", "::1"}))
        async with Served.start(fake_hub, settings) as served:
            fake_hub.appear(DeviceRecord(1, "Front"))
            assert (await served.get(CONNECT, headers={"Host": host})).status == 200

    @pytest.mark.usefixtures("device")
    async def test_with_a_token_the_token_is_enough(self, fake_hub: FakeHub, settings: Settings) -> None:
        async with Served.start(fake_hub, replace(settings, token="s3cret")) as served:
            fake_hub.appear(DeviceRecord(1, "Front"))
            headers = HIDDEN | {"Authorization": "Bearer s3cret"}
            assert (await served.get(CONNECT, headers=headers)).status == 200


def test_over_tls_a_page_that_came_without_is_another_site() -> None:
    assert is_foreign({"Host": "hub.local", "Origin": "http://hub.local"}, OK, secure=True)
    assert not is_foreign({"Host": "hub.local", "Origin": "https://hub.local"}, OK, secure=True)


async def test_the_hubs_address_on_a_link_is_no_name_of_it(fake_hub: FakeHub, tmp_path: Path) -> None:
    tiles = TileSource("map", "mbtiles", write_mbtiles(tmp_path / "map", pyramid(1)))
    settings = replace(Settings(), hosts=frozenset({"localhost", "192.168.42.10"}), tile_sources=(tiles,))
    async with Served.start(fake_hub, settings) as served:
        host = {"Host": "192.168.42.10"}
        for path in ("/healthz", "/tiles/map/1/1/1"):
            assert (await served.get(path, headers=host)).status == 200
        device = DeviceRecord(1, state="connected", local_address="192.168.42.10")
        fake_hub.happen(changed(device, "local_address"))
        for path in ("/healthz", "/tiles/map/1/1/1"):
            assert (await served.get(path, headers=host)).status == 403
            assert (await served.get(path, headers={"Host": "localhost"})).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
async def test_another_site_does_not_join_the_channel(served: Served, origin: str) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await served.channel(headers={"Origin": origin})
    assert refused.value.status == 403


async def test_our_own_page_and_admitted_origins_join_the_channel(served: Served) -> None:
    for origin in (served.url, "https://ok.example"):
        channel = await served.channel(headers={"Origin": origin})
        assert (await channel.receive_json())["type"] == "snapshot"
