"""`P/groups/` on the real daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.grouped_hub import CHIN, LEFT, NOSE, TAIL, grouped_hub, until_connected
from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub


@pytest.fixture
async def daemon(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with grouped_hub(message_bus.address, tmp_path) as hub:
        yield hub


async def test_the_groups_are_listed(shim: Served) -> None:
    answer = await shim.get(f"{P}/groups/")
    assert answer.json == {
        "groups": [
            {"name": "nose", "device_ids": [NOSE, CHIN], "missing": ["nobody"]},
            {"name": "everyone", "device_ids": [NOSE, CHIN, LEFT, TAIL], "missing": []},
        ]
    }


async def test_a_reservation_for_no_camera_is_told_with_the_interfaces(shim: Served) -> None:
    [reason] = (await shim.get(f"{P}/wifi/interfaces")).json["unmatched_reservations"]
    assert 'a camera named "Belly", but there is no such camera' in reason


async def test_who_is_missing_follows_the_names(shim: Served, daemon: Hub) -> None:
    await daemon.client.update_device(TAIL, {"name": "Rear"})
    await daemon.client.wait_until(lambda client: "everyone" in client.service.missing_members, 5)
    [_, everyone] = (await shim.get(f"{P}/groups/")).json["groups"]
    assert everyone == {"name": "everyone", "device_ids": [NOSE, CHIN, LEFT], "missing": ["Tail"]}


async def test_a_group_is_connected_or_nothing_is_changed(shim: Served, daemon: Hub) -> None:
    answer = await shim.post(f"{P}/groups/everyone/connect")
    assert (answer.status, answer.problem["code"]) == (409, "no-interface-available")
    await until_connected(daemon, {LEFT, TAIL})
    answer = await shim.post(f"{P}/groups/nose/connect")
    done = {"done": True, "code": None, "message": None}
    assert (answer.status, answer.json) == (
        200,
        {"results": [{"device_id": one} | done for one in (NOSE, CHIN)]},
    )
    await daemon.until(TAIL, "disconnected")
    await until_connected(daemon, {NOSE, CHIN, LEFT})
    answer = await shim.post(f"{P}/groups/everyone/connect?partial=1")
    assert [one["code"] for one in answer.json["results"]] == [None, None, None, "no-interface-available"]


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("nobody/connect", 404, "group-not-found"),
        ("no%20such%2Fgroup/connect", 404, "group-not-found"),
        ("nose/connect?partial=yes", 400, "invalid-request"),
    ],
)
async def test_a_refusal_has_its_status(shim: Served, address: str, status: int, code: str) -> None:
    answer = await shim.post(f"{P}/groups/{address}")
    assert (answer.status, answer.problem["code"]) == (status, code)


async def test_it_is_a_post(shim: Served) -> None:
    assert (await shim.get(f"{P}/groups/nose/connect")).status == 405


async def test_a_hub_without_groups_lists_none_and_one_that_is_away_says_so(
    served: Served, fake_hub: FakeHub
) -> None:
    assert (await served.get(f"{P}/groups/")).json == {"groups": []}
    fake_hub.vanish()
    assert (await served.get(f"{P}/groups/")).status == 503
    assert (await served.post(f"{P}/groups/nose/connect")).status == 503


async def test_an_answer_that_does_not_come_is_a_service_that_is_not_available(
    served: Served, fake_hub: FakeHub
) -> None:
    fake_hub.answer = TimeoutError()
    answer = await served.post(f"{P}/groups/nose/connect?partial=true")
    assert (answer.status, answer.problem["code"]) == (503, "backend-unavailable")
    assert fake_hub.asked == [("connect_group", "nose", True)]
