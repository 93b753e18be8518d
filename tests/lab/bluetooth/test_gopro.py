"""A GoPro over real BlueZ: searched, paired, woken, put to sleep; and what goes wrong."""

import asyncio
import re
import time
from functools import partial

from ..guest.deadline import poll_until
from ..guest.namespace import run
from .world import BLUETOOTHD, Air, Daemon, measured, until_powered

ADDRESS, OTHER = "D4:32:60:00:10:01", "D4:32:60:00:10:02"

_REFUSED = (
    "the camera refused the connection 6 times: if this stays so, it may have forgotten this hub: pair it"
    " again"
)


def asleep(air: Air, number: str) -> bool:
    """Whether a camera has disconnected and sleeps."""
    state = air.state(number)
    return not (state["connected"] or state["awake"])


async def test_a_camera_is_found_paired_and_woken(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001", boot_s=1.0)
    await hub.call("Search", "sua(ss)", "search", 2, [["fea6", ""]])
    row = hub.rows[-1]
    assert (row["address"], row["name"], row["serial"]) == (ADDRESS, "GoPro 1001", "1001")
    assert (row["power_state"], row["access_point"], row["pairing_mode"]) == ("asleep", False, True)
    assert not row["paired"]

    began_s = time.monotonic()
    assert await hub.pair(ADDRESS) == {
        "ssid": b"GP1001",
        "password": "dive-1234",
        "model": "HERO12 Black",
        "serial": "C3501324501001",
    }
    measured(f"paired, access point on: {time.monotonic() - began_s:.2f} s")
    state = air.state("1001")
    assert state["access_point"]
    assert state["pairing_finished"]
    assert state["bonds"] == 1
    assert await hub.bonds(ADDRESS)
    poll_until(lambda: air.state("1001")["keep_alives"] >= 2, "it is kept awake")
    await hub.call("Release", "s", ADDRESS)
    poll_until(lambda: not air.state("1001")["connected"], "it is released")

    await hub.call("Sleep", "ss", ADDRESS, "gopro")
    state = air.state("1001")
    assert (state["awake"], state["access_point"]) == (False, False)
    for _ in range(2):
        measured(f"woken: {await hub.wake(ADDRESS):.2f} s (it boots for 1 s)")
        assert air.state("1001")["access_point"]
        await hub.call("RestartAccessPoint", "ss", ADDRESS, "gopro")
        state = air.state("1001")
        assert (state["access_point"], state["connected"]) == (True, True)
        await hub.call("Sleep", "ss", ADDRESS, "gopro")
        poll_until(lambda: not air.state("1001")["connected"], "it sleeps")

    run("systemctl", "restart", BLUETOOTHD)
    until_powered()
    await hub.until_state("ready")
    measured(f"woken after a restart of bluetoothd: {await hub.wake(ADDRESS):.2f} s")
    await hub.unpair(ADDRESS)
    assert (await hub.error_of(hub.wake(ADDRESS)))[0] == "NotPaired"


async def test_two_cameras_at_once_and_one_that_is_away(air: Air, hub: Daemon) -> None:
    for number in ("1001", "1002"):
        air.do("gopro", number=number)
    found = await asyncio.gather(hub.pair(ADDRESS), hub.pair(OTHER))
    assert [camera["ssid"] for camera in found] == [b"GP1001", b"GP1002"]
    for address, number in ((ADDRESS, "1001"), (OTHER, "1002")):
        await hub.call("Sleep", "ss", address, "gopro")
        poll_until(partial(asleep, air, number), "it sleeps")
    both = await asyncio.gather(hub.wake(ADDRESS), hub.wake(OTHER))
    measured(f"both woken: {both[0]:.2f} and {both[1]:.2f} s")
    await hub.call("Sleep", "ss", OTHER, "gopro")
    await hub.call("Release", "s", ADDRESS)
    air.do("leave", "1001")
    absent = asyncio.create_task(hub.error_of(hub.wake(ADDRESS)))
    await asyncio.sleep(1)
    measured(f"woken beside one that is away: {await hub.wake(OTHER):.2f} s")
    name, message, after_s = await absent
    assert (name, message) == (
        "WakeFailed",
        "no answer within 40 s: the camera is out of range, or switched off",
    )
    assert 35 < after_s < 50
    waking = asyncio.create_task(hub.wake(ADDRESS))
    await asyncio.sleep(1)
    air.do("come_back", "1001")
    measured(f"woken once it is back: {await waking:.2f} s")


async def test_a_pairing_that_is_refused_or_not_expected(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    air.do("set", "1001", refuses_pairing=True)
    name, message, after_s = await hub.error_of(hub.pair(ADDRESS))
    assert (name, message) == (
        "PairingFailed",
        "the camera refused the pairing: it is not in its pairing mode",
    )
    measured(f"refused after {after_s:.2f} s")
    air.do("set", "1001", refuses_pairing=False, pairing_mode=False, ignores_strangers=True)
    name, message, after_s = await hub.error_of(hub.pair(ADDRESS))
    assert (name, message) == (
        "PairingFailed",
        "the camera refused the connection 6 times: it may not be in its pairing mode",
    )
    measured(f"not in pairing mode after {after_s:.2f} s")
    assert not re.search("^Device D4:32", run("bluetoothctl", "devices", "Paired"), re.MULTILINE)
    air.do("set", "1001", pairing_mode=True)
    air.do("set", "1001", lose_link_at="read")
    assert (await hub.error_of(hub.pair(ADDRESS)))[0] == "PairingFailed"
    assert (await hub.pair(ADDRESS))["ssid"] == b"GP1001"


async def test_a_bond_that_either_side_has_lost(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    poll_until(lambda: not air.state("1001")["connected"], "it is released")
    air.do("forget", "1001", pairing_mode=False)
    for _ in range(2):
        before = air.state("1001")["events"].count("connected")
        name, message, after_s = await hub.error_of(hub.wake(ADDRESS))
        assert (name, message) == ("WakeFailed", _REFUSED)
        measured(f"lost by the camera: told after {after_s:.2f} s")
        assert air.state("1001")["events"].count("connected") == before + 6
    assert (await hub.error_of(hub.pair(ADDRESS, again=True)))[0] == "PairingFailed"
    assert await hub.bonds(ADDRESS)

    air.do("set", "1001", pairing_mode=True)
    assert (await hub.pair(ADDRESS, again=True))["ssid"] == b"GP1001"
    await hub.call("Release", "s", ADDRESS)
    poll_until(lambda: not air.state("1001")["connected"], "it is released")
    await hub.wake(ADDRESS)

    run("bluetoothctl", "remove", ADDRESS)
    assert (await hub.error_of(hub.wake(ADDRESS)))[0] == "NotPaired"
    air.do("set", "1001", pairing_mode=True)
    assert (await hub.pair(ADDRESS))["ssid"] == b"GP1001"


async def test_first_packets_that_are_lost_are_not_a_lost_bond(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    for lost in (1, 2, 4):  # of 6: the radio of a busy machine may lose one more
        await hub.call("Release", "s", ADDRESS)
        poll_until(lambda: not air.state("1001")["connected"], "it is released")
        air.do("doze", "1001")
        air.do("lose_first_packets", "1001", connections=lost)
        measured(f"{lost} connections lost: woken after {await hub.wake(ADDRESS):.2f} s")
    await hub.call("Release", "s", ADDRESS)
    poll_until(lambda: not air.state("1001")["connected"], "it is released")
    air.do("set", "1001", pairing_mode=False, ignores_strangers=True)
    air.do("lose_first_packets", "1001", connections=12)
    name, message, after_s = await hub.error_of(hub.wake(ADDRESS))
    assert (name, message) == ("WakeFailed", _REFUSED)
    measured(f"all connections lost: told after {after_s:.2f} s")
    name, message, after_s = await hub.error_of(hub.pair(ADDRESS, again=True))
    assert (name, message) == (
        "PairingFailed",
        "the camera refused the connection 6 times, and was not heard in its pairing mode: this hub keeps its"
        " bond",
    )
    measured(f"pairing: told after {after_s:.2f} s")
    assert await hub.bonds(ADDRESS)
    measured(f"woken after that: {await hub.wake(ADDRESS):.2f} s")


async def test_a_camera_that_hangs_and_one_whose_link_is_lost(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    air.do("hang", "1001")
    name, message, after_s = await hub.error_of(hub.wake(ADDRESS, seconds=8))
    assert name == "WakeFailed"
    measured(f"hangs: {message}, after {after_s:.2f} s")
    assert after_s < 10
    air.do("hang", "1001", value=False)
    air.do("lose_links", "1001")
    measured(f"woken after that: {await hub.wake(ADDRESS):.2f} s")
    await hub.call("Release", "s", ADDRESS)
    poll_until(lambda: not air.state("1001")["connected"], "it is released")
    air.do("set", "1001", lose_link_at="write")
    before = air.state("1001")["events"].count("connected")
    measured(f"woken although the link is lost once: {await hub.wake(ADDRESS):.2f} s")
    assert air.state("1001")["events"].count("connected") == before + 2


async def test_a_camera_that_is_on_records_over_bluetooth_without_its_wifi(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    poll_until(lambda: not air.state("1001")["connected"], "it is released")
    air.do("doze", "1001")
    air.do("set", "1001", awake=True)
    connections = air.state("1001")["events"].count("connected")
    for command, state in (
        ("start-recording", "recording"),
        ("stop-recording", "idle"),
        ("set-clock", "idle"),
    ):
        began_s = time.monotonic()
        result, reading = await hub.call("Command", "sss", ADDRESS, "gopro", command)
        measured(f"{command}: {time.monotonic() - began_s:.2f} s, answered after {result['after']} us")
        assert (result["code"], reading["recording"], reading["battery_level"]) == ("", state, 87)
        assert air.state("1001")["encoding"] is (state == "recording")
        poll_until(lambda: not air.state("1001")["connected"], "nothing keeps it connected")
    assert abs(reading["clock_offset_us"]) < 3_000_000
    now = air.state("1001")
    assert not now["access_point"]
    assert now["events"].count("connected") == connections + 3
    assert not air.do("adapter")["listens"]
