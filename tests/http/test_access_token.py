"""The token, as a bearer and as a cookie."""

from __future__ import annotations

from http.cookies import SimpleCookie

import aiohttp
import pytest

from tests.http.served import Answer, P, Served
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


class TestWithoutAToken:
    """Where the configuration asks for none."""

    @pytest.fixture
    def settings(self) -> Settings:
        return Settings()

    async def test_everything_is_open_and_there_are_no_sessions(self, served: Served) -> None:
        assert (await served.get(P + "/")).status == 200
        assert (await served.post("/session", json={"token": ""})).problem["code"] == "not-found"
