"""A rejected create, as the platform's form reads it: `connection_settings` is there, whatever went wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Answer, P, Served
from wifimgrd.domain.errors import ErrorCode, InvalidRequest, error_of
from wifimgrd.http._errors import STATUSES
from wifimgrd.http.settings import Settings

GOOD: dict[str, Any] = {
    "codename": "insta360-x4",
    "connection_type": "wifi",
    "connection_settings": {"ssid": "NOBODY", "password": "long-enough"},
}
TOKEN = "s3cret-s3cret-s3cret"


async def create(shim: Served, **changes: Any) -> Answer:
    return await shim.post(P + "/", json=GOOD | changes)


def shown(answer: Answer) -> Any:
    """What the form shows, by field."""
    return answer.problem["connection_settings"]


async def test_a_wrong_connection_type_is_shown_in_the_form_beside_the_member_at_fault(shim: Served) -> None:
    answer = await create(shim, connection_type="bluetooth")
    assert answer.status == 400
    assert answer.json["connection_type"] == ["Invalid connection type for the device."]
    assert shown(answer) == {"ssid": ["Invalid connection type for the device."]}


async def test_a_wrong_connection_type_hides_no_fault_of_another_field(shim: Served) -> None:
    answer = await create(
        shim, codename="", connection_type="bluetooth", connection_settings={"ssid": "", "password": "short"}
    )
    assert answer.json["codename"] == ["This field may not be blank."]
    assert answer.json["connection_type"] == ["Invalid connection type for the device."]
    assert shown(answer).keys() == {"ssid", "password"}


async def test_a_fault_in_the_form_stands_at_its_own_field_alone(shim: Served) -> None:
    answer = await create(shim, connection_settings={"ssid": "CAM", "password": "short"})
    assert shown(answer).keys() == {"password"}


async def test_the_sentences_of_all_members_outside_of_the_form_are_shown(
    served: Served, fake_hub: FakeHub
) -> None:
    faults = {"codename": ("Invalid device codename.",), "name": ("Too long.",)}
    fake_hub.answer = InvalidRequest("both", faults)
    answer = await create(served)
    assert answer.json["codename"] == ["Invalid device codename."]
    assert shown(answer) == {"ssid": ["Invalid device codename.", "Too long."]}


@pytest.mark.parametrize("code", list(ErrorCode))
async def test_every_error_of_the_daemon_has_the_member(
    served: Served, fake_hub: FakeHub, code: ErrorCode
) -> None:
    fake_hub.answer = error_of(code, "It was so.")
    answer = await create(served)
    assert answer.status == STATUSES[code].status
    assert shown(answer) == ({} if answer.status >= 500 else {"ssid": ["It was so."]})


@pytest.mark.parametrize("error", [TimeoutError(), RuntimeError("inside")])
async def test_what_is_our_fault_blames_no_field(served: Served, fake_hub: FakeHub, error: Exception) -> None:
    fake_hub.answer = error
    answer = await create(served)
    assert answer.status >= 500
    assert shown(answer) == {}


async def test_a_daemon_that_is_away_blames_no_field(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.vanish()
    answer = await create(served)
    assert (answer.status, shown(answer)) == (503, {})


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("{", {}, 400),
        ("x" * 70_000, {}, 413),
        ("{}", {"Idempotency-Key": ""}, 400),
        ("{}", {"Origin": "http://elsewhere.example"}, 403),
        ("{}", {"Host": "elsewhere.example"}, 403),
    ],
)
async def test_what_is_refused_before_the_daemon_has_the_member(
    served: Served, body: str, headers: dict[str, str], status: int
) -> None:
    for path in (P, P + "/"):
        answer = await served.post(path, data=body, headers=headers)
        assert answer.status == status
        assert shown(answer) == {"ssid": [answer.problem["detail"]]}


async def test_other_requests_have_no_such_member(served: Served) -> None:
    for answer in (await served.get(P + "/1/"), await served.get("/nowhere"), await served.ask("DELETE", P)):
        assert "connection_settings" not in answer.problem


class TestWithToken:
    """Where a token is needed."""

    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(token=TOKEN)

    async def test_a_create_without_it_has_the_member(self, served: Served) -> None:
        answer = await create(served)
        assert answer.status == 401
        assert shown(answer) == {"ssid": [answer.problem["detail"]]}
