"""`wifimgrctl check`: one sentence, a line for each finding, and the exit status."""

from __future__ import annotations

import argparse
import io
import json
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from wifimgrd.cli._arguments import parser
from wifimgrd.cli._check import check
from wifimgrd.cli._screen import Screen
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.check import Wanted
from wifimgrd.domain.records import CheckRecord, DeviceRecord, FindingRecord, ServiceRecord

READY = CheckRecord(True, (1, 2), ())
LOW = CheckRecord(
    False,
    (1, 2),
    (
        FindingRecord(device_id=2, code="not-connected", message="It is asleep."),
        FindingRecord(device_id=1, code="battery-low", message="Its battery is low: 12 %."),
    ),
)


@dataclass
class Rig:
    """A hub with two cameras."""

    found: CheckRecord
    asked: dict[str, Any] = field(default_factory=dict)
    devices: dict[int, DeviceRecord] = field(
        default_factory=lambda: {1: DeviceRecord(1, "Nose"), 2: DeviceRecord(2, "Tail")}
    )

    service: ServiceRecord = field(
        default_factory=lambda: ServiceRecord(missing_members={"land": ("Wing", "7")})
    )

    async def check(self, wanted: Wanted, **options: Any) -> CheckRecord:
        self.asked = {"wanted": wanted, **options}
        return self.found


async def shown(rig: Rig, *words: str, err: io.StringIO | None = None) -> tuple[bool, str]:
    """Whether it succeeded, and what stands on stdout."""
    arguments: argparse.Namespace = parser().parse_args(["check", *words])
    screen = Screen(json=arguments.json, out=io.StringIO(), err=err or io.StringIO(), columns=None)
    done = await check(cast("HubClient", rig), arguments, screen)
    return done, cast("io.StringIO", screen.out).getvalue()


async def test_a_rig_that_is_ready_is_one_sentence_and_succeeds() -> None:
    assert await shown(Rig(READY)) == (True, "Both cameras are ready.\n")


async def test_each_finding_is_a_line_below_the_sentence() -> None:
    done, text = await shown(Rig(LOW))
    assert not done
    assert text.splitlines() == [
        "None of 2 cameras is ready: Tail is not connected, Nose has a low battery.",
        "  Tail: It is asleep. (not-connected)",
        "  Nose: Its battery is low: 12 %. (battery-low)",
    ]


async def test_as_json_it_is_what_http_answers() -> None:
    done, text = await shown(Rig(LOW), "--json")
    assert not done
    assert json.loads(text)["findings"][0] == {
        "device_id": 2,
        "code": "not-connected",
        "message": "It is asleep.",
    }


async def test_limits_are_in_the_units_of_people() -> None:
    rig = Rig(READY)
    await shown(rig, "--recording", "--battery", "40", "--minutes-left", "30", "--clock-ms", "500")
    assert rig.asked == {
        "wanted": Wanted(True, 40, 1_800_000_000, 500_000),
        "device_ids": None,
        "group": None,
    }


async def test_cameras_are_named_or_those_of_a_group() -> None:
    rig = Rig(READY)
    await shown(rig, "Tail", "1", "2")
    assert (rig.asked["device_ids"], rig.asked["group"]) == ([2, 1], None)
    await shown(rig, "--group", "nose")
    assert (rig.asked["device_ids"], rig.asked["group"]) == (None, "nose")


async def test_a_group_that_names_cameras_that_are_not_there_is_not_ready() -> None:
    err = io.StringIO()
    done, _ = await shown(Rig(READY), "--group", "land", err=err)
    assert not done
    assert err.getvalue() == 'The group "land" has cameras that this hub does not have: Wing, 7.\n'
    done, text = await shown(Rig(READY), "--group", "land", "--json")
    assert (done, json.loads(text)["ok"]) == (False, False)


@pytest.mark.parametrize(
    "words",
    [["Tail", "--group", "nose"], ["--battery", "101"], ["--minutes-left", "-1"], ["--clock-ms", "x"]],
)
def test_arguments_that_do_not_fit_are_a_usage_error(words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parser().parse_args(["check", *words])
    assert end.value.code == 2
