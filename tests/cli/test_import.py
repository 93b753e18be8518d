"""import, export, add and connect of many: on the real daemon with its simulated world."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import on_terminal, wifimgrctl
from tests.cli.test_profiles import profile
from tests.processes import Hub

PASSWORDS = ("camera-pass", "quite-another")
CSV = (
    "name,ssid,password,open,codename,priority,pin_usb_port\n"
    "Nose,SIM-CAM-1,camera-pass-1,,insta360-x3,5,1-1.2\n"
    "Tail,SIM-CAM-2,camera-pass-2,,,,\n"
    "Short,SIM-CAM-3,short,,,,\n"
    "Free,OPEN-CAM,,yes,,,\n"
)


def written(path: Path, text: str) -> Path:
    """A file that nobody else can read."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(hub: Hub, tmp_path: Path) -> None:
    await hub.create(2, name="Tail")
    file = written(tmp_path / "cameras.csv", CSV)
    ran = await wifimgrctl(hub.address, "import", str(file), "--dry-run", "--json")
    assert ran.status == 1
    results = [(one["name"], one["result"], one["id"]) for one in ran.value]
    assert results == [
        ("Nose", "new", None),
        ("Tail", "already-registered", 1),
        ("Short", "not-registered", None),
        ("Free", "new", None),
    ]
    assert "8 to 63 characters" in ran.value[2]["message"]
    ran = await wifimgrctl(hub.address, "import", str(file), "--dry-run")
    assert (
        "2 would be registered, 1 already registered, 1 not registered.\nNothing has been changed." in ran.err
    )
    assert not any(one in ran.out + ran.err for one in PASSWORDS)
    assert len(hub.client.devices) == 1


async def test_all_are_registered_but_those_that_it_names(hub: Hub, tmp_path: Path) -> None:
    file = written(tmp_path / "cameras.csv", CSV)
    ran = await wifimgrctl(hub.address, "import", str(file), "--no-connect")
    assert (ran.status, ran.err) == (1, "3 registered, 1 not registered.\n")
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == ["Nose", "Tail", "Short", "Free"]
    nose, tail, free = hub.client.devices.values()
    assert (nose.codename, nose.priority, nose.pin) == ("insta360-x3", 5, {"usb_port": "1-1.2"})
    assert (tail.codename, free.ssid) == ("generic-wifi-camera", b"OPEN-CAM")
    assert {one.last_connection_attempt for one in (nose, tail, free)} == {None}
    ran = await wifimgrctl(hub.address, "import", str(file), "--no-connect")
    assert (ran.status, ran.err) == (1, "3 already registered, 1 not registered.\n")
    ran = await wifimgrctl(hub.address, "connect", "Nose", "Tail")
    assert ran.status == 0
    assert [line.split(" through")[0] for line in ran.out.splitlines()] == [
        "Nose is connected",
        "Tail is connected",
    ]
    assert hub.client.devices[1].interface == "wlan1"


async def test_what_is_exported_is_known_to_its_hub_and_lacks_passwords(hub: Hub, tmp_path: Path) -> None:
    await hub.until(await hub.create(1, name="Nose", priority=3), "connected")
    await hub.create(4, name="=Tail", ssid=b"\xff\x00\x01"[:1])
    ran = await wifimgrctl(hub.address, "export")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[0].startswith("name,ssid,ssid_hex,password,")
    assert (await wifimgrctl(hub.address, "export", "--json")).value == {"csv": ran.out}
    assert (await wifimgrctl(hub.address, "export", "-")).out == ran.out
    file = tmp_path / "cameras.csv"
    told = await wifimgrctl(hub.address, "export", str(file))
    assert (told.status, told.out) == (0, f"2 cameras are in {file}.\n")
    assert file.read_text() == ran.out
    assert not any(one in ran.out for one in PASSWORDS)
    ran = await wifimgrctl(hub.address, "import", str(file), "--dry-run", "--json")
    assert ran.status == 0
    assert [(one["name"], one["result"]) for one in ran.value] == [
        ("Nose", "already-registered"),
        ("=Tail", "already-registered"),
    ]
    assert (await wifimgrctl(hub.address, "export", str(file))).status == 1  # it is there already
    for device in (1, 2):
        await hub.client.remove_device(device)
    ran = await wifimgrctl(hub.address, "import", str(file))
    assert (ran.status, ran.err) == (1, "2 not registered.\n")
    assert ran.out.count("the file has no password for it") == 2
    filled = file.read_text().replace("Nose,SIM-CAM-1,,,", "Nose,SIM-CAM-1,,camera-pass-1,")
    ran = await wifimgrctl(hub.address, "import", "-", "--json", stdin=filled)
    assert [one["result"] for one in ran.value] == ["registered", "not-registered"]
    await hub.until(3, "connected")
    assert hub.client.devices[3].priority == 3


async def test_blanks_around_a_network_are_kept_and_noted(hub: Hub) -> None:
    text = "ssid,password\n OPEN-CAM,12345678\nOPEN-CAM,12345678\n"
    ran = await wifimgrctl(hub.address, "import", "-", "--no-connect", "--json", stdin=text)
    assert [one["message"] for one in ran.value] == ["blanks at the ends of its network belong to it", None]
    assert [one.ssid for one in hub.client.devices.values()] == [b" OPEN-CAM", b"OPEN-CAM"]


async def test_profiles_of_a_directory_and_those_that_match(hub: Hub, tmp_path: Path) -> None:
    written(tmp_path / "1.nmconnection", profile("SIM-CAM-1", name="Nose"))
    agents = "[wifi-security]\nkey-mgmt=sae\npsk-flags=1\n"
    written(tmp_path / "2.nmconnection", profile("SIM-CAM-2", agents, name="SIM-CAM-2"))
    written(tmp_path / "3.nmconnection", profile("Home"))
    written(tmp_path / "5.nmconnection", profile("Office", agents, name="Office"))
    written(tmp_path / "4.nmconnection", "[connection]\nid=eth\ntype=ethernet\n")
    (tmp_path / "README").write_text("not a profile")
    ran = await wifimgrctl(hub.address, "import", str(tmp_path), "--match", "SIM-*", "--when-free", "--json")
    assert ran.status == 1
    assert [(one["name"], one["result"], one["from"]) for one in ran.value] == [
        ("Nose", "registered", "1.nmconnection"),
        ("SIM-CAM-2", "not-registered", "2.nmconnection"),
    ]
    assert "its password is not in the file" in ran.value[1]["message"]
    await hub.until(1, "connected")


async def test_one_bad_file_leaves_the_rest_of_a_directory(hub: Hub, tmp_path: Path) -> None:
    written(tmp_path / "1.nmconnection", "root:$6$hash:20228:0:99999:7:::\n")
    written(tmp_path / "2.nmconnection", "ssid,password\nSIM-CAM-2,camera-pass-2\n")
    (tmp_path / "3.nmconnection").symlink_to(written(tmp_path / "elsewhere", profile("SIM-CAM-3")))
    (tmp_path / "4.nmconnection").mkdir()
    written(tmp_path / ".hidden.nmconnection", profile("SIM-CAM-4"))
    (tmp_path / "5.nmconnection").write_bytes(b"\xff")
    written(tmp_path / "6.nmconnection", "[connection]\n" * 100_000)
    written(tmp_path / "7.nmconnection", profile("SIM-CAM-1"))
    ran = await wifimgrctl(hub.address, "import", str(tmp_path), "--no-connect", "--json")
    assert ran.status == 1
    told = {one["from"].removesuffix(".nmconnection"): one["message"] for one in ran.value}
    assert [one["result"] for one in ran.value] == ["not-registered"] * 6 + ["registered"]
    assert "line 1 is neither a group nor a key" in told["1"]
    assert "line 1 is neither a group nor a key" in told["2"]
    assert "3.nmconnection is a link, which is not followed in a directory" in told["3"]
    assert "4.nmconnection is a directory" in told["4"]
    assert "is not text in UTF-8" in told["5"]
    assert "has more than 1048576 bytes" in told["6"]
    assert not any(one in ran.out + ran.err for one in ("root:", "$6$", *PASSWORDS))


async def test_a_file_that_others_can_read_is_read_and_noted(hub: Hub, tmp_path: Path) -> None:
    file = tmp_path / "cam.nmconnection"
    file.write_text(profile("SIM-CAM-1"))
    file.chmod(0o644)
    ran = await wifimgrctl(hub.address, "import", str(file), "--dry-run")
    assert ran.status == 0
    assert f"{file} has passwords, and other users can read it: chmod 600 {file}" in ran.err
    file.write_text(profile("SIM-CAM-1", security=""))
    assert "chmod" not in (await wifimgrctl(hub.address, "import", str(file), "--dry-run")).err


async def test_texts_of_qr_codes(hub: Hub) -> None:
    texts = "WIFI:T:WPA;S:SIM-CAM-1;P:camera-pass-1;;\n\nWIFI:nonsense\nWIFI:S:SIM-CAM-1;P:camera-pass-1;;\n"
    texts += "WIFI:T:WPA2-EAP;S:Corp;E:PEAP;PH2:MSCHAPV2;I:me;P:camera-pass-1;;\n"
    texts += "WIFI:T:WPA;S:qw1;;\nWIFI:T:WPA;S:qw2;P:;;\nWIFI:T:nopass;S:qw3;P:camera-pass-1;;\n"
    ran = await wifimgrctl(hub.address, "import", "-", stdin=texts)
    assert (ran.status, ran.err) == (1, "1 registered, 6 not registered.\n")
    assert ran.out.count("a password is missing") == 2
    assert "the text has a password, and says that its network has none" in ran.out
    assert "this is not the text of a Wi-Fi QR code" in ran.out
    assert "the same is in stdin, line 1" in ran.out
    assert "its security is 802.1X, which cameras do not have" in ran.out
    assert not any(one in ran.out + ran.err for one in PASSWORDS)
    await hub.until(1, "connected")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("ssid\n" + "x\n" * 600, "600 cameras are more than the 500 of one import"),
        ("x" * 1024 * 1025, "is not a list of cameras"),
        ("hunter2 swordfish\n", "column 1 has an unknown name (invalid-request)"),
        ("ssid,pasword\n", 'unknown column "pasword"; did you mean "password"?'),
        ("root:*:20228:0:99999:7:::\n", "column 1 has an unknown name (invalid-request)"),
        ("ctrl_interface=/run/wpa_supplicant\nnetwork={\n}\n", "is wpa_supplicant's configuration"),
        ("network:\n  version: 2\n  wifis:\n", "is netplan's configuration"),
        ("[Security]\nPassphrase=camera-pass-1\n", "is a network of iwd"),
        ('[\n  {"id": 1}\n]\n', "is JSON"),
        ("PK\x03\x04\udcff", "is a spreadsheet's own file"),
        ("\udcff\udcfes\0", "is text in UTF-16"),
        ("ssid\n\udcff\n", "is not text in UTF-8"),
    ],
)
async def test_what_is_no_list_of_cameras(hub: Hub, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(text.encode(errors="surrogateescape"))
    ran = await wifimgrctl(hub.address, "import", str(file))
    assert (ran.status, ran.out) == (1, "")
    assert said in ran.err


async def test_files_that_are_none(hub: Hub, tmp_path: Path) -> None:
    ran = await wifimgrctl(hub.address, "import", str(tmp_path / "none"))
    assert (ran.status, "No such file" in ran.err) == (1, True)
    ran = await wifimgrctl(hub.address, "import", "/dev/zero")
    assert (ran.status, "is not a regular file" in ran.err) == (1, True)
    ran = await wifimgrctl(hub.address, "import", str(tmp_path))
    assert (ran.status, "has no profile of NetworkManager" in ran.err) == (1, True)
    ran = await wifimgrctl(hub.address, "export", str(tmp_path / "none" / "file"))
    assert (ran.status, "No such file" in ran.err) == (1, True)


async def test_add_takes_all_that_set_takes(hub: Hub) -> None:
    line = (
        "add", "--ssid", "SIM-CAM-1", "--name", "Nose", "--priority", "7", "--auto-reconnect", "no",
        "--pin-usb-port", "1-1.3", "--no-connect", "--password-stdin",
    )  # fmt: skip
    ran = await wifimgrctl(hub.address, *line, stdin="camera-pass-1")
    assert (ran.status, ran.out, ran.err) == (0, "Nose is registered\n", "")
    nose = hub.client.devices[1]
    assert (nose.priority, nose.auto_reconnect, nose.pin) == (7, False, {"usb_port": "1-1.3"})
    assert nose.last_connection_attempt is None
    assert (await wifimgrctl(hub.address, "connect", "Nose")).status == 0
    assert hub.client.devices[1].interface == "wlan2"


async def test_add_when_free_waits_for_an_adapter(hub: Hub) -> None:
    for number in (1, 2, 3):
        await hub.until(await hub.create(number), "connected")
    line = ("add", "--ssid", "SIM-CAM-4", "--when-free", "--password-stdin")
    ran = await wifimgrctl(hub.address, *line, stdin="camera-pass-4")
    assert (ran.status, ran.out) == (0, "SIM-CAM-4 is registered\n")
    assert ran.err == "SIM-CAM-4 is waiting for an adapter, and connects as soon as one is free.\n"
    assert (await wifimgrctl(hub.address, "disconnect", "1")).status == 0
    await hub.until(4, "connected")


async def test_add_by_the_text_of_a_qr_code(hub: Hub) -> None:
    text = "WIFI:T:WPA;S:SIM-CAM-1;P:camera-pass-1;;"
    ran = await wifimgrctl(hub.address, "add", "--qr", "-", "--name", "Nose", stdin=text)
    assert (ran.status, ran.out) == (0, "Nose is registered\n")
    await hub.until(1, "connected")
    ran = await wifimgrctl(hub.address, "add", "--qr", "WIFI:T:nopass;S:OPEN-CAM;;", "--no-connect")
    assert (ran.status, hub.client.devices[2].ssid) == (0, b"OPEN-CAM")
    ran = await wifimgrctl(hub.address, "add", "--qr", text)
    assert (ran.status, "give it to --qr - on stdin" in " ".join(ran.err.split())) == (2, True)
    assert "camera-pass" not in ran.err
    ran = await wifimgrctl(hub.address, "add", "--qr", "-", stdin="SIM-CAM-2\n")
    assert (ran.status, "not the text of a Wi-Fi QR code" in ran.err) == (1, True)
    ran = await wifimgrctl(hub.address, "add", "--qr", "-", stdin="WIFI:T:WPA2-EAP;S:Corp;P:camera-pass-1;;")
    assert (ran.status, "its security is 802.1X" in ran.err) == (1, True)
    for text, said in (
        ("WIFI:T:WPA;S:nopwarg;;", "a password is missing"),
        ("WIFI:T:nopass;S:x;P:camera-pass-1;;", "says that its network has none"),
    ):
        ran = await wifimgrctl(hub.address, "add", "--qr", "-", stdin=text)
        assert (ran.status, said in " ".join(ran.err.split())) == (1, True)
    ran = await wifimgrctl(hub.address, "add", "--qr", "-", stdin="x" * 5000)
    assert (ran.status, "contains more than a password" in ran.err) == (1, True)
    ran = await wifimgrctl(hub.address, "add", "--qr", "-", "--open", stdin=text)
    assert (ran.status, "the text has the password" in ran.err) == (2, True)


async def test_the_text_of_a_qr_code_is_not_shown_where_it_is_typed(hub: Hub) -> None:
    async with on_terminal(hub.address, "add", "--qr", "-") as terminal:
        await terminal.until("Text of the QR code: ")
        terminal.type("WIFI:S:SIM-CAM-2;P:camera-pass-2;;\n")
        assert await terminal.end() == 0
        await terminal.until("SIM-CAM-2 is registered")
        assert "camera-pass" not in terminal.seen


async def test_connect_several_when_an_adapter_is_free(hub: Hub) -> None:
    for number in (1, 2, 3, 4):
        await hub.client.create_device(
            {"codename": "x", "connection_type": "wifi", "ssid": f"SIM-CAM-{number}",
             "password": f"camera-pass-{number}", "connect": False}
        )  # fmt: skip
    ran = await wifimgrctl(hub.address, "connect", "4", "SIM-CAM-1", "2", "3", "--when-free", "--json")
    assert ran.status == 0
    assert len(json.loads(ran.out)) == 4
    states = [hub.client.devices[number] for number in (1, 2, 3, 4)]
    assert sum(one.waiting_since is not None for one in states) == 1
    ran = await wifimgrctl(hub.address, "connect", "1", "Nobody")
    assert (ran.status, 'no camera "Nobody"' in ran.err) == (1, True)
