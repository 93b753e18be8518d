"""A failure that a command causes, as a client of HTTP and of the channel sees it: first the answer, then
`failed`, for as long as a person needs to see it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.http.channel.test_channel import UPDATE, receive, register, until
from tests.http.served import P, Served
from wifimgrd.bus.connection import Variant
from wifimgrd.client.hub import HubClient
from wifimgrd.http.channel import _status_hold as status_hold

pytestmark = pytest.mark.slow

AHEAD_S = 0.05
STANDS_S = 1.0
Seen = list[tuple[float, Any]]


@pytest.fixture(autouse=True)
def longer_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times with which those of the contract, above, hold also where this process reads late."""
    monkeypatch.setattr(status_hold, "ANSWER_AHEAD_S", 10 * AHEAD_S)
    monkeypatch.setattr(status_hold, "FAILED_STANDS_S", 2 * STANDS_S)


async def watch(shim: Served) -> tuple[Seen, asyncio.Task[None]]:
    """Note each message of the channel with the time at which it is read."""
    channel = await shim.channel()
    await receive(channel)
    seen: Seen = []

    async def read() -> None:
        async for message in channel:
            seen.append((time.monotonic(), message.json()))

    return seen, asyncio.create_task(read())


async def status_at(seen: Seen, device_id: int, name: str, count: int = 1) -> float:
    """When the status of a device was read for the `count`th time."""
    async with asyncio.timeout(10):
        while True:
            found = [
                at
                for at, message in seen
                if message["type"] == UPDATE
                and message["data"]["id"] == device_id
                and message["data"]["connection_status"] == name
            ]
            if len(found) >= count:
                return found[count - 1]
            await asyncio.sleep(0.005)


def assert_gapless(seen: Seen) -> None:
    numbers = [message["seq"] for _, message in seen if "seq" in message]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def take_all_interfaces(shim: Served) -> int:
    """Connect three cameras and register a fourth, which is refused, and rests."""
    for number in (1, 2, 3):
        device_id = await register(shim, number)
        await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=10")
    channel = await shim.channel()
    device_id = await register(shim, 4)
    await until(channel, UPDATE, id=device_id, connection_status="disconnected")
    return device_id


@pytest.mark.parametrize("query", ["", "&wait=5"])
async def test_a_refusal_is_answered_first(shim: Served, query: str) -> None:
    device_id = await take_all_interfaces(shim)
    seen, reading = await watch(shim)
    answer = await shim.get(f"{P}/wifi/connect?device_id={device_id}{query}")
    answered = time.monotonic()
    assert answer.problem["code"] == "no-interface-available"
    failed = await status_at(seen, device_id, "failed")
    assert failed - answered >= AHEAD_S
    assert (await shim.get(f"{P}/{device_id}")).json["connection_status"] == "disconnected"
    assert await status_at(seen, device_id, "disconnected") - failed >= STANDS_S
    assert_gapless(seen)
    reading.cancel()


async def test_a_refusal_does_not_wait_for_another_request_that_waits_for_an_adapter(shim: Served) -> None:
    device_id = await take_all_interfaces(shim)
    seen, reading = await watch(shim)
    connect = f"{P}/wifi/connect?device_id={device_id}"
    waiting = asyncio.create_task(shim.get(f"{connect}&when_free=1&wait=10"))
    await status_at(seen, device_id, "disconnected")
    assert (await shim.get(connect)).status == 409
    answered = time.monotonic()
    assert await status_at(seen, device_id, "failed") - answered >= AHEAD_S
    assert not waiting.done()
    await status_at(seen, device_id, "disconnected", 2)
    await shim.get(f"{P}/wifi/disconnect?device_id={device_id}")
    assert (await waiting).problem["code"] == "cancelled"
    reading.cancel()


async def test_a_backend_that_is_gone_is_answered_first(shim: Served, hub: HubClient) -> None:
    device_id = await register(shim, 1)
    await shim.get(f"{P}/wifi/disconnect?device_id={device_id}")
    await hub.simulate("SetFault", "sa{sv}", "backend-gone", {})
    seen, reading = await watch(shim)
    answer = await shim.get(f"{P}/wifi/connect?device_id={device_id}")
    answered = time.monotonic()
    assert answer.problem["code"] == "backend-unavailable"
    assert await status_at(seen, device_id, "failed") - answered >= AHEAD_S
    reading.cancel()


async def test_a_failed_attempt_that_is_waited_for_is_answered_first(shim: Served) -> None:
    device_id = await register(shim, 1, "wrong-password")
    await shim.get(f"{P}/wifi/disconnect?device_id={device_id}")
    seen, reading = await watch(shim)
    answer = await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=10")
    answered = time.monotonic()
    assert answer.problem["code"] == "authentication-failed"
    assert await status_at(seen, device_id, "connecting") < answered
    failed = await status_at(seen, device_id, "failed")
    assert failed - answered >= AHEAD_S
    assert await status_at(seen, device_id, "disconnected") - failed >= STANDS_S
    assert_gapless(seen)
    reading.cancel()


async def test_a_create_that_gets_no_interface_is_answered_first(shim: Served) -> None:
    await take_all_interfaces(shim)
    seen, reading = await watch(shim)
    settings = {"ssid": "SIM-CAM-OFF", "password": "camera-pass-off"}
    body = {"codename": "x", "connection_type": "wifi", "connection_settings": settings}
    device_id = (await shim.post(P, json=body)).json["id"]
    answered = time.monotonic()
    assert await status_at(seen, device_id, "failed") - answered >= AHEAD_S
    reading.cancel()


async def test_while_failed_stands_the_device_is_disconnected_and_its_interface_free(
    shim: Served, hub: HubClient
) -> None:
    seen, reading = await watch(shim)
    device_id = await register(shim, 1, "wrong-password")
    await status_at(seen, device_id, "failed")
    status = (await shim.get(f"{P}/wifi/status?device_id={device_id}")).json
    assert (status["connection_status"], status["interface"]) == ("disconnected", None)
    assert hub.devices[device_id].state == "disconnected"
    assert (await shim.get(f"{P}/wifi/interfaces")).json["assigned_interfaces"] == 0
    reading.cancel()


async def test_the_next_command_ends_the_wait(
    shim: Served, hub: HubClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_hold, "FAILED_STANDS_S", 60.0)
    seen, reading = await watch(shim)
    device_id = await register(shim, 1, "wrong-password")
    failed = await status_at(seen, device_id, "failed")
    await hub.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 5.0)})
    await shim.get(f"{P}/wifi/connect?device_id={device_id}")
    connecting = await status_at(seen, device_id, "connecting", count=2)
    assert failed < await status_at(seen, device_id, "disconnected") < connecting
    assert_gapless(seen)
    reading.cancel()


async def test_a_removal_is_reported_before_it_is_answered(shim: Served) -> None:
    device_id = await take_all_interfaces(shim)
    channel = await shim.channel()
    await receive(channel)
    await shim.get(f"{P}/wifi/connect?device_id={device_id}")
    await shim.ask("DELETE", f"{P}/{device_id}/")
    reported = [await receive(channel) for _ in range(4)]
    assert [one["data"].get("connection_status", one["type"]) for one in reported] == [
        "failed",
        "disconnected",
        "disconnected",  # in the record, too: the device is expected now
        "device.removed",
    ]


async def test_an_answer_and_another_devices_events_are_not_slowed(
    shim: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine takes longer for the next command than the failure is held back; not than this."""
    monkeypatch.setattr(status_hold, "ANSWER_AHEAD_S", 1.0)
    refused = await take_all_interfaces(shim)
    seen, reading = await watch(shim)
    durations = []
    for _ in range(10):
        began = time.monotonic()
        await shim.get(f"{P}/wifi/connect?device_id={refused}")
        durations.append(time.monotonic() - began)
    assert min(durations) < AHEAD_S
    await shim.get(f"{P}/wifi/connect?device_id={refused}")
    await shim.get(f"{P}/wifi/disconnect?device_id=1")
    other = await status_at(seen, 1, "disconnected")
    assert other < await status_at(seen, refused, "failed", count=11)
    await status_at(seen, refused, "disconnected", count=11)
    assert_gapless(seen)
    reading.cancel()
