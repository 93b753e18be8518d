"""What an emulator reads is bounded, and whatever comes ends in an answer or in the end of the connection."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simulator.emulators.served import HELLO, Insta360Client, http, served
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators._protobuf import MalformedMessage, decode, encode, numbers_of, packed

PORTS = [
    (CameraDriver.GOPRO, 8080),
    (CameraDriver.INSTA360, 6666),
    (CameraDriver.INSTA360, 80),
    (CameraDriver.OSC, 80),
    (CameraDriver.GOPRO_GPCONTROL, 80),
    (CameraDriver.NOVATEK, 80),
]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /gopro/version\r\n\r\n", 400),
        (b"GET gopro HTTP/1.1\r\n\r\n", 400),
        (b"G\x00T / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: \xb2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 65 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 200_000, 431),
    ],
)
async def test_what_is_no_request(sent: bytes, status: int) -> None:
    async with served(CameraDriver.GOPRO) as one:
        reader, writer = await one.connect(8080)
        writer.write(sent)
        async with asyncio.timeout(5):
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("target", ["/gopro/version?" + "&".join(["a=1"] * 100), "/%ff%fe", "/?%", "//["])
async def test_odd_targets_are_answered(target: str) -> None:
    async with served(CameraDriver.GOPRO) as one:
        status, _ = await http(await one.connect(8080), "GET", target)
        assert status in {400, 403, 404}


@pytest.mark.parametrize("length", [0, 3, 6, 65_541, 0xFFFFFFFF])
async def test_a_frame_of_an_impossible_length_ends_the_session(length: int) -> None:
    async with served(CameraDriver.INSTA360) as one:
        client = await Insta360Client.open(one)
        client.writer.write(length.to_bytes(4, "little"))
        async with asyncio.timeout(5):
            assert await client.reader.read() == b""


@pytest.mark.parametrize(("driver", "port"), PORTS)
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", HELLO[:4]])
def test_who_sends_nothing_more_is_left(driver: CameraDriver, port: int, sent: bytes) -> None:
    async def story() -> None:
        async with served(driver) as one:
            reader, writer = await one.connect(port)
            writer.write(sent)
            await reader.read()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story())


async def test_to_who_does_not_read_nothing_more_is_told() -> None:
    async with served(CameraDriver.INSTA360) as one:
        client = await Insta360Client.open(one)
        for percent in range(20_000):
            one.camera.set_battery(percent % 100, draining=False)
        read = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(1) as limit:
                while data := await client.reader.read(65_536):
                    read += len(data)
                    limit.reschedule(asyncio.get_running_loop().time() + 1)
        assert read < 500_000


@given(st.lists(st.binary(max_size=300), max_size=8), st.sampled_from(PORTS), st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
def test_noise(sent: list[bytes], where: tuple[CameraDriver, int], after_hello: bool) -> None:
    async def story() -> None:
        async with served(where[0]) as one:
            reader, writer = await one.connect(where[1])
            if after_hello:
                writer.write((len(HELLO) + 4).to_bytes(4, "little") + HELLO)
            for part in sent:
                writer.write((len(part) + 4).to_bytes(4, "little") + part)
            writer.write_eof()
            async with asyncio.timeout(120):
                await reader.read()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story())


@pytest.mark.parametrize(("driver", "port"), [one for one in PORTS if one[1] != 6666])
async def test_silent_and_mad_over_http(driver: CameraDriver, port: int) -> None:
    async with served(driver) as one:
        one.camera.silent = True
        reader, writer = await one.connect(port)
        writer.write(b"GET /osc/info HTTP/1.1\r\n\r\n")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await reader.read(1)
        one.camera.silent, one.camera.garbage = False, True
        answers = set()
        for _ in range(20):
            writer.write(b"GET /osc/info HTTP/1.1\r\n\r\n")
            answers.add(await reader.read(100_000))
        assert len(answers) > 10


@given(st.binary(max_size=100))
def test_any_bytes_are_a_message_or_not(data: bytes) -> None:
    try:
        fields = decode(data)
    except MalformedMessage:
        return
    assert all(number > 0 for number, _ in fields)


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, (1 << 64) - 1) | st.binary(max_size=300))))
def test_messages_are_read_as_written(fields: list[tuple[int, int | bytes]]) -> None:
    assert decode(encode(fields)) == fields


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=50))
def test_repeated_numbers(numbers: list[int]) -> None:
    assert list(numbers_of([(3, packed(numbers)), (2, 9)], 3)) == numbers
    assert list(numbers_of([(3, number) for number in numbers], 3)) == numbers
