"""set, models, history, connect --all, and what the command line says of mistakes."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.cli.running import wifimgrctl
from tests.commands import disconnect
from tests.processes import Hub
from wifimgrd.daemon.store._history import SqliteHistory
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import SignalSample


async def test_set_changes_what_was_said(hub: Hub, tmp_path: Path) -> None:
    await hub.until(await hub.create(1, name="Front"), "connected")
    (tmp_path / "password").write_text("another-pass")
    ran = await wifimgrctl(
        hub.address, "set", "Front", "--name", "Nose", "--ssid", "ELSE", "--codename", "insta360-x4",
        "--priority", "-3", "--auto-reconnect", "no", "--pin-usb-port", "1-1.2",
        "--password-file", str(tmp_path / "password"),
    )  # fmt: skip
    assert (ran.status, ran.out, ran.err) == (0, "Nose was changed\n", "")
    record = hub.client.devices[1]
    assert (record.name, record.ssid, record.codename) == ("Nose", b"ELSE", "insta360-x4")
    assert (record.priority, record.auto_reconnect, record.pin) == (-3, False, {"usb_port": "1-1.2"})
    shown = (await wifimgrctl(hub.address, "status", "Nose")).out
    assert re.search(r"Pinned to +USB port 1-1.2\n", shown)
    value = (await wifimgrctl(hub.address, "set", "1", "--no-pin", "--json")).value
    assert (value["pin"], value["name"]) == (None, "Nose")
    ran = await wifimgrctl(hub.address, "set", "1", "--pin-mac", "nonsense")
    assert (ran.status, "pin:" in ran.err) == (1, True)


async def test_set_without_a_change_is_wrong_usage(hub: Hub) -> None:
    await hub.create(1)
    ran = await wifimgrctl(hub.address, "set", "1")
    assert (ran.status, "name at least one setting to change" in ran.err) == (2, True)


async def test_a_reserved_adapter_is_shown_as_reserved(hub: Hub) -> None:
    await hub.create(1, name="Nose")
    ran = await wifimgrctl(hub.address, "set", "Nose", "--pin-usb-port", "1-1.3")
    assert (ran.status, ran.err) == (0, "")
    await wifimgrctl(hub.address, "disconnect", "Nose")
    shown = await wifimgrctl(hub.address, "interfaces")
    assert re.search(r"wlan2 +reserved for Nose +- ", shown.out)
    value = (await wifimgrctl(hub.address, "interfaces", "--json")).value
    assert value["available_interfaces"] == ["wlan0", "wlan1"]
    assert [one["reserved_device_id"] for one in value["interfaces"]] == [None, None, 1]
    status = await wifimgrctl(hub.address, "status")
    assert "Adapters   3: 2 available, 1 reserved for Nose\n" in status.out
    words = await wifimgrctl(hub.address, "completions", "interfaces")
    assert "wlan2\treserved for Nose\n" in words.out


async def test_a_pin_to_a_port_without_an_adapter_is_warned_about(hub: Hub) -> None:
    await hub.create(1, name="Nose")
    ran = await wifimgrctl(hub.address, "set", "Nose", "--pin-usb-port", "9-9")
    assert (ran.status, ran.out) == (0, "Nose was changed\n")
    assert ran.err == "It has the adapter at USB port 9-9 reserved, but no such adapter is plugged in.\n"


async def test_a_shared_network_and_an_unknown_model_are_warned_about(hub: Hub) -> None:
    await hub.create(1, name="Front")
    line = ("add", "--ssid", "SIM-CAM-1", "--name", "Tail", "--codename", "insta360-x33", "--open")
    ran = await wifimgrctl(hub.address, *line)
    assert ran.status == 0
    assert ran.err.splitlines() == [
        'The model "insta360-x33" is not in the catalog; the closest one is insta360-x3.',
        'The network "SIM-CAM-1" is also registered for "Front".',
    ]


async def test_add_whose_first_connection_is_refused_says_both_and_fails(hub: Hub) -> None:
    for number in (1, 2, 3):
        await hub.until(await hub.create(number), "connected")
    line = ("add", "--ssid", "SIM-CAM-4", "--password-stdin")
    ran = await wifimgrctl(hub.address, *line, stdin="camera-pass-4")
    assert (ran.status, ran.out) == (1, "SIM-CAM-4 is registered\n")
    assert "SIM-CAM-4 is not connected: no Wi-Fi interface is available" in ran.err
    assert hub.client.devices[4].name == "SIM-CAM-4"


async def test_connect_all_connects_what_is_not_and_says_of_each_how_it_ended(hub: Hub) -> None:
    for number in (1, 2, 3, 4):
        await hub.create(number)
    for number in (1, 2, 3):
        await hub.until(number, "connected")
    await disconnect(hub.client, 2)
    ran = await wifimgrctl(hub.address, "connect", "--all")
    assert ran.status == 1
    first, second = ran.out.splitlines()
    assert first.startswith("SIM-CAM-2 is connected through wlan1")
    assert second.startswith("SIM-CAM-4 is not connected: no Wi-Fi interface is available")
    ran = await wifimgrctl(hub.address, "connect", "--all", "--when-free")
    assert (ran.status, "SIM-CAM-4 is waiting for an adapter" in ran.out) == (0, True)
    listed = (await wifimgrctl(hub.address)).out.splitlines()
    assert listed[4].split()[:3] == ["4", "SIM-CAM-4", "Waiting"]


async def test_history_shows_what_happened_and_since_when(hub: Hub) -> None:
    assert "No history yet." in (await wifimgrctl(hub.address, "history")).err
    await hub.until(await hub.create(1, name="Front"), "connected")
    await disconnect(hub.client, 1)
    failing = await hub.create(1, ssid="SIM-CAM-OFF", password="camera-pass-off", name="Tail")
    await hub.client.wait_until(lambda client: client.devices[failing].connection_error_code is not None, 10)
    heads, session, failure = (await wifimgrctl(hub.address, "history")).out.splitlines()
    assert heads.split()[:4] == ["TIME", "CAMERA", "ADAPTER", "WHAT"]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  Front +wlan0 +connected ", session)
    assert re.search(r" Tail +wlan0 +failure .*\(device-not-reachable\)", failure)
    (row,) = (await wifimgrctl(hub.address, "history", "Front", "--since", "1h", "--json")).value
    assert (row["kind"], row["device_name"], row["ended"] is not None) == ("session", "Front", True)
    assert (await wifimgrctl(hub.address, "history", "--since", "2999-01-01", "--json")).value == []
    assert (await wifimgrctl(hub.address, "history", "--since", "soon")).status == 2
    await hub.client.remove_device(1)
    assert len((await wifimgrctl(hub.address, "history", "1", "--json")).value) == 1
    assert (await wifimgrctl(hub.address, "remove", "Tail", "--history")).status == 0
    assert len((await wifimgrctl(hub.address, "history", "--json")).value) == 1


async def test_history_shows_the_signal_minute_by_minute(hub: Hub) -> None:
    await hub.until(await hub.create(1, name="Front"), "connected")
    heads, first, *_ = (await wifimgrctl(hub.address, "history", "Front", "--signal")).out.splitlines()
    assert heads.split() == ["TIME", "SIGNAL", "LOWEST"]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:00  70 % +70 %", first)
    shown = (await wifimgrctl(hub.address, "history", "1", "--signal", "--since", "1h", "--json")).value
    assert (shown["step_s"], shown["samples"][0][1:], shown["battery"][0]) == (60, [70, 70], None)
    assert (await wifimgrctl(hub.address, "history", "--signal")).status == 2
    await hub.create(1, ssid="SIM-CAM-OFF", password="camera-pass-off", name="Tail")
    assert "No signal yet." in (await wifimgrctl(hub.address, "history", "Tail", "--signal")).err


async def test_history_shows_the_battery_beside_the_signal_where_it_is_known(hub: Hub) -> None:
    device = await hub.create(1, name="Front")
    await hub.end()
    store = await SqliteHistory.open(hub.state, 100, 90)
    first = time.time_ns() // 60_000_000_000 - 90
    kept = {first + ago: SignalSample(60, 50, level) for ago, level in enumerate([8, None, 100])}
    store.put_signals({DeviceId(device): kept})
    await store.close()
    await hub.start()
    await hub.client.wait_until(lambda client: client.available, 10)
    heads, *rows = (await wifimgrctl(hub.address, "history", "Front", "--signal")).out.splitlines()
    assert heads.split() == ["TIME", "SIGNAL", "LOWEST", "BATTERY"]
    assert [row.split()[6:] for row in rows[:3]] == [["8", "%"], ["-"], ["100", "%"]]
    shown = (await wifimgrctl(hub.address, "history", "Front", "--signal", "--json")).value
    assert shown["battery"][:3] == [8, None, 100]


async def test_history_shows_interruptions_with_their_length_and_reason(hub: Hub) -> None:
    device = await hub.create(1, name="Front")
    await hub.until(device, "connected")
    await hub.client.simulate("PowerOffCamera", "ayb", b"SIM-CAM-1", True)
    await hub.until(device, "connecting")
    await hub.client.simulate("PowerOnCamera", "ay", b"SIM-CAM-1")
    await hub.until(device, "connected")
    _, session, interruption = (await wifimgrctl(hub.address, "history")).out.splitlines()
    assert " so far " in session
    assert re.search(
        r" Front +wlan0 +interrupted +(< 1|\d+) s .*was switched off \(connection-lost\)", interruption
    )


async def test_models_need_no_daemon() -> None:
    ran = await wifimgrctl("unix:path=/nowhere", "models")
    assert ran.status == 0
    assert re.search(r"^insta360-x3 +Insta360 X3$", ran.out, re.MULTILINE)
    listed = (await wifimgrctl("unix:path=/nowhere", "models", "--json")).value
    assert {"codename", "device_name", "sources"} <= listed[0].keys()
    completed = await wifimgrctl("unix:path=/nowhere", "completions", "codenames")
    assert "insta360-x3\tInsta360 X3\n" in completed.out


async def test_a_name_in_another_case_is_suggested(hub: Hub) -> None:
    await hub.create(1, name="Front")
    ran = await wifimgrctl(hub.address, "status", "front")
    assert 'did you mean "Front"?' in ran.err


@pytest.mark.parametrize(
    ("word", "meant"), [("conect", "connect"), ("Devices", "devices"), ("histroy", "history")]
)
async def test_a_command_that_is_misspelt_is_answered_with_what_may_be_meant(word: str, meant: str) -> None:
    ran = await wifimgrctl("unix:path=/nowhere", word)
    assert ran.status == 2
    assert f'unknown command "{word}"; did you mean "{meant}"?' in ran.err


async def test_without_a_bus_address_it_says_how_to_get_one() -> None:
    ran = await wifimgrctl("", "status", DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nowhere")
    assert ran.status == 1
    assert "export WIFIMGRD_BUS=ADDRESS" in ran.err


async def test_with_the_address_of_a_bus_that_is_gone_it_says_where_to_read_the_right_one() -> None:
    ran = await wifimgrctl("unix:path=/nowhere", "status")
    assert ran.status == 1
    assert "`make run` prints the address of its own" in ran.err
    assert "(backend-unavailable)" in ran.err


async def test_the_model_is_taken_from_the_scan_where_none_is_given(hub: Hub) -> None:
    options = {"password": "camera-pass-x"}
    await hub.client.simulate("AddCamera", "aysa{sv}", b"X3 1A2B3C.OSC", options["password"], {})
    networks = await wifimgrctl(hub.address, "networks")
    (line,) = [line for line in networks.out.splitlines() if line.startswith("X3 1A2B3C.OSC")]
    assert "insta360-x3" in line
    received = (await wifimgrctl(hub.address, "networks", "--json")).value["networks"]
    assert {one["ssid"]: one["codename"] for one in received}["X3 1A2B3C.OSC"] == "insta360-x3"
    line_of_add = ("add", "--ssid", "X3 1A2B3C.OSC", "--password-stdin")
    ran = await wifimgrctl(hub.address, *line_of_add, stdin=options["password"])
    assert (ran.status, "Model guessed from its network: insta360-x3" in ran.err) == (0, True)
    assert hub.client.devices[1].codename == "insta360-x3"
