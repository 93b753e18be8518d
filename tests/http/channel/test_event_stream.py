"""The management channel as Server-Sent Events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.http.channel.test_channel import DEVICE
from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from wifimgrd.client.changes import DeviceAdded, DeviceRemoved

PATIENCE_S = 10.0
Event = dict[str, str]


@asynccontextmanager
async def stream(
    served: Served, path: str = "/events", **headers: str
) -> AsyncIterator[aiohttp.StreamReader]:
    async with served.session.get(served.url + path, headers=headers) as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-store"
        yield answer.content


async def next_event(content: aiohttp.StreamReader) -> Event:
    """The next block that is an event, by the rules of the standard."""
    event: Event = {}
    async with asyncio.timeout(PATIENCE_S):
        while True:
            line = (await content.readline()).decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if name in ("id", "event", "data"):
                event[name] = value
            elif not line and "event" in event:
                return event


def reported(event: Event) -> Any:
    return json.loads(event["data"])


async def test_a_snapshot_comes_first_with_the_mark_to_go_on_from(served: Served) -> None:
    async with stream(served) as content:
        event = await next_event(content)
    assert event["event"] == reported(event)["type"] == "snapshot"
    assert event["id"] == f"{reported(event)['epoch']}:{reported(event)['seq']}"


async def test_events_have_the_numbers_of_the_channel(served: Served, fake_hub: FakeHub) -> None:
    channel = await served.channel()
    await channel.receive_json()
    async with stream(served) as content:
        first = await next_event(content)
        fake_hub.happen(DeviceAdded(DEVICE))
        event = await next_event(content)
    assert reported(event) == await channel.receive_json(timeout=PATIENCE_S)
    assert event["event"] == "device.created"
    assert event["id"] == f"{reported(first)['epoch']}:{reported(event)['seq']}"


async def test_a_client_that_comes_back_gets_what_it_missed(served: Served, fake_hub: FakeHub) -> None:
    async with stream(served) as content:
        mark = (await next_event(content))["id"]
    fake_hub.happen(DeviceAdded(DEVICE), DeviceRemoved(1))
    for path, headers in (("/events/", {"Last-Event-ID": mark}), (f"/events?since={mark}", {})):
        async with stream(served, path, **headers) as content:
            assert [(await next_event(content))["event"] for _ in range(2)] == [
                "device.created",
                "device.removed",
            ]


async def test_a_mark_that_is_too_old_gets_a_snapshot(served: Served) -> None:
    async with stream(served, **{"Last-Event-ID": "another:1"}) as content:
        assert (await next_event(content))["event"] == "snapshot"


async def test_another_site_is_refused(served: Served) -> None:
    answer = await served.get("/events", headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status, answer.problem["code"]) == (403, "not-authorized")


async def test_a_client_that_goes_is_counted_no_more(served: Served) -> None:
    async with stream(served) as content:
        await next_event(content)
        assert b"\nwifimgrd_websocket_clients 1.0\n" in (await served.get("/metrics")).data
    async with asyncio.timeout(PATIENCE_S):  # less than a heartbeat, by which it would be noticed at last
        while b"\nwifimgrd_websocket_clients 0.0\n" not in (await served.get("/metrics")).data:
            pass


async def test_a_client_that_does_not_read_is_given_up(served: Served, fake_hub: FakeHub) -> None:
    async with served.session.get(served.url + "/events") as answer:
        await next_event(answer.content)
        channel = await served.channel()
        await channel.receive_json()
        # More than the queue and the buffers of both kernels take; the other client reads on.
        for _ in range(60):
            fake_hub.happen(
                *[change for _ in range(100) for change in (DeviceAdded(DEVICE), DeviceRemoved(1))]
            )
            for _ in range(200):
                await channel.receive_json(timeout=PATIENCE_S)
        metrics = (await served.get("/metrics")).data.decode()
        [dropped] = [line for line in metrics.splitlines() if "drop" in line and not line.startswith("#")]
        assert float(dropped.split()[-1]) == 1
