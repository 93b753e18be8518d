"""The token, as a bearer and as a cookie."""

from __future__ import annotations

from http.cookies import SimpleCookie

import aiohttp
import pytest

from tests.http.served import Answer, P, Served
from wifimgrd.http.access.throttle import Throttle, address_group
from wifimgrd.http.settings import Settings

BEARER = {"Authorization": "Bearer s3cret"}


@pytest.fixture
def settings() -> Settings:
    return Settings(token="s3cret")


def cookie_of(answer: Answer) -> dict[str, str]:
    """What a browser sends after this answer."""
    [morsel] = SimpleCookie(answer.headers["Set-Cookie"]).values()
    return {"Cookie": f"{morsel.key}={morsel.value}"}


@pytest.mark.parametrize("path", [P + "/", P + "/1/", "/nowhere", "/ws/management/", P + "/wifi/connect"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": "s3cret"},
        {"Authorization": "Basic s3cret"},
        {"Authorization": "Bearer s3cretä"},
        {"Cookie": "wifimgrd_session=s3cret"},
        {"Cookie": "wifimgrd_session="},
    ],
)
async def test_without_the_token_nothing_is_answered(
    served: Served, path: str, headers: dict[str, str]
) -> None:
    answer = await served.get(path, headers=headers)
    assert (answer.status, answer.problem["code"]) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


async def test_liveness_needs_no_token(served: Served) -> None:
    assert (await served.get("/healthz")).status == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
async def test_a_bearer_is_admitted(served: Served, scheme: str) -> None:
    assert (await served.get(P + "/", headers={"Authorization": f"{scheme} s3cret"})).status == 200


async def test_a_session_is_given_for_the_token_in_the_body(served: Served) -> None:
    answer = await served.post("/session", json={"token": "s3cret"})
    assert answer.status == 204
    assert (await served.get(P + "/", headers=cookie_of(answer))).status == 200


async def test_a_session_is_given_for_the_token_in_the_header(served: Served) -> None:
    answer = await served.post("/session/", headers=BEARER)
    assert answer.status == 204
    assert (await served.get(P + "/", headers=cookie_of(answer))).status == 200


async def test_odd_cookies_of_others_are_in_nobodys_way(served: Served) -> None:
    cookie = cookie_of(await served.post("/session", headers=BEARER))["Cookie"]
    for odd in ("a/b=1", "=", ";;", 'q="\\"', "wifimgrd_session=old", "ä=ö"):
        assert (await served.get(P + "/", headers={"Cookie": f"{odd}; {cookie}"})).status == 200
        assert (await served.get(P + "/", headers={"Cookie": odd})).status == 401


async def test_the_cookie_is_kept_from_scripts_and_other_sites_and_is_not_the_token(served: Served) -> None:
    cookie = (await served.post("/session", headers=BEARER)).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie
    assert "s3cret" not in cookie


@pytest.mark.parametrize("body", [{"token": "wrong"}, {"token": "s3cret "}, {"token": "\ud800"}])
async def test_a_wrong_token_gets_no_session(served: Served, body: object) -> None:
    answer = await served.post("/session", json=body)
    assert answer.problem["code"] == "unauthorized"
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("body", [{}, [], {"token": 1}, None])
async def test_a_session_is_asked_for_with_a_token(served: Served, body: object) -> None:
    assert (await served.post("/session", json=body)).problem["code"] == "invalid-request"


async def test_an_address_may_not_go_on_asking_for_sessions(served: Served) -> None:
    answers = [await served.post("/session", json={"token": "wrong"}) for _ in range(11)]
    assert [answer.status for answer in answers] == [401] * 10 + [429]
    assert answers[-1].problem["code"] == "too-many-requests"
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 6
    assert (await served.post("/session", headers=BEARER)).status == 429
    assert (await served.get(P + "/", headers=BEARER)).status == 200


def test_who_waits_may_try_again() -> None:
    clock = Clock()
    throttle = Throttle(2, 10, clock)
    assert [throttle.wait_s("192.0.2.1") for _ in range(3)] == [0, 0, 10]
    assert throttle.wait_s("192.0.2.2") == 0
    clock.now = 4
    assert throttle.wait_s("192.0.2.1") == 6
    clock.now = 10
    assert [throttle.wait_s("192.0.2.1") for _ in range(2)] == [0, 10]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("", "", True),
    ],
)
def test_addresses_of_one_client_count_together(one: str, other: str, is_same: bool) -> None:
    assert (address_group(one) == address_group(other)) is is_same


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_another_site_gets_no_session(served: Served) -> None:
    headers = BEARER | {"Sec-Fetch-Site": "same-site"}
    assert (await served.post("/session", headers=headers)).status == 403


async def test_the_channel_is_joined_by_bearer_and_by_cookie(served: Served) -> None:
    cookie = cookie_of(await served.post("/session", headers=BEARER))
    for headers in (BEARER, cookie):
        channel = await served.channel(headers=headers)
        assert (await channel.receive_json())["type"] == "snapshot"


async def test_the_channel_is_not_joined_without(served: Served) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await served.channel()
    assert refused.value.status == 401


async def test_a_sign_out_expires_the_cookie_that_a_sign_in_sets(served: Served) -> None:
    signed_in = await served.post("/session", headers=BEARER)
    signed_out = await served.ask("DELETE", "/session", headers=cookie_of(signed_in))
    assert (signed_out.status, signed_out.data) == (204, b"")
    [before] = SimpleCookie(signed_in.headers["Set-Cookie"]).values()
    [after] = SimpleCookie(signed_out.headers["Set-Cookie"]).values()
    assert (after.key, after.value, after["max-age"]) == (before.key, "", "0")
    assert after["expires"].startswith("Thu, 01 Jan 1970")
    for attribute in ("path", "domain", "samesite", "secure", "httponly"):
        assert after[attribute] == before[attribute]
    assert (await served.get(P + "/", headers=cookie_of(signed_out))).status == 401


@pytest.mark.parametrize(
    "headers", [{}, {"Cookie": "wifimgrd_session=old"}, {"Authorization": "Bearer wrong"}]
)
async def test_a_sign_out_needs_no_token_and_may_be_repeated(served: Served, headers: dict[str, str]) -> None:
    for path in ("/session", "/session/"):
        answer = await served.ask("DELETE", path, headers=headers)
        assert (answer.status, "Set-Cookie" in answer.headers) == (204, True)


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://elsewhere.example"}, {"Host": "elsewhere"}],
)
async def test_another_site_signs_nobody_out(served: Served, headers: dict[str, str]) -> None:
    answer = await served.ask("DELETE", "/session", headers=BEARER | headers)
    assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)


async def test_an_address_may_go_on_signing_out(served: Served) -> None:
    assert {(await served.ask("DELETE", "/session")).status for _ in range(12)} == {204}


class TestWithoutAToken:
    """Where the configuration asks for none."""

    @pytest.fixture
    def settings(self) -> Settings:
        return Settings()

    async def test_everything_is_open_and_there_are_no_sessions(self, served: Served) -> None:
        assert (await served.get(P + "/")).status == 200
        for method in ("POST", "DELETE"):
            answer = await served.ask(method, "/session", json={"token": ""})
            assert (answer.status, answer.problem["code"]) == (404, "not-found")
