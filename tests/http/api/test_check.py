"""`P/check` by HTTP."""

from __future__ import annotations

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.domain.check import NOTHING_MORE, Wanted
from wifimgrd.domain.errors import GroupNotFound
from wifimgrd.domain.records import CheckRecord, DeviceRecord, FindingRecord

FOUND = CheckRecord(
    ok=False,
    checked=(1, 2),
    findings=(FindingRecord(device_id=2, code="not-connected", message="It is asleep."),),
)


async def test_the_answer_has_who_was_checked_and_what_was_found(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.checked = FOUND
    answer = await served.get(f"{P}/check")
    assert answer.status == 200
    assert answer.json == {
        "ok": False,
        "checked": [1, 2],
        "findings": [{"device_id": 2, "code": "not-connected", "message": "It is asleep."}],
    }
    assert fake_hub.asked[-1] == ("check", NOTHING_MORE, None, None)


async def test_limits_have_the_units_of_their_names(served: Served, fake_hub: FakeHub) -> None:
    await served.get(f"{P}/check?recording=1&battery=0&time_left_s=1800&clock_ms=500")
    assert fake_hub.asked[-1][1] == Wanted(True, 0, 1_800_000_000, 500_000)


async def test_several_devices_are_named_one_by_one(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1), DeviceRecord(2))
    await served.get(f"{P}/check?device_id=2&device_id=1")
    assert fake_hub.asked[-1] == ("check", NOTHING_MORE, [2, 1], None)


async def test_a_group_is_named(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.answer = GroupNotFound('there is no group "tail"')
    answer = await served.get(f"{P}/check?group=tail")
    assert (answer.status, answer.json["code"]) == (404, "group-not-found")
    assert fake_hub.asked[-1] == ("check", NOTHING_MORE, None, "tail")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("device_id=7", 404),
        ("device_id=-1", 404),
        ("device_id=99999999999999999999999999", 404),
        ("device_id=nose", 400),
        ("group=a&group=b", 400),
        ("recording=yes", 400),
        ("battery=101", 400),
        ("battery=-1", 400),
        ("time_left_s=", 400),
        ("clock_ms=1.5", 400),
    ],
)
async def test_parameters_that_are_none_are_refused(
    served: Served, fake_hub: FakeHub, query: str, status: int
) -> None:
    fake_hub.appear(DeviceRecord(1))
    assert (await served.get(f"{P}/check?{query}")).status == status
