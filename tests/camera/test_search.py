"""Searches and beacons: what is reported, how much at most, and that one waits for the other."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.camera.conftest import FAST, SOON_S, Caller, until
from tests.fake_bluez import FEA6, FakeBluez, FakeCamera, FakeGoPro
from wifimgrd.bus.connection import BusError
from wifimgrd.camera._service import CameraService

pytestmark = pytest.mark.slow

ADDRESS = "D4:32:60:00:10:01"
_CROWD = 1500
STATUS = {0x02F2: bytes([2, 0b101, 57, 1]) + bytes(7) + b"\x04"}
BEACON = bytes.fromhex("4c000215094f5242495409ff0f00") + b"34UQG5" + bytes.fromhex("00000000e401")


def numbered(number: int) -> str:
    return f"C0:00:00:00:{number >> 8:02X}:{number & 0xFF:02X}"


async def ended(caller: Caller, key: str, searching: asyncio.Task[None]) -> None:
    await caller.call("Cancel", "s", key)
    with pytest.raises(BusError, match="Cancelled"):
        await searching


async def test_a_camera_is_reported_with_what_it_says(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(FakeGoPro(ADDRESS, manufacturer=STATUS, service_data={FEA6: bytes(4) + b"1001"}))
    bluez.add(FakeCamera(numbered(1), "X4 34UQG5", ()))
    bluez.add(FakeCamera(numbered(2), "a keyboard", ("00001812-0000-1000-8000-00805f9b34fb",)))
    await caller.search(("fea6", ""), ("", "X4 [0-9A-Z]{6}"))
    assert {row["address"]: row for row in caller.rows} == {
        ADDRESS: {
            "address": ADDRESS,
            "name": "GoPro 1001",
            "service": FEA6,
            "rssi": -50,
            "power_state": "awake",
            "access_point": False,
            "pairing_mode": True,
            "model_id": STATUS[0x02F2][2],
            "serial": "1001",
            "paired": False,
        },
        numbered(1): {
            "address": numbered(1),
            "name": "X4 34UQG5",
            "service": "",
            "rssi": -50,
            "power_state": "",
            "serial": "",
            "paired": False,
        },
    }
    await until(lambda: not bluez.discovering)


async def test_only_services_are_looked_for_where_that_is_enough(bluez: FakeBluez, caller: Caller) -> None:
    await caller.search(("fea6", ""))
    assert (bluez.filter["Transport"], bluez.filter["UUIDs"]) == ("le", [FEA6])
    await caller.search(("fea6", ""), ("", "X4 .*"))
    assert "UUIDs" not in bluez.filter


async def test_a_name_that_comes_later_is_reported(bluez: FakeBluez, caller: Caller) -> None:
    camera = FakeCamera(ADDRESS, "", ())
    bluez.add(camera)
    searching = asyncio.create_task(caller.search(("", "X4 .*"), seconds=60, key="mine"))
    await until(lambda: camera.known)
    camera.name = "X4 34UQG5"
    bluez.rename(camera)
    await until(lambda: [row["name"] for row in caller.rows] == ["X4 34UQG5"])
    await ended(caller, "mine", searching)


async def test_two_searches_share_one_discovery_which_lasts_as_long_as_the_longer(
    bluez: FakeBluez, caller: Caller
) -> None:
    long = asyncio.create_task(caller.search(("fea6", ""), seconds=60, key="long"))
    await until(lambda: bluez.discovering)
    began_s = time.monotonic()
    await caller.search(("", "X4 .*"), seconds=1)
    assert time.monotonic() - began_s > 0.9
    assert bluez.discovering
    bluez.add(camera := FakeGoPro(ADDRESS))
    bluez.hear(camera)
    await until(lambda: [row["address"] for row in caller.rows] == [ADDRESS])
    await ended(caller, "long", long)
    await until(lambda: not bluez.discovering)


async def test_a_search_that_is_cancelled_ends_the_discovery(bluez: FakeBluez, caller: Caller) -> None:
    searching = asyncio.create_task(caller.search(("fea6", ""), seconds=20, key="mine"))
    await until(lambda: bluez.discovering)
    await ended(caller, "mine", searching)
    await until(lambda: not bluez.discovering)


async def test_a_cancelled_search_leaves_the_discovery_to_another_one(
    bluez: FakeBluez, caller: Caller
) -> None:
    theirs = asyncio.create_task(caller.search(("fea6", ""), seconds=60, key="theirs"))
    await until(lambda: bluez.discovering)
    mine = asyncio.create_task(caller.search(("fea6", ""), seconds=20, key="mine"))
    await asyncio.sleep(0)
    await ended(caller, "mine", mine)
    assert bluez.discovering
    bluez.add(camera := FakeGoPro(ADDRESS))
    bluez.hear(camera)
    await until(lambda: [row["address"] for row in caller.rows] == [ADDRESS])
    await ended(caller, "theirs", theirs)
    await until(lambda: not bluez.discovering)


async def test_two_searches_have_two_names(bluez: FakeBluez, caller: Caller) -> None:
    searching = asyncio.create_task(caller.search(("fea6", ""), seconds=1, key="mine"))
    await until(lambda: bluez.discovering)
    with pytest.raises(BusError, match="Busy"):
        await caller.search(("fea6", ""), key="mine")
    await searching


async def test_any_number_of_advertisers_is_bounded(
    bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    """A crowd with names as long as BlueZ passes on. 10,000 in a minute must leave a processor its time."""
    searching = asyncio.create_task(caller.search(("fea6", ""), seconds=3))
    await until(lambda: bluez.discovering)
    began_s = time.process_time()
    for number in range(_CROWD):
        bluez.hear(FakeGoPro(numbered(number), "GoPro " + "x" * 200, manufacturer={0x02F2: bytes(255)}))
        if number % 50 == 0:
            await bluez.connection.round_trip()
    assert (time.process_time() - began_s) / _CROWD < 60 / 10_000 / 2, "that of the fake included"
    await searching
    assert 0 < len({row["address"] for row in caller.rows}) <= 256
    assert max(caller.reports) <= 64
    assert len(service.objects.devices) <= 512
    bluez.add(known := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    await caller.wake(ADDRESS)
    assert known.access_point


async def test_a_crowd_hides_no_camera_that_is_paired(bluez: FakeBluez, caller: Caller) -> None:
    searching = asyncio.create_task(caller.search(("fea6", ""), seconds=60, key="mine"))
    await until(lambda: bluez.discovering)
    for number in range(400):
        bluez.hear(FakeGoPro(numbered(number)))
    await bluez.connection.round_trip()
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    bluez.hear(camera)
    await until(lambda: ADDRESS in {row["address"] for row in caller.rows})
    await ended(caller, "mine", searching)


async def test_a_camera_that_is_no_gopro_says_nothing_in_gopros_words(
    bluez: FakeBluez, caller: Caller
) -> None:
    """Anybody can advertise the name of a camera with the state of another maker's."""
    bluez.add(FakeCamera(ADDRESS, "X4 34UQG5", (), manufacturer=STATUS))
    await caller.search(("", "X4 [0-9A-Z]{6}"))
    [row] = caller.rows
    assert row["power_state"] == ""
    assert "access_point" not in row


@pytest.mark.parametrize(
    "name",
    ["\u202egpj.exe", "a\nb\r\tc", "\x1b[2J\x1b]0;x\x07", "\u200b\ufeff", "x" * 300, "\ud7ff\U0010ffff"],
)
async def test_a_hostile_name_is_shown_harmlessly(bluez: FakeBluez, caller: Caller, name: str) -> None:
    bluez.add(FakeGoPro(ADDRESS, name))
    await caller.search(("fea6", ""))
    [row] = caller.rows
    assert row["name"].isprintable()
    assert len(row["name"]) <= 248


async def test_two_advertisers_with_one_name_are_two(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    bluez.add(FakeGoPro(numbered(1)))
    await caller.search(("fea6", ""))
    assert {row["address"]: row["paired"] for row in caller.rows} == {ADDRESS: True, numbered(1): False}


async def test_a_search_ends_with_the_adapter(bluez: FakeBluez, caller: Caller) -> None:
    searching = asyncio.create_task(caller.search(("fea6", ""), seconds=20))
    await until(lambda: bluez.discovering)
    bluez.power(False)
    with pytest.raises(BusError) as raised:
        await searching
    assert raised.value.name == "org.wifimgrd1.Error.BluetoothUnavailable"


# -- beacons


async def test_a_beacon_is_advertised_as_the_remote_control_does(bluez: FakeBluez, caller: Caller) -> None:
    waking = asyncio.create_task(caller.call("Wake", "ssayu", "7", "beacon", BEACON, 30))
    await until(lambda: bluez.advertising)
    assert bluez.advertised == [
        {
            "Type": "peripheral",
            "Discoverable": True,
            "DiscoverableTimeout": 30,
            "ManufacturerData": {0x004C: BEACON[2:]},
        }
    ]
    await caller.call("Cancel", "s", "7")
    with pytest.raises(BusError, match="Cancelled"):
        await waking
    assert not bluez.advertising


async def test_a_beacon_ends_in_time(bluez: FakeBluez, caller: Caller) -> None:
    await caller.call("Wake", "ssayu", "7", "beacon", BEACON, 1)
    assert not bluez.advertising


async def test_a_beacon_ends_a_search_and_a_search_waits_for_a_beacon(
    bluez: FakeBluez, caller: Caller
) -> None:
    bluez.add(FakeGoPro(ADDRESS))
    began_s = time.monotonic()
    searching = asyncio.create_task(caller.search(("fea6", ""), seconds=20))
    await until(lambda: bluez.discovering)
    beacon = asyncio.create_task(caller.call("Wake", "ssayu", "7", "beacon", BEACON, 1))
    await searching
    assert time.monotonic() - began_s < SOON_S
    await until(lambda: bluez.advertising)
    caller.rows.clear()
    await caller.search(("fea6", ""), seconds=3)
    assert [row["address"] for row in caller.rows] == [ADDRESS]
    await beacon
    assert not bluez.both_at_once


async def test_two_cameras_are_woken_by_beacons_at_once(bluez: FakeBluez, caller: Caller) -> None:
    other = BEACON.replace(b"34UQG5", b"ABCDEF")
    waking = [
        asyncio.create_task(caller.call("Wake", "ssayu", key, "beacon", data, 2))
        for key, data in (("7", BEACON), ("8", other))
    ]
    await until(lambda: len(bluez.advertising) == 2)
    await asyncio.gather(*waking)
    assert {one["ManufacturerData"][0x4C] for one in bluez.advertised} == {BEACON[2:], other[2:]}
    assert not bluez.advertising


def test_the_limits_of_tests_keep_the_order_of_the_products() -> None:
    assert FAST.quick_s < FAST.absent_s < FAST.connect_s
