"""An Insta360 and a Theta over real BlueZ."""

import asyncio
import time
from functools import partial

from ..guest.deadline import async_poll_until, poll_until
from .world import Air, Daemon, measured

INSTA360 = "X4 34UQG5"
BEACON = bytes.fromhex("4c000215094f5242495409ff0f00") + b"34UQG5" + bytes.fromhex("00000000e401")
THETA = "E0:00:00:10:12:34"


async def _is_awake(air: Air, name: str) -> bool:
    return bool(air.state(name)["awake"])


async def test_an_insta360_hears_its_remote_byte_for_byte(air: Air, hub: Daemon) -> None:
    air.do("insta360", INSTA360)
    waking = asyncio.create_task(hub.call("Wake", "ssayu", "7", "beacon", BEACON, 30))
    began_s = time.monotonic()
    await async_poll_until(partial(_is_awake, air, INSTA360), "it is awake")
    measured(f"heard after {time.monotonic() - began_s:.2f} s")
    assert air.state(INSTA360)["heard"] == ["1bff" + BEACON.hex() + "020105"]
    searching = asyncio.create_task(hub.call("Search", "sua(ss)", "search", 3, [["", "GoPro .*"]]))
    await asyncio.sleep(0.5)
    assert not waking.done()
    await hub.call("Cancel", "s", "7")
    assert (await hub.error_of(waking))[0] == "Cancelled"
    air.do("gopro", number="1001")
    await searching
    assert [row["name"] for row in hub.rows] == ["GoPro 1001"]

    other = BEACON.replace(b"34UQG5", b"ABCDEF")
    air.do("insta360", "X4 ABCDEF")
    began_s = time.monotonic()
    both = [
        asyncio.create_task(hub.error_of(hub.call("Wake", "ssayu", key, "beacon", data, 30)))
        for key, data in (("7", BEACON), ("8", other))
    ]
    await async_poll_until(partial(_is_awake, air, "X4 ABCDEF"), "the other is awake, too", 20)
    measured(f"two at once: the second heard after {time.monotonic() - began_s:.2f} s")
    for key in ("7", "8"):
        await hub.call("Cancel", "s", key)
    assert [name for name, *_ in await asyncio.gather(*both)] == ["Cancelled"] * 2

    searching = asyncio.create_task(hub.call("Search", "sua(ss)", "search", 20, [["fea6", ""]]))
    await asyncio.sleep(0.5)
    began_s = time.monotonic()
    await hub.call("Wake", "ssayu", "7", "beacon", BEACON, 2)
    assert 1.5 < time.monotonic() - began_s < 4
    await searching
    assert time.monotonic() - began_s < 10


async def test_a_theta_is_found_by_its_name_and_woken_without_pairing(air: Air, hub: Daemon) -> None:
    air.do("theta", number="00101234")
    await hub.call("Search", "sua(ss)", "search", 2, [["", "[0-9]{8}"]])
    assert [row["address"] for row in hub.rows] == [THETA]
    measured(f"woken: {await hub.wake(THETA, 'theta'):.2f} s")
    state = air.state("00101234")
    assert (state["power"], state["network"], state["bonds"]) == (1, 1, 0)
    await hub.call("Sleep", "ss", THETA, "theta")
    assert air.state("00101234")["power"] == 2
    assert await hub.pair(THETA, "theta") == {
        "ssid": b"THETAYL00101234.OSC",
        "password": "00101234",
        "model": "RICOH THETA V",
        "serial": "YL00101234",
    }
    await hub.call("Release", "s", THETA)
    poll_until(lambda: not air.state("00101234")["connected"], "it is released")
    air.do("set", "00101234", known_host="01234567-89ab-cdef-0123-456789abcdef")
    name, message, _ = await hub.error_of(hub.wake(THETA, "theta"))
    assert name == "WakeFailed"
    assert "does not know this hub" in message
