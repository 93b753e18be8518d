"""What an admitted origin may read, and how its preflight is answered."""

from __future__ import annotations

import pytest

from tests.http.served import P, Served
from wifimgrd.http.settings import Settings

ORIGIN = "https://ok.example"
TILE = "/plugin-views/platform_plugin_map/map/offline-tiles/?z=2&x=1&y=1"
PATHS = [
    TILE,
    "/tiles/map/2/1/1.png",
    "/icons/camera.svg",
    "/healthz",
    P + "/",
    P + "/1/",
    P + "/abc/",
    "/nowhere",
]


@pytest.fixture
def settings() -> Settings:
    return Settings(origins=frozenset({ORIGIN}), token="s3cret")


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_names_an_admitted_origin(served: Served, path: str) -> None:
    for token in ("s3cret", "wrong"):
        answer = await served.get(path, headers={"Origin": ORIGIN, "Authorization": f"Bearer {token}"})
        assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert answer.headers["Access-Control-Allow-Credentials"] == "true"
        assert "Location" in answer.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("path", PATHS)
async def test_no_answer_names_another_origin(served: Served, path: str) -> None:
    answer = await served.get(path, headers={"Origin": "https://evil.example"})
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("headers", [{}, {"Origin": ORIGIN}, {"Origin": "https://evil.example"}])
async def test_an_answer_says_to_caches_that_it_differs_by_origin(
    served: Served, headers: dict[str, str]
) -> None:
    assert "Origin" in (await served.get("/healthz", headers=headers)).headers["Vary"]


@pytest.mark.parametrize("path", [*PATHS, P + "/wifi/connect", "/session", "/ws/management/"])
async def test_a_preflight_is_answered_without_a_token(served: Served, path: str) -> None:
    answer = await served.ask(
        "OPTIONS", path, headers={"Origin": ORIGIN, "Access-Control-Request-Method": "PATCH"}
    )
    assert (answer.status, answer.data) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "PATCH" in answer.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
    assert "Content-Type" in answer.headers["Access-Control-Allow-Headers"]
    for added_by_hosts in ("X-CSRFToken", "X-Requested-With"):
        assert added_by_hosts in answer.headers["Access-Control-Allow-Headers"]


async def test_a_preflight_from_the_internet_to_a_private_address_is_answered(served: Served) -> None:
    headers = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Private-Network": "true",
    }
    answer = await served.ask("OPTIONS", P + "/", headers=headers)
    assert answer.headers["Access-Control-Allow-Private-Network"] == "true"


async def test_a_preflight_of_another_site_gets_no_permission(served: Served) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
    answer = await served.ask("OPTIONS", P + "/", headers=headers)
    assert answer.status == 401
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("path", [P + "/", "/healthz", TILE, "/ws/management/"])
async def test_options_says_which_methods_there_are(served: Served, path: str) -> None:
    answer = await served.ask("OPTIONS", path, headers={"Authorization": "Bearer s3cret"})
    assert (answer.status, answer.data) == (204, b"")
    assert "GET" in answer.headers["Allow"].split(", ")
    nowhere = await served.ask("OPTIONS", "/nowhere", headers={"Authorization": "Bearer s3cret"})
    assert nowhere.status == 404
