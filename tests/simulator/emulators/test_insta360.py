"""An emulated Insta360 at port 6666, frame by frame."""

from __future__ import annotations

import asyncio

import pytest

from tests.simulator.emulators.served import HELLO, WALL_S, Insta360Client, ServedCamera, http, served
from wifimgrd.domain.camera import CameraDriver, StopReason
from wifimgrd.simulator.emulators._camera import BYTES_PER_S, CameraSettings
from wifimgrd.simulator.emulators._protobuf import Value, decode, encode, packed, signed

START, STOP, SET_OPTIONS, GET_OPTIONS, FILES, STATUS = 4, 5, 7, 8, 13, 15
X4 = CameraSettings(model="Insta360 X4", serial_number="IAHEA24", firmware_version="v1.6.21")
BUSY = {1: 5, 2: b"camera is busy."}
NOT_DONE = {1: 3, 2: b"msg execute err."}


async def options(client: Insta360Client, *numbers: int) -> dict[int, Value]:
    code, answer = await client.call(GET_OPTIONS, (1, packed(numbers)))
    assert code == 200
    assert answer[1] == packed(numbers)
    assert isinstance(answer[2], bytes)
    return dict(decode(answer[2]))


def nested(value: Value) -> dict[int, Value]:
    assert isinstance(value, bytes)
    return dict(decode(value))


async def pushed_until(client: Insta360Client, wanted: int) -> dict[int, Value]:
    while True:
        code, fields = await client.next_pushed()
        if code == wanted:
            return dict(fields)


async def test_what_it_is() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        told = await options(client, 11, 15, 20, 30, 48, 77)
        assert nested(told[11]) == {1: 0, 2: 80, 3: 100}
        assert nested(told[20]) == {1: 0, 2: 64_000_000_000, 3: 64_000_000_000}
        assert (told[15], told[30], told[48], told[77]) == (b"IAHEA24", b"v1.6.21", b"Insta360 X4", 36)


async def test_unknown_options_are_left_out() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        _, answer = await client.call(GET_OPTIONS, (1, packed([156, 48])))
        assert answer[1] == packed([48])


async def test_a_recording() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        assert await client.call(STATUS) == (200, {1: encode([(1, 0), (2, 0)])})
        assert await client.call(START, (1, 1)) == (200, {})
        one.clock.passed_s = 7
        assert await client.call(STATUS) == (200, {1: encode([(1, 1), (2, 7)])})
        assert await client.call(START, (1, 1)) == (500, {1: 3, 2: b"msg execute err."})
        code, answer = await client.call(STOP)
        assert code == 200
        assert nested(answer[1])[2] == 7 * BYTES_PER_S
        assert await client.call(STOP) == (500, NOT_DONE)
        code, answer = await client.call(FILES, (1, 2), (2, 0), (3, 100))
        assert answer[2] == 1


@pytest.mark.parametrize("settings", [CameraSettings(card_bytes=0), CameraSettings(battery=0)])
async def test_what_it_cannot_do(settings: CameraSettings) -> None:
    async with served(CameraDriver.INSTA360, settings) as one:
        client = await Insta360Client.open(one)
        assert await client.call(START, (1, 1)) == (500, NOT_DONE)


async def test_the_clock() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        value = encode([(12, int(WALL_S) + 5), (13, -28_800)])
        assert await client.call(SET_OPTIONS, (1, packed([12, 13])), (2, value)) == (
            200,
            {1: packed([12, 13])},
        )
        one.clock.passed_s = 2
        told = await options(client, 12, 13)
        assert told[12] == int(WALL_S) + 7
        assert isinstance(told[13], int)
        assert signed(told[13]) == -28_800
        for wrong in (encode([(12, 1 << 60)]), encode([(13, 1 << 40)]), encode([(12, b"x")])):
            code, _ = await client.call(SET_OPTIONS, (1, packed([12, 13])), (2, wrong))
            assert code == 500


async def test_every_client_is_told_what_one_does() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        first, second = await Insta360Client.open(one), await Insta360Client.open(one)
        await first.call(START, (1, 1))
        assert (await pushed_until(second, 8208))[1] == 1
        await second.call(STOP)
        assert (await pushed_until(first, 8208))[1] == 1
        assert (await pushed_until(first, 8208))[1] == 0


@pytest.mark.parametrize(
    ("reason", "number"),
    [(StopReason.FULL, 1), (StopReason.SLOW_CARD, 4), (StopReason.BATTERY, 7), (StopReason.TOO_HOT, 9)],
)
async def test_it_says_why_it_has_stopped(reason: StopReason, number: int) -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        await client.call(START, (1, 1))
        one.camera.set_stops(0, reason)
        told = await pushed_until(client, 8201)
        assert told[1] == number
        assert nested(told[2])[1] == b"/DCIM/Camera01/VID_20251009_085320_00_001.insv"
        assert await pushed_until(client, 8208) == {1: 0, 2: 0}


async def test_it_tells_when_it_happens() -> None:
    """Nobody looks at the camera: it stops by its own clock, here the real one."""
    async with served(CameraDriver.INSTA360, X4) as one:
        one.clock.monotonic = asyncio.get_running_loop().time  # type: ignore[method-assign]
    camera = type(one.camera)(X4, asyncio.get_running_loop().time)
    live = ServedCamera(camera, one.clock, type(one.emulator)(camera))  # type: ignore[call-arg]
    client = await Insta360Client.open(live)
    camera.set_stops(0.3, StopReason.SLOW_CARD)
    await client.call(START, (1, 1))
    assert (await pushed_until(client, 8201))[1] == 4
    await live.close()


async def test_battery_and_card_are_told() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        one.camera.set_battery(9, draining=False)
        assert nested((await pushed_until(client, 8195))[1])[2] == 9
        assert nested((await pushed_until(client, 8196))[1])[2] == 9
        one.camera.set_card(missing=True)
        assert await pushed_until(client, 8198) == {1: 1}
        one.camera.set_card(missing=False, full=True)
        assert await pushed_until(client, 8198) == {1: 2}
        assert await pushed_until(client, 8199) == {}


async def test_keep_alive_is_answered() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        client.send(b"\x05\x00\x00")
        assert await client.receive() == b"\x05\x00\x00"


async def test_it_wants_the_hello_first() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = Insta360Client(await one.connect(6666))
        client.send(b"\x05\x00\x00")
        assert await client.reader.read() == b""


async def test_what_it_does_not_know() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        code, answer = await client.call(9999)
        assert (code, answer[1]) == (500, 1)
        code, answer = await client.call(GET_OPTIONS, (1, b"\xff" * 20))
        assert (code, answer[1]) == (500, 2)


async def test_stand_by_not_while_it_records() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        assert await client.call(56, (1, 1)) == (200, {})
        await client.call(START, (1, 1))
        assert await client.call(56, (1, 1)) == (500, BUSY)


async def test_its_port_80_speaks_open_spherical_camera() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        streams = await one.connect(80)
        _, told = await http(streams, "GET", "/osc/info")
        assert (told["manufacturer"], told["model"]) == ("Insta360", "Insta360 X4")
        assert (await http(streams, "POST", "/osc/state"))[0] == 400
        _, told = await http(streams, "POST", "/osc/state", X_XSRF_Protected="1")
        assert told["state"]["batteryLevel"] == 0.8
        assert told["state"]["_cardState"] == "pass"
        assert "_captureStatus" not in told["state"]
        asked = {
            "name": "camera.getOptions",
            "parameters": {"optionNames": ["remainingSpace", "_batteryCapacity", "_sysTimestamp"]},
        }
        _, told = await http(streams, "POST", "/osc/commands/execute", asked, X_XSRF_Protected="1")
        assert told["results"]["options"] == {
            "remainingSpace": 64_000_000_000,
            "_batteryCapacity": {"powerType": 0, "powerLevel": 80},
            "_sysTimestamp": int(WALL_S),
        }


async def test_it_has_no_live_preview() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        asked = {"name": "camera.getLivePreview", "parameters": {}}
        streams = await one.connect(80)
        refused, told = await http(streams, "POST", "/osc/commands/execute", asked, X_XSRF_Protected="1")
        assert (refused, told["error"]["code"]) == (400, "unknownCommand")


async def test_silence_and_garbage() -> None:
    async with served(CameraDriver.INSTA360, X4) as one:
        client = await Insta360Client.open(one)
        one.camera.garbage = True
        client.send(b"\x05\x00\x00")
        assert await client.reader.read(200) != HELLO
        one.camera.garbage, one.camera.silent = False, True
        client.send(b"\x05\x00\x00")
        one.camera.set_battery(5, draining=False)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await client.reader.read(1)
