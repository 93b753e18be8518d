"""Each command against the real daemon with its simulated world."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import wifimgrctl
from tests.commands import disconnect
from tests.processes import Hub
from wifimgrd.bus.connection import Variant

PASSWORDS = ("camera-pass", "quite-another")


async def test_an_empty_hub(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address)
    assert (ran.status, ran.out) == (0, "")
    assert "wifimgrctl add" in ran.err
    assert (await wifimgrctl(hub.address, "--json")).value == []
    ran = await wifimgrctl(hub.address, "status")
    assert ran.out.splitlines()[1:] == [
        "  Backend    simulated, ready",
        "  Cameras    none",
        "  Adapters   3: 3 available",
        "  Bluetooth  ready",
    ]


async def test_add_list_and_remove(hub: Hub, tmp_path: Path) -> None:
    ran = await wifimgrctl(
        hub.address,
        "add",
        "--ssid",
        "SIM-CAM-1",
        "--name",
        "Front",
        "--password-stdin",
        stdin="camera-pass-1\n",
    )
    assert (ran.status, ran.out, ran.err) == (0, "Front is registered\n", "")
    (tmp_path / "password").write_text("camera-pass-2")
    ran = await wifimgrctl(
        hub.address,
        "--json",
        "add",
        "--ssid-hex",
        b"SIM-CAM-2".hex(),
        "--password-file",
        str(tmp_path / "password"),
    )
    assert ran.value["id"] == 2
    assert ran.value["name"] == "SIM-CAM-2"
    assert ran.value["codename"] == "generic-wifi-camera"
    assert ran.value["connection_settings"] == {"ssid": "SIM-CAM-2"}
    await hub.until(1, "connected")
    await hub.until(2, "connected")

    ran = await wifimgrctl(hub.address, "devices")
    assert ran.out.splitlines() == [
        "ID  NAME       STATE      ADAPTER  ADDRESS    SIGNAL  NETWORK",
        "1   Front      Connected  wlan0    10.77.0.1  70 %    SIM-CAM-1",
        "2   SIM-CAM-2  Connected  wlan1    10.77.0.2  60 %    SIM-CAM-2",
    ]
    ran = await wifimgrctl(hub.address, "interfaces")
    assert [line.split()[:3] for line in ran.out.splitlines()[1:]] == [
        ["wlan0", "in-use", "1"],
        ["wlan1", "in-use", "2"],
        ["wlan2", "available", "-"],
    ]
    ran = await wifimgrctl(hub.address, "remove", "Front")
    assert (ran.status, ran.out) == (0, "Front was removed\n")
    assert (await wifimgrctl(hub.address, "remove", "2", "--json")).value == {"id": 2}
    assert (await wifimgrctl(hub.address, "--json")).value == []


async def test_json_has_the_members_of_the_http_records(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    (listed,) = (await wifimgrctl(hub.address, "devices", "--json")).value
    one = (await wifimgrctl(hub.address, "status", "Front", "--json")).value
    assert listed == one
    assert one["connected"] is True
    assert one["connection_status"] == "connected"
    assert one["camera_address"] == "192.168.42.1"
    assert one["last_connection_attempt"].endswith("Z")
    assert one["connection_error_code"] is None
    interfaces = (await wifimgrctl(hub.address, "interfaces", "--json")).value
    assert interfaces["interface_assignments"] == {"1": "wlan0"}
    assert interfaces["available_interfaces"] == ["wlan1", "wlan2"]
    assert interfaces["interfaces"][0]["usb"]["port"] == "1-1.1"
    status = (await wifimgrctl(hub.address, "status", "--json")).value
    assert status["backend"] == "simulated"
    assert status["backend_state"] == "ready"
    assert (status["total_devices"], status["connected_devices"]) == (1, 1)
    assert (status["total_interfaces"], status["assigned_interfaces"]) == (3, 1)


async def test_a_lost_camera_is_said_to_be_brought_back(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    assert "when its network is seen" not in (await wifimgrctl(hub.address, "status", "Front")).out
    await hub.client.simulate("PowerOffCamera", "ayb", b"SIM-CAM-1", True)
    await hub.until(1, "connecting")
    said = (await wifimgrctl(hub.address, "status", "Front")).out
    assert "when its network is seen and an adapter is free; lost 20" in said
    await wifimgrctl(hub.address, "disconnect", "Front")
    assert "when its network is seen" not in (await wifimgrctl(hub.address, "status", "Front")).out


async def test_connect_and_disconnect(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    ran = await wifimgrctl(hub.address, "disconnect", "1")
    assert (ran.status, ran.out) == (0, "Front is disconnected\n")
    ran = await wifimgrctl(hub.address, "disconnect", "1")
    assert (ran.status, ran.out) == (0, "Front is disconnected\n")
    ran = await wifimgrctl(hub.address, "connect", "Front")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "Front is connected through wlan0, camera at 192.168.42.1\n"
    assert (await wifimgrctl(hub.address, "connect", "1", "--json")).value["connected"] is True


async def test_a_wrong_password(hub: Hub) -> None:
    await hub.create(1, name="Front", password="quite-another-one")
    await hub.until(1, "disconnected")
    ran = await wifimgrctl(hub.address, "connect", "Front")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == (
        "wifimgrctl: SIM-CAM-1 refused the password (authentication-failed)\n"
        "Change its password: wifimgrctl set Front --ask-password\n"
    )
    ran = await wifimgrctl(hub.address, "connect", "Front", "--json")
    assert (ran.status, ran.err) == (1, "")
    assert ran.value == {
        "error": {"code": "authentication-failed", "message": "SIM-CAM-1 refused the password"}
    }
    assert "authentication-failed" in (await wifimgrctl(hub.address)).out
    assert "refused the password" in (await wifimgrctl(hub.address, "status", "1")).out


async def test_not_waiting_and_waiting_in_vain(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    await wifimgrctl(hub.address, "disconnect", "1")
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 60.0)})
    ran = await wifimgrctl(hub.address, "connect", "1", "--no-wait")
    assert (ran.status, ran.out) == (0, "Front is connecting through wlan0\n")
    ran = await wifimgrctl(hub.address, "connect", "1", "--timeout", "0.2")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == ("wifimgrctl: Front is still connecting after 0.2 s; the attempt continues (timeout)\n")


async def test_faults_of_a_registration_are_reported_by_field(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "add", "--ssid", "x" * 33, "--password-stdin", stdin="short")
    assert (ran.status, ran.out) == (1, "")
    assert "ssid:" in ran.err
    assert "password:" in ran.err
    assert "(invalid-request)" in ran.err
    ran = await wifimgrctl(hub.address, "--json", "add", "--ssid", "x", "--password-stdin", stdin="short")
    assert ran.status == 1
    assert ran.value["error"]["code"] == "invalid-request"
    assert list(ran.value["error"]["fields"]) == ["password"]
    assert "short" not in ran.out + ran.err.replace("short\n", "")


async def test_hostile_names_are_shown_and_not_obeyed(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "add", "--ssid-hex", "1b5b324a".ljust(8, "0") + "ff", "--open")
    assert (ran.status, "\x1b" in ran.out) == (0, False)
    ran = await wifimgrctl(hub.address)
    assert "\x1b" not in ran.out
    assert r"\x1b[2J\xff" in ran.out
    assert (await wifimgrctl(hub.address, "--json")).value[0]["connection_settings"][
        "ssid_hex"
    ] == "1b5b324aff"


@pytest.mark.parametrize("command", ["remove", "connect", "disconnect", "status"])
async def test_an_unknown_device(hub: Hub, command: str) -> None:
    ran = await wifimgrctl(hub.address, command, "Nobody")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == 'wifimgrctl: there is no camera "Nobody" (device-not-found)\n'


async def test_nobody_to_ask_for_a_password(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "add", "--ssid", "x")
    assert (ran.status, ran.out) == (2, "")
    assert "--password-stdin" in ran.err


async def test_the_daemon_is_away(hub: Hub) -> None:
    await hub.end()
    ran = await wifimgrctl(hub.address)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "wifimgrctl: wifimgrd is not running (backend-unavailable)\n"
    ran = await wifimgrctl(hub.address, "--json", "status")
    assert ran.status == 1
    assert ran.value["error"]["code"] == "backend-unavailable"


async def test_the_bus_is_away(tmp_path: Path) -> None:
    ran = await wifimgrctl(f"unix:path={tmp_path}/none")
    assert (ran.status, ran.out) == (1, "")
    assert "(backend-unavailable)" in ran.err
    assert "Traceback" not in ran.err


async def test_a_bus_that_is_no_address() -> None:
    ran = await wifimgrctl("frob")
    assert (ran.status, ran.out) == (1, "")
    assert "Traceback" not in ran.err


async def test_the_bus_as_an_option(hub: Hub) -> None:
    assert (await wifimgrctl("unix:path=/nowhere", "--bus", hub.address)).status == 0


async def test_networks_in_range(hub: Hub) -> None:
    await hub.create(1)
    await hub.until(1, "connected")
    ran = await wifimgrctl(hub.address, "networks")
    head, *lines = ran.out.splitlines()
    assert head.split() == ["NETWORK", "SECURITY", "SIGNAL", "BANDS", "BSSID", "SEEN", "BY", "CAMERA"]
    assert len(lines) == 4
    (mine,) = [line for line in lines if line.startswith("SIM-CAM-1")]
    assert mine.split()[:5] == ["SIM-CAM-1", "wpa2", "70", "%", "2.4GHz"]
    assert mine.endswith("wlan1, wlan2  1 SIM-CAM-1")
    ran = await wifimgrctl(hub.address, "--json", "networks", "--interface", "wlan2")
    assert ran.value["scanned_interfaces"] == ["wlan2"]
    ran = await wifimgrctl(hub.address, "networks", "--interface", "wlan0")
    assert (ran.status, ran.out) == (0, "")
    assert 'No adapter is free to scan: wlan0 (in use by "SIM-CAM-1")' in ran.err
    ran = await wifimgrctl(hub.address, "networks", "--interface", "wlan9")
    assert (ran.status, ran.err) == (
        1,
        "wifimgrctl: there is no interface wlan9 (interface-not-found)\n",
    )


async def test_connect_when_free_is_done_once_the_device_waits(hub: Hub) -> None:
    for number in (1, 2, 3):
        await hub.until(await hub.create(number), "connected")
    await hub.create(4, name="Tail")
    assert (await wifimgrctl(hub.address, "connect", "Tail")).status == 1
    ran = await wifimgrctl(hub.address, "connect", "--when-free", "Tail")
    assert ran.status == 0
    assert ran.out == "Tail is waiting for an adapter, and connects as soon as one is free\n"
    assert (await wifimgrctl(hub.address, "status", "Tail", "--json")).value["waiting_since"]
    assert "Waiting for adapter  since" in (await wifimgrctl(hub.address, "status", "Tail")).out
    await disconnect(hub.client, 1)
    await hub.until(4, "connected")
    ran = await wifimgrctl(hub.address, "connect", "--when-free", "Tail")
    assert (ran.status, "is connected" in ran.out) == (0, True)
