"""Takes by HTTP: which recordings belong together, as JSON and as a table."""

from __future__ import annotations

import csv
import io

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.domain.records import FileRecord, HistoryRecord, MissingRecord, TakeRecord

BEGAN_US = 1_764_000_000_000_000
BEGAN = "2025-11-24T16:00:00.000000Z"
ROW = HistoryRecord(
    id=7,
    time=BEGAN_US,
    kind="recording",
    device_id=1,
    device_name="Nose",
    code="stopped",
    message="The recording was stopped.",
    ended=BEGAN_US + 1_500_000,
    serial_number="C344",
    battery_level=0,
    battery_level_after=70,
    storage_free=0,
    storage_free_after=5,
    clock_offset=-1_500,
    clock_bound=12_000,
    files=(FileRecord(name="100GOPRO/GX010123.MP4", size=0), FileRecord(name="100GOPRO/GX020123.MP4")),
)
OF_ROW = {
    "id": 7,
    "time": BEGAN,
    "device_id": 1,
    "device_name": "Nose",
    "kind": "recording",
    "interface": None,
    "code": "stopped",
    "message": "The recording was stopped.",
    "ended": "2025-11-24T16:00:01.500000Z",
    "signal_minimum": None,
    "signal_mean": None,
    "serial_number": "C344",
    "battery_level": 0,
    "battery_level_after": 70,
    "storage_free": 0,
    "storage_free_after": 5,
    "clock_offset_ms": -2,
    "clock_bound_ms": 13,
    "files": [{"name": "100GOPRO/GX010123.MP4", "size": 0}, {"name": "100GOPRO/GX020123.MP4", "size": None}],
}
UNKNOWN = HistoryRecord(id=8, time=BEGAN_US + 1, kind="recording", device_id=2, device_name="Tail")
TAKE = TakeRecord(
    time=BEGAN_US,
    recordings=(ROW, UNKNOWN),
    missing=(
        MissingRecord(device_id=3, device_name="Left", code="not-connected"),
        MissingRecord(device_id=4, device_name="Right"),
    ),
)
CSV = {"Accept": "text/csv"}


async def table(served: Served, hub: FakeHub, *takes: TakeRecord) -> list[dict[str, str]]:
    hub.found_takes = list(takes)
    answer = await served.get(f"{P}/takes", headers=CSV)
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Vary"] == "Accept"
    return list(csv.DictReader(io.StringIO(answer.data.decode(), newline="")))


async def test_a_take_has_its_recordings_and_who_is_missing(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.found_takes = [TAKE]
    answer = await served.get(f"{P}/takes")
    assert answer.status == 200
    [take] = answer.json["takes"]
    assert take.keys() == {"time", "ended", "recordings", "missing"}
    assert (take["time"], take["ended"]) == (BEGAN, None)
    assert take["recordings"][0] == OF_ROW
    assert take["missing"] == [
        {"device_id": 3, "device_name": "Left", "code": "not-connected"},
        {"device_id": 4, "device_name": "Right", "code": None},
    ]


async def test_what_is_not_known_of_a_recording_is_null(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.found_takes = [TAKE]
    row = (await served.get(f"{P}/takes")).json["takes"][0]["recordings"][1]
    given = {"id", "time", "kind", "device_id", "device_name"}
    assert {name for name, value in row.items() if value is not None} == given
    assert row.keys() == OF_ROW.keys()


async def test_the_parameters_are_times_and_a_number(served: Served, fake_hub: FakeHub) -> None:
    query = "?since=2025-11-24T16:00:00Z&until=2025-11-24T17:00:01%2B01:00&limit=5"
    assert (await served.get(f"{P}/takes{query}")).json == {"takes": []}
    await served.get(f"{P}/takes")
    assert fake_hub.asked == [("takes", BEGAN_US, BEGAN_US + 1_000_000, 5), ("takes", 0, 0, None)]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "since=5", "until=2025-11-24", "limit=1&limit=2"]
)
async def test_a_parameter_that_is_none_is_refused(served: Served, query: str) -> None:
    answer = await served.get(f"{P}/takes?{query}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")


async def test_a_table_has_a_line_for_each_recording_and_each_missing_camera(
    served: Served, fake_hub: FakeHub
) -> None:
    nose, tail, left, right = await table(served, fake_hub, TAKE)
    assert nose == {
        "take": BEGAN,
        "time": BEGAN,
        "ended": "2025-11-24T16:00:01.500000Z",
        "device_id": "1",
        "device_name": "Nose",
        "serial_number": "C344",
        "code": "stopped",
        "message": "The recording was stopped.",
        "battery_level": "0",
        "battery_level_after": "70",
        "storage_free": "0",
        "storage_free_after": "5",
        "clock_offset_ms": "-2",
        "clock_bound_ms": "13",
        "files": "100GOPRO/GX010123.MP4;100GOPRO/GX020123.MP4",
        "file_sizes": "0;",
    }
    assert (tail["take"], tail["device_name"], tail["ended"], tail["files"]) == (BEGAN, "Tail", "", "")
    assert (left["take"], left["time"], left["device_name"], left["code"]) == (
        BEGAN,
        "",
        "Left",
        "not-connected",
    )
    assert (right["time"], right["code"]) == ("", "")


async def test_a_table_without_takes_has_its_header(served: Served, fake_hub: FakeHub) -> None:
    answer = await served.get(f"{P}/takes", headers=CSV)
    assert answer.data.startswith(b"take,time,ended,device_id,device_name,serial_number,")
    assert answer.data.count(b"\r\n") == 1


@pytest.mark.parametrize(
    "name",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\tA", "\rA", "\nA", "  =HYPERLINK(1)", "\uff1d1", "=\"a\",'b'\r\n"],
)
async def test_a_name_that_a_spreadsheet_would_take_for_a_formula_has_an_apostrophe(
    served: Served, fake_hub: FakeHub, name: str
) -> None:
    hostile = HistoryRecord(
        id=1, time=1, kind="recording", device_name=name, files=(FileRecord(name=name, size=5),)
    )
    missing = MissingRecord(device_id=3, device_name=name)
    row, left = await table(served, fake_hub, TakeRecord(time=1, recordings=(hostile,), missing=(missing,)))
    assert (row["device_name"], row["files"], left["device_name"]) == (f"'{name}",) * 3


async def test_nor_is_a_part_of_it_where_semicolons_separate_cells(served: Served, fake_hub: FakeHub) -> None:
    files = (FileRecord(name="a.MP4", size=5), FileRecord(name="=b;+c.MP4", size=6))
    hostile = HistoryRecord(id=1, time=1, kind="recording", device_name="a; =1;b", files=files)
    [row] = await table(served, fake_hub, TakeRecord(time=1, recordings=(hostile,), missing=()))
    assert (row["device_name"], row["files"], row["file_sizes"]) == ("a;' =1;b", "a.MP4;'=b_+c.MP4", "5;6")


@pytest.mark.parametrize("name", ["Nose", "Nose=1", "1-2", 'a "b", c', "a\nb", "Kamera \u00e4", ""])
async def test_another_name_is_as_it_is(served: Served, fake_hub: FakeHub, name: str) -> None:
    row = HistoryRecord(id=1, time=1, kind="recording", device_name=name)
    [found] = await table(served, fake_hub, TakeRecord(time=1, recordings=(row,), missing=()))
    assert found["device_name"] == name


async def test_a_name_cannot_command_the_terminal_on_which_a_table_is_printed(
    served: Served, fake_hub: FakeHub
) -> None:
    row = HistoryRecord(id=1, time=1, kind="recording", device_name="\x1b]0;a\x07\x9b=1")
    hostile = HistoryRecord(id=1, time=1, kind="recording", device_name="\x00=1")
    found = await table(served, fake_hub, TakeRecord(time=1, recordings=(row, hostile), missing=()))
    assert [one["device_name"] for one in found] == ["]0;a=1", "'=1"]


@pytest.mark.parametrize(
    ("accept", "is_csv"),
    [
        ("text/csv", True),
        ("TEXT/CSV;q=0.1", True),
        ("text/csv; charset=utf-8; q=0.5, application/json;q=0.4", True),
        ("text/csv, */*", True),
        ("text/csv, application/json", False),
        ("text/csv;q=0", False),
        ("text/csv;q=0.4, application/json", False),
        ("text/*", False),
        ("*/*", False),
        ("application/json", False),
        ("text/csvx", False),
        (";;,q=,text", False),
        ("", False),
    ],
)
async def test_a_table_is_for_who_prefers_it(
    served: Served, fake_hub: FakeHub, accept: str, is_csv: bool
) -> None:
    answer = await served.get(f"{P}/takes", headers={"Accept": accept})
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/csv" if is_csv else "application/json")
