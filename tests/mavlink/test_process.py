"""`wifimgrd-mavlink` and the daemon with emulated cameras of three makes, as real processes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accounting import Account
from tests.mavlink.bridge import free_port
from tests.mavlink.conftest import Start
from tests.mavlink.mavlink_process import PATIENCE_S, Listener
from tests.mavlink.station import (
    ACCEPTED,
    FAILED,
    IN_PROGRESS,
    START,
    STOP,
    TEMPORARILY_REJECTED,
    Station,
    answers,
    text_of,
    told,
)
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import CAMERAS, SCENARIO, connected
from wifimgrd.bus.connection import Variant

NAMES = ("Nose", "Left", "Tail")


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon, with a GoPro, an Insta360 and a Theta that are connected."""
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        await asyncio.gather(*(connected(hub, *one) for one in zip(CAMERAS, NAMES, strict=True)))
        yield hub


def final(messages: list[Any], number: int) -> dict[int, int]:
    return {
        one: result
        for one, command, result in answers(messages)
        if command == number and result != IN_PROGRESS
    }


def labels(messages: list[Any]) -> dict[int, str]:
    said = told(messages, "CAMERA_INFORMATION")
    return {one.get_srcComponent(): text_of(one.model_name) for one in said}


async def seen(heard: Listener) -> dict[int, str]:
    """The labels, as a station learns them."""
    await heard.until(lambda all_: len({one.get_srcComponent() for one in all_}) >= len(NAMES))
    heard.forget()
    heard.station.command(0, 512, 259)
    return labels(await heard.until(lambda all_: len(labels(all_)) == len(NAMES)))


async def test_cameras_appear_by_name_and_record_on_one_broadcast(
    hub: Hub, processes: Start, heard: Listener
) -> None:
    await processes().start()
    assert sorted((await seen(heard)).values()) == sorted(NAMES)
    heard.forget()
    heard.station.command(0, START)
    await heard.until(lambda all_: final(all_, START) == dict.fromkeys((100, 101, 102), ACCEPTED))
    told_ = {
        (one.get_srcComponent(), one.video_status) for one in told(heard.messages, "CAMERA_CAPTURE_STATUS")
    }
    assert told_ == {(one, 1) for one in (100, 101, 102)}
    heard.forget()
    heard.station.command(0, STOP)
    await heard.until(lambda all_: final(all_, STOP) == dict.fromkeys((100, 101, 102), ACCEPTED))
    assert not any(heard.station.gaps.values())


async def test_a_camera_that_refuses_says_why(hub: Hub, processes: Start, heard: Listener) -> None:
    fault = {"ssid": Variant("s", CAMERAS["insta360-x4"][0])}
    await hub.client.simulate("SetFault", "sa{sv}", "refuses-recording", fault)
    await processes().start()
    names = await seen(heard)
    [left] = [one for one, name in names.items() if name == "Left"]
    heard.forget()
    heard.station.command(0, START)
    await heard.until(lambda all_: len(final(all_, START)) == 3 and told(all_, "STATUSTEXT"))
    assert final(heard.messages, START) == {one: FAILED if one == left else ACCEPTED for one in names}
    [text] = {one.get_srcComponent() for one in told(heard.messages, "STATUSTEXT")}
    assert text == left
    assert text_of(told(heard.messages, "STATUSTEXT")[0]._text_raw).startswith("Left: ")


async def test_a_camera_that_is_not_connected_is_rejected_for_now(
    hub: Hub, processes: Start, heard: Listener
) -> None:
    [tail] = [one.id for one in hub.client.devices.values() if one.name == "Tail"]
    await hub.client.simulate("PowerOffCamera", "ayb", CAMERAS["ricoh-theta-x"][0].encode(), False)
    await hub.client.wait_until(lambda client: client.devices[tail].state != "connected", PATIENCE_S)
    await processes().start()
    names = await seen(heard)
    heard.forget()
    heard.station.command(0, START)
    await heard.until(lambda all_: len(final(all_, START)) == 3)
    results = {names[one]: result for one, result in final(heard.messages, START).items()}
    assert results == {"Nose": ACCEPTED, "Left": ACCEPTED, "Tail": TEMPORARILY_REJECTED}


async def test_heartbeats_go_on_while_the_daemon_is_started_anew(
    hub: Hub, processes: Start, heard: Listener
) -> None:
    await processes().start()
    before = await seen(heard)
    assert await hub.end() == 0
    heard.forget()
    await heard.until(lambda all_: len(told(all_, "HEARTBEAT")) >= 9)
    assert {one.system_status for one in told(heard.messages, "HEARTBEAT")[-3:]} == {3}
    await hub.start()
    await heard.until(lambda all_: told(all_, "HEARTBEAT")[-1].system_status == 4)
    assert await seen(heard) == before


async def test_components_are_kept_when_the_process_is_started_anew(
    hub: Hub, processes: Start, heard: Listener
) -> None:
    first = processes()
    await first.start()
    before = await seen(heard)
    assert await first.end() == 0
    gone = min(hub.client.devices)
    await hub.client.remove_device(gone)
    await first.start()
    heard.forget()
    heard.station.sequences.clear()
    await heard.until(lambda all_: any(one.system_status == 4 for one in told(all_, "HEARTBEAT")))
    heard.station.command(0, 512, 259)
    after = labels(await heard.until(lambda all_: len(labels(all_)) == 2))
    assert after.items() <= before.items()


async def test_cameras_record_from_arming_until_after_disarming(
    hub: Hub, processes: Start, heard: Listener
) -> None:
    await processes("record_while_armed = true").start()
    await seen(heard)
    autopilot = Station(system=1, component=1)
    autopilot.close()
    autopilot.socket, autopilot.peer = heard.station.socket, heard.station.peer

    def states() -> set[str | None]:
        return {one.camera.recording_state for one in hub.client.devices.values() if one.camera}

    for armed in (False, True):
        autopilot.beat(armed=armed, kind=2)
    await hub.client.wait_until(lambda _: states() == {"recording"}, PATIENCE_S)
    autopilot.beat(armed=False, kind=2)
    await hub.client.wait_until(lambda _: states() == {"idle"}, PATIENCE_S)


async def test_a_hangup_changes_nothing(hub: Hub, processes: Start, heard: Listener) -> None:
    """As of the bridge to MQTT: a new configuration needs a restart."""
    one = processes()
    await one.start()
    await seen(heard)
    assert one.process is not None
    one.process.send_signal(signal.SIGHUP)
    heard.forget()
    await heard.until(lambda all_: len(told(all_, "HEARTBEAT")) >= 6)
    assert await one.end() == 0


async def test_without_a_connection_there_is_nothing_to_do(processes: Start) -> None:
    one = processes('connection = ""')
    await one.start()
    assert one.process is not None
    assert await asyncio.wait_for(one.process.wait(), PATIENCE_S) == 0
    assert "nothing_to_do" in one.log.read_text()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('connection = "udpout:192.0.2.1:14550"', "connection"),
        ('signing_key_file = "/nonexistent/key"', "signing_key_file: /nonexistent/key cannot be read"),
        ("unknown = 1", "unknown"),
    ],
)
async def test_a_configuration_that_cannot_be_used_is_refused(
    processes: Start, message_bus: MessageBusDaemon, keys: str, said: str
) -> None:
    one = processes(keys)
    await one.start()
    assert one.process is not None
    assert await asyncio.wait_for(one.process.wait(), PATIENCE_S) in (os.EX_CONFIG, os.EX_IOERR)
    assert said in one.log.read_text()


async def test_a_station_with_the_passphrase_is_obeyed(hub: Hub, processes: Start, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a passphrase of the boat\n")
    station = Station(key=hashlib.sha256(b"a passphrase of the boat").digest())
    heard = Listener(station)
    one = processes(f'connection = "{station.address}"\nsigning_key_file = "{tmp_path / "key"}"')
    await one.start()
    assert sorted((await seen(heard)).values()) == sorted(NAMES)
    assert all(message.get_signed() for message in heard.messages)
    assert "passphrase of" not in one.log.read_text()
    station.close()


def _packed(component: int, number: int, *parameters: float) -> bytes:
    one = Station()
    one.close()
    return one.packed(component, number, *parameters)


QUESTION = _packed(100, 512, 259)
FLOODS = {
    "questions": QUESTION,
    "many questions in one datagram": QUESTION * (2048 // len(QUESTION)),
    "starts": _packed(0, START),
    "garbage": random.Random(7).randbytes(300),
    "messages that are not understood": bytes.fromhex("fd1c000000010130000000") + bytes(40),
    "only first bytes": b"\xfd" * 2048,
}


@asynccontextmanager
async def flooded(port: int, datagram: bytes) -> AsyncIterator[None]:
    line = (sys.executable, "-m", "tests.mavlink.flood", str(port))
    process = await asyncio.create_subprocess_exec(*line, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(datagram)
    process.stdin.close()
    await process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        await process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("datagram", FLOODS.values(), ids=FLOODS.keys())
async def test_a_flood_costs_a_part_of_a_core_and_no_memory(
    hub: Hub, processes: Start, datagram: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    one = processes(f'connection = "udpin:127.0.0.1:{port}"')
    one.is_cold = True
    await one.start()
    station = Station(port)
    heard = Listener(station)
    async with asyncio.timeout(PATIENCE_S):
        while not station.received():
            station.beat()
            await asyncio.sleep(0.1)
    assert one.process is not None
    account = Account(one.process.pid)
    before = account.memory().rss_mb
    async with flooded(port, datagram):
        began_s, spent_s = asyncio.get_running_loop().time(), account.cpu_s()
        for _ in range(5):
            station.beat()
            heard.forget()
            await heard.until(lambda all_: told(all_, "HEARTBEAT"), 5.0)
        share = (account.cpu_s() - spent_s) / (asyncio.get_running_loop().time() - began_s)
        grown = account.memory().rss_mb - before
    with capsys.disabled():
        sys.stdout.write(f"\n{share:.1%} of a core, {grown:.1f} MB\n")
    assert share < 0.3
    assert grown < 3
    station.close()
