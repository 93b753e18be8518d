"""The relay to the ports of a camera's model, by the requests that GoPro documents, to an emulated GoPro."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from multidict import CIMultiDict

from tests.http.served import Served
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import SCENARIO, connected
from wifimgrd.http.relay._headers import from_camera
from wifimgrd.http.relay._references import CameraPage


@pytest.fixture
async def daemon(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The real daemon with emulated cameras of three makes."""
    state = tmp_path / "state"
    state.mkdir()
    async with running_hub(message_bus.address, state, f"--simulate={SCENARIO}") as hub:
        yield hub


@pytest.fixture
async def gopro(daemon: Hub) -> int:
    """The id of a HERO12 that is connected."""
    return await connected(daemon, "gopro-hero12")


async def test_a_gopro_is_reached_at_the_port_of_its_api(shim: Served, gopro: int) -> None:
    api = f"/cameras/{gopro}:8080/gopro"
    assert (await shim.get(f"{api}/version")).json == {"version": "2.0"}
    assert (await shim.get(f"{api}/camera/shutter/start")).status == 200
    assert (await shim.get(f"{api}/camera/state")).json["status"]["10"] == 1
    assert (await shim.get(f"{api}/camera/shutter/stop")).status == 200
    assert (await shim.get(f"{api}/media/list")).json["media"][0]["fs"]


async def test_port_80_has_two_addresses(shim: Served, gopro: int) -> None:
    for prefix in (f"/cameras/{gopro}", f"/cameras/{gopro}:80"):
        assert (await shim.get(f"{prefix}/gp/gpControl/info")).json["info"]["model_name"] == "HERO12 Black"


@pytest.mark.parametrize("port", ["8081", "0", "080", "8080 ", "+80", "65536", "x", "80:80"])
async def test_a_port_that_the_model_does_not_list_is_404(shim: Served, gopro: int, port: str) -> None:
    answer = await shim.get(f"/cameras/{gopro}:{port}/gopro/version")
    assert (answer.status, answer.problem["code"]) == (404, "not-found")


async def test_a_port_is_written_as_it_is(shim: Served, gopro: int) -> None:
    """References in the camera's answers could not be told from others."""
    head = f"GET /cameras/{gopro}:%38080/ HTTP/1.1\r\nHost: {shim.host}\r\nConnection: close\r\n\r\n"
    assert b" 400 " in await shim.raw(head.encode(), first_line=True)


PAGE = CameraPage("10.5.5.9", "/cameras/3:8080", "/cameras/3:8080/a/b", port=8080)


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("/c", "/cameras/3:8080/c"),
        ("c", "c"),
        ("http://10.5.5.9:8080/c", "/cameras/3:8080/c"),
        ("http://10.5.5.9/c", None),
        ("http://10.5.5.9:80/c", None),
        ("../../../cameras/3/c", None),
    ],
)
def test_what_a_camera_refers_to_is_at_the_same_port_or_left_out(said: str, place: str | None) -> None:
    assert PAGE.location(said) == place


def test_cookies_of_one_port_are_for_that_port() -> None:
    kept = from_camera(CIMultiDict({"Set-Cookie": "a=b; Path=/x"}), PAGE, 3)
    assert kept["Set-Cookie"] == "wifimgrd_camera_3_a=b; Path=/cameras/3:8080/x"


def test_a_camera_is_asked_by_its_address_and_port() -> None:
    assert PAGE.authority == "10.5.5.9:8080"
    assert CameraPage("10.5.5.9", "/cameras/3", "/cameras/3/").authority == "10.5.5.9"
