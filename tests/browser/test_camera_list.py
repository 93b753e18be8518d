"""Lists of cameras: the page reads what `wifimgrctl import` reads, and plans the same."""

from __future__ import annotations

import base64
import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from tests.cli.test_camera_csv import ODD
from tests.faults.random_life import seed
from tests.programs import node
from tests.soak import examples
from tests.wifi_texts import CASES
from wifimgrd.cli._camera_csv import COLUMNS
from wifimgrd.cli._camera_files import _text, entries_of
from wifimgrd.cli._entries import Entry
from wifimgrd.cli._import import _planned
from wifimgrd.cli._models import known_models
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http.api.models import model_json

READ: Final = """
import { readFileSync } from "node:fs";
import { build } from "esbuild";
Object.defineProperty(globalThis, "navigator", { value: { languages: ["en"] } });
globalThis.document = { querySelector: () => null };
globalThis.setInterval = () => 0;
const options = { entryPoints: ["src/camera_list.ts"], bundle: true, format: "esm", write: false };
const built = await build(options);
const made = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
const { call, given } = JSON.parse(readFileSync(0, "utf8"));
function tried(work) {
  try {
    return work();
  } catch (fault) {
    if (fault instanceof made.ListFault) return fault.message;
    throw fault;
  }
}
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const calls = {
  entries: (texts) => texts.map(([text, source]) => tried(() => made.entriesOf(text, source).map((one) => {
    return [one.where, hex(one.ssid), one.password, one.settings, one.problem];
  }))),
  decoded: (files) => files.map((data) => tried(() => [made.decoded(Buffer.from(data, "base64"), "x")])),
  plan: ({ text, devices, models }) => made.planned(made.entriesOf(text, "x"), devices, models)
    .map((one) => [made.titleOf(one.entry), one.codename, one.result, one.reason, one.id]),
  requests: (text) => made.planned(made.entriesOf(text, "x"), [], []).map((one) => made.requestOf(one, true)),
};
console.log(JSON.stringify(calls[call](given)));
"""
HEAD: Final = ",".join(COLUMNS)
TEXTS: Final = (
    "name,ssid,password,open,codename,priority,pin_usb_port\nNose,SIM-CAM-1,camera-pass-1,,insta360-x3,5,1-1.2\n"
    "Tail,SIM-CAM-2,camera-pass-2,,,,\nShort,SIM-CAM-3,short,,,,\nFree,OPEN-CAM,,yes,,,\n",
    "ssid;password\r\nCAM-1;88888888\r\n\r\nCAM-2;12345678\r\n",
    "sep=;\nssid;password\nCAM-1;88888888\n",
    '"sep=,";;\r\nssid,password\nCAM-1,88888888',
    "ssid\tpassword\rCAM-1\t88888888\r",
    '\ufeffssid,password\nCAM-1,88888888\n',
    'ssid,password\n"CAM, ""1""",88888888\n',
    'ssid,password\n"CAM\n1",88888888\nCAM-2,88888888\n',
    'ssid,password\nCA"M-1,88888888\n',
    'ssid,password\n"CAM"x,88888888\n',
    'ssid,password\n"never closed\n',
    "ssid,password\n" + "x" * 200_000,
    "name,ssid,,password\nNose,CAM-1,,camera-pass-1\nTail,CAM-2,x,camera-pass-1\n",
    "ssid,pasword\nCAM,x\n", "CAM-1,camera-pass-1\n", "name,password\nx,y\n", "ssid,ssid\n"
    "x,y\n", "ssid\n", "",
    " \n", "ssid_hex,ssid,password\n43414d,CAM,88888888\n43414d,CAN,88888888\n4 3,,88888888\n"
    "43 41,,88888888\nff,,88888888\n",
    "ssid,password,open\nCAM-1,88888888,yes\nCAM-1,88888888,perhaps\nCAM-1,,No\nCAM-1,,YES\n",
    "ssid,password,priority\nA,88888888,+5\nB,88888888,-1000\nC,88888888,1001\nD,88888888,5.0\n"
    "E,88888888, 7 \n",
    "ssid,password,auto_wake,auto_reconnect\nA,88888888,yes,no\nB,88888888,maybe,\n",
    "ssid,password,pin_mac,pin_usb_port\nA,88888888,02:00:00:00:01:00,\nB,88888888,zz,\nC,88888888,,1-1.4\n"
    "D,88888888,,zz\nE,88888888,02:00:00:00:01:00,1-1\n",
    "ssid,password\nCAM-1\nCAM-1,88888888,x\nCAM-1,88888888,\n,88888888\n",
    "ssid,password\n" + "x" * 33 + ",88888888\nCA\0M,88888888\nCA\x01M,88888888\n"
    "WIFI:S:CAM;P:88888888;;,88888888\n",
    "name,ssid,password\n" + "n" * 129 + ",CAM,88888888\nwifi:x,CAM,88888888\n" + "n\x07,CAM,88888888\n",
    "ssid,password\nCAM,1234567\nCAM," + "x" * 64 + "\nCAM," + "a" * 64 + "\nCAM,p\u00e4ssword\n",
    "name,ssid,password\n'1-2,CAM,88888888\n'x,CAM,88888888\n''=1,CAM,'1234567\n Nose ,CAM A , 1234567\n",
    "WIFI:T:WPA;S:SIM-CAM-1;P:camera-pass-1;;\n\nWIFI:nonsense\nWIFI:S:SIM-CAM-1;P:camera-pass-1;;\n"
    "WIFI:T:WPA2-EAP;S:Corp;E:PEAP;I:me;P:camera-pass-1;;\nWIFI:T:WPA;S:qw1;;\n"
    "WIFI:T:nopass;S:qw3;P:camera-pass-1;;\n"
    "WIFI:T:WEP;S:a;P:b;;\nWIFI:S:open;;\nWIFI:S:short;P:short;;\n",
    "ctrl_interface=/run/wpa_supplicant\nnetwork={\n}\n", "network:\n  version: 2\n  wifis:\n",
    "[Security]\nPassphrase=camera-pass-1\n", '[\n  {"id": 1}\n]\n', "hunter2 swordfish\n",
)  # fmt: skip
FILES: Final = (
    b"ssid,password\n",
    b"\xef\xbb\xbfssid,password\n",
    b"PK\x03\x04\xff",
    b"\xff\xfes\0",
    b"ssid\n\xff\n",
    b"x" * (1024 * 1024 + 1),
    "\u00e9".encode(),
)
CELLS: Final = (
    *ODD, "", "", "CAM-1", "CAM-2", "88888888", "yes", "no", "5", "-3", "x" * 33, "1-1.2", "43414d", '"',
    "02:00:00:00:01:00", "a\nb", "\u00e9", "\u3000", "\x1f", "\u0663", "5 PM", "12:30", "1e5 ", "true ", "_1",
    "Sept. 3", "3 may", "007",
)  # fmt: skip
"""What random cells are."""


def read(call: str, given: Any) -> Any:
    """What the page's code makes of values."""
    return json.loads(node(READ, given=json.dumps({"call": call, "given": given})))


def of_command_line(text: str, source: str = "x") -> object:
    """The entries that the command line finds, or why it finds none."""

    def values(one: Entry) -> list[object]:
        password = None if one.password is None else one.password.reveal()
        return [one.where, one.ssid.hex(), password, one.settings, one.problem]

    try:
        return [values(one) for one in entries_of(text, source)]
    except InvalidRequest as error:
        return error.message


@pytest.mark.parametrize("text", TEXTS)
def test_what_people_write_is_read_alike(text: str) -> None:
    [found] = read("entries", [[text, "x"]])
    assert found == of_command_line(text)


def test_texts_of_qr_codes_are_read_alike() -> None:
    texts = [text for text in CASES if "\n" not in text]
    assert read("entries", [[text, "x"] for text in texts]) == [of_command_line(text) for text in texts]


def test_any_table_is_read_alike() -> None:
    chance = random.Random(seed())
    texts = [_table(chance) for _ in range(examples(1_500))]
    read_entries = 0
    for text, found in zip(texts, read("entries", [[text, "x"] for text in texts]), strict=True):
        assert found == of_command_line(text), text
        read_entries += isinstance(found, list)
    assert read_entries > len(texts) / 2


def _table(chance: random.Random) -> str:
    """A table of odd cells, some with a word in the head that is none."""
    names = chance.sample(COLUMNS, chance.randrange(1, len(COLUMNS) + 1))
    names += [] if "ssid" in names or chance.random() < 0.2 else ["ssid"]
    if chance.random() < 0.1:
        names[0] = chance.choice(("pasword", "net", "", "SSID", "names", "auto-wake"))
    rows = [[chance.choice(CELLS) for _ in names] for _ in range(chance.randrange(1, 4))]
    if chance.random() < 0.2:
        rows[0].append(chance.choice(("", "x")))
    text = io.StringIO(newline="")
    end = chance.choice(("\n", "\r\n", "\r"))
    csv.writer(text, delimiter=chance.choice(",;\t"), lineterminator=end).writerows([names, *rows])
    return text.getvalue()


def test_what_is_no_text_is_refused_in_the_same_words() -> None:
    def ours(data: bytes) -> object:
        try:
            return [_text(data, "x")]
        except InvalidRequest as error:
            return error.message

    given = [base64.b64encode(data).decode() for data in FILES]
    assert read("decoded", given) == [ours(data) for data in FILES]


def test_profiles_are_the_command_lines_alone() -> None:
    profile = "# a comment\n[connection]\nid=x\n[wifi]\nssid=CAM\n"
    found = read("entries", [[profile, "x"], ["ssid\n", "a.nmconnection"]])
    assert all("a profile of NetworkManager, which wifimgrctl import reads" in one for one in found)


def test_more_cameras_than_one_import_takes_are_refused() -> None:
    [found] = read("entries", [["ssid\n" + "x\n" * 600, "x"]])
    assert found == "600 cameras are more than the 500 of one import"


RESULTS: Final = {"new": "new", "already registered": "known", "not registered": "failed"}
PLANS: Final = (
    "name,ssid,password\nNose,SIM-CAM-1,88888888\nOther,SIM-CAM-1,88888888\nTail,CAM-9,88888888\n",
    "ssid,password\nSIM-CAM-1,\nSIM-CAM-2,\nSIM-CAM-3,\n",
    "ssid,password\nCAM,88888888\nCAM,88888888\n CAM,88888888\n",
    "name,ssid,password\nA,CAM,88888888\nB,CAM,88888888\nA,CAM,88888888\n",
    "ssid,password\nX4 1A2B3C.OSC,88888888\nInsta360 X3 1.OSC,88888888\nTHETAYR0001.OSC,88888888\n"
    "GP25140001,88888888\n"
    "X4 Air 12.OSC,88888888\nx4 1A2B3C.OSC,88888888\nX4 a b.OSC,88888888\n",
    "WIFI:S:SIM-CAM-1;P:88888888;;\nWIFI:S:X5 1.OSC;P:88888888;;\nWIFI:S:X5 1.OSC;P:88888888;;\nWIFI:bad\n",
    "name,ssid,password,codename\nNose,CAM,88888888,mine\nTail,CAN,88888888,Ricoh_ThetaX\n",
    "name,ssid,password\nOther,SIM-CAM-2,88888888\n",
    "name,ssid,password\nA,CAM-1,88888888\nA,CAM-2,88888888\nB,CAM-2,88888888\n",
    "ssid,password,codename\nCAM,88888888,theta-xx\n",
    "ssid,password,codename\nSIM-CAM-1,88888888,theta-xx\n",
)  # fmt: skip
DEVICES: Final = (
    DeviceRecord(1, "Nose", "insta360-x3", ssid=b"SIM-CAM-1"),
    DeviceRecord(2, "SIM-CAM-2", "insta360-x3", ssid=b"SIM-CAM-2"),
    DeviceRecord(5, "Tail", "insta360-x3", ssid=b"SIM-CAM-1"),
)


def models() -> list[Mapping[str, object]]:
    """The catalog, as the page is given it."""
    return [model_json(one) for one in known_models().values()]


def of_page(text: str, devices: Sequence[DeviceRecord]) -> Any:
    """What the page plans."""
    known = [
        {"id": one.id, "name": one.name, "connection_settings": {"ssid": one.ssid.decode()}}
        for one in devices
    ]
    return read("plan", {"text": text, "devices": known, "models": models()})


@pytest.mark.parametrize("text", PLANS)
def test_the_plan_is_that_of_a_dry_run(text: str) -> None:
    ours = [
        [one.entry.title, one.codename, RESULTS[one.result], one.reason, one.device_id]
        for one in _planned(entries_of(text, "x"), {one.id: one for one in DEVICES})
    ]
    assert of_page(text, DEVICES) == ours


def test_a_model_that_the_catalog_does_not_have_is_said_before_it_is_added() -> None:
    [[_, _, result, reason, _]] = of_page("ssid,password,codename\nCAM,88888888,theta-xx\n", ())
    said = 'The model "theta-xx" is not in the catalog; the closest one is ricoh-theta-x.'
    assert (result, reason) == ("new", said)


def test_a_second_camera_of_a_registered_network_is_said_before_it_is_added() -> None:
    [[_, _, result, reason, _]] = of_page("name,ssid,password\nOther,SIM-CAM-2,88888888\n", DEVICES)
    assert (result, reason) == ("new", "its network is also registered as SIM-CAM-2")


def test_a_registered_network_is_said_with_the_name_that_it_has() -> None:
    [[_, _, result, reason, _]] = of_page("ssid,password\nSIM-CAM-1,88888888\n", DEVICES)
    assert (result, reason) == ("known", "as Tail")


def test_a_network_whose_name_is_no_text_is_left_to_the_command_line() -> None:
    [[_, _, result, reason, _]] = of_page("ssid_hex,password\nff01,88888888\n", ())
    assert (result, reason) == ("failed", "its network's name is not text; wifimgrctl import adds it")


def test_the_request_has_all_settings() -> None:
    text = f"{HEAD}\nNose,CAM,,88888888,,insta360-x3,5,no,yes,,1-1.4\n"
    assert read("requests", text) == [
        {
            "name": "Nose",
            "codename": "insta360-x3",
            "connection_type": "wifi",
            "connection_settings": {"ssid": "CAM", "password": "88888888"},
            "priority": 5,
            "auto_reconnect": False,
            "auto_wake": True,
            "pin": {"usb_port": "1-1.4"},
            "when_free": True,
        }
    ]
