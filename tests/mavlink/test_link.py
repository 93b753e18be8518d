"""The socket: who is heard, who is answered, and what a flood costs."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from tests.mavlink.bridge import MOMENT_S, Rig, free_port, run
from tests.mavlink.scripted_hub import device
from tests.mavlink.station import ACCEPTED, START, Station, answers, told
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._link import MOST_PEERS, PAUSE_S, PEER_S

NOSE = device(1, "Nose")
ASK = 512


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def stations(port: int) -> Iterator[list[Station]]:
    many = [Station(port) for _ in range(400)]
    yield many
    for one in many:
        one.close()


def test_who_sends_a_valid_frame_to_a_listening_socket_is_answered(
    port: int, stations: list[Station]
) -> None:
    one, other = stations[:2]

    async def play(rig: Rig) -> None:
        one.send(b"\xfd no frame")
        await asyncio.sleep(2.0)
        assert one.received() == []
        one.beat()
        other.command(100, ASK, 259)
        await asyncio.sleep(MOMENT_S)
        assert answers(other.received()) == [(100, ASK, ACCEPTED)]
        await asyncio.sleep(1.0)
        assert len(told(one.received(), "HEARTBEAT")) == 1
        assert not any(one.gaps.values())

    run(play, NOSE, connection=f"udpin:127.0.0.1:{port}")


def test_who_is_silent_is_sent_nothing_any_more(port: int, stations: list[Station]) -> None:
    async def play(rig: Rig) -> None:
        stations[0].beat()
        await asyncio.sleep(PEER_S + 1)
        stations[0].received()
        await asyncio.sleep(100.0)
        assert stations[0].received() == []

    run(play, NOSE, connection=f"udpin:127.0.0.1:{port}")


def test_what_is_repeated_ends_with_the_last_receiver(port: int) -> None:
    async def play(rig: Rig) -> None:
        station = Station(port)
        station.command(100, 511, 259, 1e6)
        station.command(100, START, 0, 1)
        await asyncio.sleep(3.0)
        received = station.received()
        assert told(received, "CAMERA_INFORMATION")
        assert len(told(received, "CAMERA_CAPTURE_STATUS")) > 1
        await asyncio.sleep(PEER_S + 2)
        station.received()
        station.beat()
        await asyncio.sleep(3.0)
        assert {one.get_type() for one in station.received()} == {"HEARTBEAT"}
        station.close()

    run(play, NOSE, connection=f"udpin:127.0.0.1:{port}")


def test_strangers_do_not_push_out_the_station_that_speaks(port: int, stations: list[Station]) -> None:
    station, *strangers = stations

    async def play(rig: Rig) -> None:
        for _ in range(20):
            station.beat()
            await asyncio.sleep(PAUSE_S)
            for stranger in strangers[:200]:
                stranger.beat()
            await asyncio.sleep(1.0)
            assert told(station.received(), "HEARTBEAT")
        await asyncio.sleep(PEER_S + 1)
        answered = [one for one in strangers if one.received()]
        assert len(answered) <= MOST_PEERS - 1

    run(play, NOSE, connection=f"udpin:127.0.0.1:{port}")


def test_strangers_do_not_lock_out_the_station_for_ever(port: int, stations: list[Station]) -> None:
    """They send now and then, each one, and it once a second."""
    station, *strangers = stations
    chance = random.Random(7)

    async def play(rig: Rig) -> None:
        for second in range(100):
            for stranger in chance.sample(strangers, 20):
                stranger.beat()
                await asyncio.sleep(PAUSE_S)
            if second >= 10:
                station.beat()
                await asyncio.sleep(1.0)
                assert station.received() or second < 25

    run(play, NOSE, connection=f"udpin:127.0.0.1:{port}")


def test_with_a_key_only_who_has_it_is_a_receiver(port: int) -> None:
    key = bytes(range(32))
    station, stranger = Station(port, key=key), Station(port)

    async def play(rig: Rig) -> None:
        stranger.beat()
        station.beat()
        await asyncio.sleep(2.0)
        assert stranger.received() == []
        assert all(one.get_signed() for one in station.received())
        assert station.sequences

    run(play, NOSE, connection=f"udpin:127.0.0.1:{port}", key=key)
    station.close()
    stranger.close()


def test_a_station_that_does_not_run_yet_ends_nothing(port: int) -> None:
    async def play(rig: Rig) -> None:
        await asyncio.sleep(20.0)
        late = Station()
        late.socket.close()
        late.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        late.socket.bind(("127.0.0.1", port))
        await asyncio.sleep(2.0)
        assert late.received()
        late.command(100, START)
        await asyncio.sleep(MOMENT_S)
        assert answers(late.received())[-1] == (100, START, ACCEPTED)
        late.close()

    with capture_logs() as log:
        run(play, NOSE, connection=f"udpout:127.0.0.1:{port}")
    assert {one["event"] for one in log} == {"station_unreachable"}


def test_a_port_that_is_taken_is_tried_again(port: int) -> None:
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other.bind(("127.0.0.1", port))

    async def play(rig: Rig) -> None:
        await asyncio.sleep(5.0)
        other.close()
        await asyncio.sleep(31.0)
        station = Station(port)
        station.beat()
        await asyncio.sleep(1.1)
        assert station.received()
        station.close()

    run(play, NOSE, connection=f"udpin:127.0.0.1:{port}")


def test_over_ipv6() -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as station:
        station.bind(("::1", 0))

        async def play(rig: Rig) -> None:
            await asyncio.sleep(1.0)
            assert [one.message for one in wire.frames(station.recv(300))] == [wire.HEARTBEAT]

        run(play, NOSE, connection=f"udpout:[::1]:{station.getsockname()[1]}")


def test_sequences_of_a_component_have_no_gap_over_256() -> None:
    async def play(rig: Rig) -> None:
        for _ in range(60):
            for _ in range(10):
                rig.station.command(100, ASK, 262)
            rig.station.received()
            await asyncio.sleep(1.0)
        assert rig.station.sequences.keys() == {100}

    run(play, NOSE)
