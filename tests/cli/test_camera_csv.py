"""Cameras in a CSV file: as spreadsheets write them, and as export does."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wifimgrd.cli._camera_csv import COLUMNS, camera_table, csv_entries
from wifimgrd.domain.device_values import Fault, read_passphrase, read_ssid, read_text
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.domain.registration import Fields, parse_registration


def is_accepted(reader: Callable[[object], object], value: object) -> bool:
    """Whether the hub takes a value."""
    try:
        reader(value)
    except Fault:
        return False
    return True


ODD = (
    "1-2",
    "00105377",
    "1E5",
    "31e5",
    "TRUE",
    "=1+1",
    "'",
    "'1-2",
    "''x",
    "+1",
    " a ",
    "a,b;c\td",
    '"',
    "Mar-1",
    "\u2028",
)
"""What spreadsheets, and readers of CSV, may take for something else."""
TEXTS = st.one_of(st.sampled_from(ODD), st.text(max_size=40), st.text("0123456789'-.eE \",;", max_size=20))
NAMES = TEXTS.filter(lambda text: is_accepted(read_text, text))
SSIDS = st.one_of(TEXTS.map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=32)).filter(
    lambda ssid: is_accepted(read_ssid, ssid)
)
PASSWORDS = st.one_of(
    st.text([chr(one) for one in range(0x20, 0x7F)], min_size=8, max_size=63),
    st.text("0123456789abcdefABCDEF", min_size=64, max_size=64),
    st.sampled_from(["", "'1234567", "00105377", "=1234567", " 123456 ", '",;\'"""', "8" * 8]),
).filter(lambda password: is_accepted(read_passphrase, password))
SHADOW = "root:$6$salt$" + "x" * 8 + ":20228:0:99999:7:::"
PINS = st.sampled_from([None, {"mac": "00:11:22:33:44:55"}, {"usb_port": "1-2"}, {"usb_port": "1-1.4"}])


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
        ("CAM-1,camera-pass-1\n", "column 1 has an unknown name"),
        (f"ssid,{SHADOW}", "column 2 has an unknown name"),
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
    assert "$6$" not in refused.value.message


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("CAM-1,camera-pass-1,,,x", "the line has more or fewer cells"),
        ("CAM-1", "the line has more or fewer cells"),
        ("CAM-1,,,", "the file has no password for it"),
        ("CAM-1,camera-pass-1,yes,", "an open network has no password"),
        ("CAM-1,,camera-pass-1,", "open: neither yes nor no"),
        ("CAM-1,camera-pass-1,,camera-pass-1", "priority: not a whole number from -1000 to 1000"),
        ("CAM-1,camera-pass-1,,1" + "0" * 30, "priority: not a whole number from -1000 to 1000"),
        ("CAM-1,camera-pass-1,,9999", "priority: not a whole number from -1000 to 1000"),
        ("CAM-1,short,,", "password: A password has 8 to 63 characters, or 64 hexadecimal digits."),
        (",camera-pass-1,,", "the line has no ssid"),
        ("CAM\0,camera-pass-1,,", "NUL characters"),
    ],
)
def test_why_a_line_cannot_be_registered(line: str, problem: str) -> None:
    (entry,) = csv_entries(f"ssid,password,open,priority\n{line}\n", "x")
    assert problem in entry.checked().problem
    assert "camera-pass" not in entry.checked().problem


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (",,zz,", 'pin_mac: not a MAC address such as "02:00:00:00:01:00"'),
        (",,,zz", 'pin_usb_port: not a USB port such as "1-1.4"'),
        (",,02:00:00:00:01:00,1-1.4", "pin_mac and pin_usb_port: only one of them can be set"),
        ("CAM-2,camera-pass-1,,", "ssid and ssid_hex are different networks"),
    ],
)
def test_why_a_pin_or_a_network_cannot_be_used(line: str, problem: str) -> None:
    text = f"ssid_hex,ssid,password,pin_mac,pin_usb_port\n43414d2d31,{line}\n"
    (entry,) = csv_entries(text, "x")
    assert entry.problem == problem


@given(NAMES, SSIDS, PASSWORDS, NAMES, st.integers(-1000, 1000), st.booleans(), PINS)
@example("1-2", b"00105377", "00105377", "1E5", -3, True, {"usb_port": "1-2"})
@example(" Nose ", b"CAM A ", " 1234567 ", "'x", 0, False, None)
@example("'=1", b"\xe3\x1e\x05", "", "TRUE", 5, False, None)
def test_what_is_exported_and_gets_its_password_is_imported_as_it_was(
    name: str,
    ssid: bytes,
    password: str,
    codename: str,
    priority: int,
    switch: bool,
    pin: dict[str, str] | None,
) -> None:
    device = DeviceRecord(
        7, name, codename, ssid=ssid, priority=priority, auto_reconnect=switch, auto_wake=not switch, pin=pin
    )
    fields: Fields = {
        "name": name, "codename": codename, "connection_type": "wifi", "ssid": ssid, "password": password,
        "priority": priority, "auto_reconnect": switch, "auto_wake": not switch, "pin": pin or {},
    }  # fmt: skip
    text = camera_table([device])
    (exported,) = csv_entries(text, "x")
    assert (exported.ssid, exported.password, exported.problem) == (ssid, None, "")
    (entry,) = csv_entries(with_password(text, password), "x")
    assert entry.checked().problem == ""
    assert parse_registration(entry.request("another")) == parse_registration(fields)


def with_password(text: str, password: str) -> str:
    """The table of one camera after a person has filled in its password."""
    head, row = csv.reader(io.StringIO(text, newline=""))
    cells = dict(zip(head, row, strict=True)) | {"password": password, "open": "" if password else "yes"}
    table = io.StringIO(newline="")
    csv.writer(table).writerows([COLUMNS, [cells[one] for one in COLUMNS]])
    return table.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "1-2", "1/2", "1.50", "00105377", "123456789012", "1E5", "31e05", "12:30", "5 PM", "5%", "(5)",
        "Mar-1", "1 May", "SEPT2", "May 5, 2024", "true", "FALSE", "-1+1", "=1", "@x", " =1", "'x", "\uff1dx",
    ],
)  # fmt: skip
def test_what_a_spreadsheet_would_change_has_an_apostrophe_before_it(text: str) -> None:
    assert f",'{text}," in camera_table([DeviceRecord(1, "x", ssid=text.encode())]).replace('"', "")


@pytest.mark.parametrize(
    "text", ["X3 1A2B3C.OSC", "CAM-1", "8", "12345678", "Nose", "Marlin 3", "May", "1A", "4 Runner"]
)
def test_other_names_stay_as_they_are(text: str) -> None:
    assert f",{text}," in camera_table([DeviceRecord(1, "x", ssid=text.encode())])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("sep=;\r\nname;ssid;password\r\nNose;CAM-1;12345678\r\n", 3),
        ('"sep=|"\nname|ssid|password\nNose|CAM-1|12345678\n', 3),
        ("name;ssid;password;;\r\nNose;CAM-1;12345678;;\r\n;;;;\r\n", 2),
        ("name,,ssid,password\nNose,,CAM-1,12345678,,\n , ,,\n", 2),
        ("name,ssid,password\rNose,CAM-1,12345678\r", 2),
    ],
    ids=[
        "the first line names the delimiter",
        "in quotes",
        "empty columns",
        "and in the middle",
        "ends of CR",
    ],
)
def test_a_list_of_excel_is_read(text: str, line: int) -> None:
    (entry,) = csv_entries(text, "cameras.csv")
    assert (entry.ssid, entry.settings.get("name"), entry.problem) == (b"CAM-1", "Nose", "")
    assert entry.where == f"cameras.csv, line {line}"


def test_a_cell_below_no_name_is_named_by_its_column() -> None:
    (entry,) = csv_entries("name,ssid,,password\nNose,CAM-1,camera-pass-1,12345678\n", "x")
    assert entry.problem == "the cell in column 3 is not empty, and the column has no name"


def test_blanks_belong_to_a_cell() -> None:
    (entry,) = csv_entries("name,ssid,password, priority \n Nose ,CAM A , 12345678, 5\n", "x")
    assert entry.password is not None
    assert (entry.ssid, entry.password.reveal()) == (b"CAM A ", " 12345678")
    assert entry.settings == {"name": " Nose ", "priority": 5}


def test_no_name_is_a_formula() -> None:
    text = camera_table([DeviceRecord(1, '=HYPERLINK("http://x")', ssid=b"-1+1")])
    assert text.splitlines()[1].startswith('"\'=HYPERLINK(""http://x"")",\'-1+1,')
