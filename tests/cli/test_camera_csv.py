"""Cameras in a CSV file: as spreadsheets write them, and as export does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.cli._camera_csv import camera_table, csv_entries
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import DeviceRecord

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30).filter(
    lambda text: text == text.strip()
)


def test_every_column() -> None:
    text = (
        "name,ssid,password,codename,priority,auto_reconnect,auto_wake,pin_usb_port\r\n"
        '"Nose, left",CAM-1,"say ""hi""12",insta360-x3,-3,no,yes,1-1.2\r\n'
    )
    (entry,) = csv_entries(text, "cameras.csv")
    assert (entry.where, entry.ssid, entry.problem) == ("cameras.csv, line 2", b"CAM-1", "")
    assert entry.password is not None
    assert entry.password.reveal() == 'say "hi"12'
    assert entry.settings == {
        "name": "Nose, left",
        "codename": "insta360-x3",
        "priority": -3,
        "auto_reconnect": False,
        "auto_wake": True,
        "pin": {"usb_port": "1-1.2"},
    }
    assert entry.checked().problem == ""


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_spreadsheets_of_other_countries_write(delimiter: str) -> None:
    lines = (("ssid", " open ", "password"), ("CAM-1", "yes", ""), ("", "", ""), ("CAM-2", "", "a,b;c d8"))
    entries = csv_entries("\n".join(delimiter.join(f'"{one}"' for one in line) for line in lines), "x")
    assert [(one.ssid, one.password and one.password.reveal()) for one in entries] == [
        (b"CAM-1", ""),
        (b"CAM-2", "a,b;c d8"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ssid,pasword\nCAM,x\n", 'unknown column "pasword"; did you mean "password"?'),
        ("CAM-1,camera-pass-1\n", 'unknown column "CAM-1"'),
        ("name,password\nx,y\n", "the first line must name the columns"),
        ("ssid,ssid\nx,y\n", "a column is there twice"),
        ('ssid\n"never closed\n', "unexpected end of data"),
        ("ssid\n" + "x" * 200_000, "field larger than field limit"),
    ],
)
def test_what_is_no_table_of_cameras(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^cameras\.csv") as refused:
        csv_entries(text, "cameras.csv")
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("CAM-1,camera-pass-1,,,x", "the line has more or fewer cells"),
        ("CAM-1", "the line has more or fewer cells"),
        ("CAM-1,,,", "the file has no password for it"),
        ("CAM-1,camera-pass-1,yes,", "an open network has no password"),
        ("CAM-1,camera-pass-1,perhaps,", '"perhaps" is neither yes nor no'),
        ("CAM-1,camera-pass-1,,many", '"many" is not a whole number'),
        ("CAM-1,camera-pass-1,,9999", "priority:"),
        ("CAM-1,short,,", "password:"),
        (",camera-pass-1,,", "the line has no ssid"),
        ("CAM\0,camera-pass-1,,", "NUL characters"),
    ],
)
def test_why_a_line_cannot_be_registered(line: str, problem: str) -> None:
    (entry,) = csv_entries(f"ssid,password,open,priority\n{line}\n", "x")
    assert problem in entry.checked().problem
    assert "camera-pass" not in entry.checked().problem


@given(TEXT, st.binary(min_size=1, max_size=32), st.integers(-1000, 1000), st.booleans())
def test_what_is_exported_is_imported(name: str, ssid: bytes, priority: int, switch: bool) -> None:
    pin = {"mac": "00:c0:ca:12:34:56"} if switch else {"usb_port": "1-1.4"}
    device = DeviceRecord(
        7, name, "insta360-x3", ssid=ssid, priority=priority, auto_reconnect=switch, auto_wake=True, pin=pin
    )
    (entry,) = csv_entries(camera_table([device]), "x")
    assert (entry.ssid, entry.password, entry.problem) == (ssid, None, "")
    wanted = {"name": name, "codename": "insta360-x3", "priority": priority, "auto_wake": True, "pin": pin}
    read = {"priority": 0, "auto_reconnect": True, **entry.settings}
    assert read == {**wanted, "auto_reconnect": switch}


def test_no_name_is_a_formula() -> None:
    text = camera_table([DeviceRecord(1, '=HYPERLINK("http://x")', ssid=b"-1+1")])
    assert text.splitlines()[1].startswith('"\'=HYPERLINK(""http://x"")",\'-1+1,')
