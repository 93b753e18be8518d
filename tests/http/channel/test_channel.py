"""The management channel, on the real daemon and on one that does what no real one would."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
import pytest

from tests.http.fake_hub import FakeHub, changed
from tests.http.served import P, Served
from tests.processes import Hub
from wifimgrd.bus.connection import Variant
from wifimgrd.client.changes import DeviceAdded, DeviceRemoved
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http.settings import Settings

PATIENCE_S = 10.0
UPDATE = "device.connection_status.update"
DEVICE = DeviceRecord(1, "Front")


KNOWN: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""The interfaces that each channel has told, by name, but for their health."""
NUMBERS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""The number of the last message that each channel has told."""


async def receive(channel: Any) -> Any:
    """The next message; none of those before it is missing.

    What a connected camera says about itself, and that an adapter is known to work, is told some time after
    the link is up, whatever a test does then: these messages are passed over.
    """
    while True:
        message = await channel.receive_json(timeout=PATIENCE_S)
        if (number := message.get("seq")) is not None:
            before = NUMBERS.get(channel)
            assert before is None or message["type"] == "snapshot" or number == before + 1, message
            NUMBERS[channel] = number
        known = KNOWN.setdefault(channel, {})
        told = (
            [message["data"]] if message["type"].startswith("interface.") else message.get("interfaces", ())
        )
        interfaces = dict(known)
        for one in told:
            known[one["name"]] = {**one, "health": None, "health_reason": None}
        if message["type"] == "interface.updated" and known == interfaces:
            continue
        if message["type"] != "device.camera.update":
            return message


async def until(channel: Any, kind: str, **data: Any) -> list[Any]:
    """Messages up to the first of a type whose data has these members."""
    messages = []
    while True:
        message = await receive(channel)
        messages.append(message)
        if message["type"] == kind and data.items() <= message["data"].items():
            return messages


async def register(shim: Served, number: int, password: str | None = None) -> int:
    settings = {"ssid": f"SIM-CAM-{number}", "password": password or f"camera-pass-{number}"}
    body = {"codename": "x", "connection_type": "wifi", "connection_settings": settings}
    device_id: int = (await shim.post(P, json=body)).json["id"]
    return device_id


def reported(messages: list[Any]) -> list[tuple[str, Any]]:
    """Each message in short: devices by status, interfaces by state."""
    short = []
    for message in messages:
        data = message["data"]
        short.append((message["type"], data.get("connection_status") or data.get("state") or data.get("id")))
    return short


async def test_first_comes_a_snapshot_that_agrees_with_http(shim: Served) -> None:
    await register(shim, 1)
    await shim.get(f"{P}/wifi/connect?device_id=1&wait=5")
    snapshot = await receive(await shim.channel())
    assert snapshot.keys() == {"type", "epoch", "seq", "service", "devices", "interfaces"}
    assert snapshot["type"] == "snapshot"
    assert snapshot["devices"] == (await shim.get(P)).json
    assert snapshot["interfaces"] == (await shim.get(P + "/wifi/interfaces")).json["interfaces"]
    assert snapshot["service"] == {
        "backend": "simulated",
        "backend_state": "ready",
        "backend_reason": "",
        "bluetooth_state": "ready",
        "bluetooth_reason": "",
    }


@pytest.mark.parametrize("path", ["/ws/management", "/ws/management/"])
async def test_the_channel_is_there_with_and_without_its_slash(served: Served, path: str) -> None:
    assert (await receive(await served.channel(path)))["type"] == "snapshot"


async def test_a_created_device_is_reported_and_then_how_it_connects(shim: Served) -> None:
    channel = await shim.channel()
    await receive(channel)
    device_id = await register(shim, 1)
    messages = await until(channel, "device.updated", camera_address="192.168.42.1")
    assert reported(messages) == [
        ("device.created", "disconnected"),
        ("interface.updated", "in-use"),
        (UPDATE, "connecting"),
        (UPDATE, "connected"),
        ("device.updated", "connected"),
    ]
    assert all(one.keys() == {"type", "seq", "time", "data"} for one in messages)
    assert messages[0]["data"]["id"] == device_id
    assert messages[-1]["data"] == (await shim.get(f"{P}/{device_id}")).json


async def test_a_disconnect_frees_the_interface_before_it_is_reported(shim: Served) -> None:
    device_id = await register(shim, 1)
    await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=5")
    channel = await shim.channel()
    await receive(channel)
    await shim.get(f"{P}/wifi/disconnect?device_id={device_id}")
    messages = await until(channel, UPDATE, connection_status="disconnected")
    assert reported(messages) == [
        (UPDATE, "disconnecting"),
        ("device.updated", "disconnecting"),
        ("interface.updated", "available"),
        (UPDATE, "disconnected"),
    ]


async def test_a_failed_attempt_is_reported_as_failed_and_then_disconnected(shim: Served) -> None:
    channel = await shim.channel()
    device_id = await register(shim, 1, "wrong-password")
    messages = await until(channel, UPDATE, connection_status="disconnected")
    failed, disconnected = (one["data"] for one in messages[-2:])
    assert failed["connection_status"] == "failed"
    assert failed["connection_error_code"] == "authentication-failed"
    assert failed["connection_error_message"]
    assert failed["connected"] is disconnected["connected"] is False
    assert failed["id"] == disconnected["id"] == device_id


async def test_a_refusal_is_reported_without_connecting_first(shim: Served) -> None:
    for number in (1, 2, 3):
        device_id = await register(shim, number)
        await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=5")
    channel = await shim.channel()
    await receive(channel)
    await register(shim, 4)
    messages = await until(channel, UPDATE, connection_status="disconnected")
    assert reported(messages) == [
        ("device.created", "disconnected"),
        (UPDATE, "failed"),
        (UPDATE, "disconnected"),
    ]
    assert messages[1]["data"]["connection_error_code"] == "no-interface-available"
    assert messages[1]["data"]["last_connection_attempt"]


async def test_a_removal_sends_all_of_it(shim: Served) -> None:
    device_id = await register(shim, 1)
    await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=5")
    channel = await shim.channel()
    await receive(channel)
    await shim.ask("DELETE", f"{P}/{device_id}")
    messages = await until(channel, "device.removed")
    assert reported(messages)[-2:] == [(UPDATE, "disconnected"), ("device.removed", device_id)]
    assert messages[-1]["data"] == {"id": device_id}


async def test_adapters_that_come_and_go_are_reported(shim: Served, hub: HubClient) -> None:
    channel = await shim.channel()
    await receive(channel)
    await hub.simulate("UnplugAdapter", "s", "wlan2")
    assert (await until(channel, "interface.removed"))[-1]["data"] == {"name": "wlan2"}
    await hub.simulate("PlugAdapter", "s", "wlan2")
    assert (await until(channel, "interface.added"))[-1]["data"]["name"] == "wlan2"


async def test_a_daemon_that_goes_and_comes_is_reported_with_a_fresh_snapshot(
    shim: Served, daemon: Hub, hub: HubClient
) -> None:
    await register(shim, 1)
    channel = await shim.channel()
    before = await receive(channel)
    await daemon.end(signal.SIGKILL)
    gone = (await until(channel, "service.updated"))[-1]
    assert gone["data"]["backend_state"] == "unavailable"
    assert gone["data"]["backend_reason"]
    for path in (P, f"{P}/1", f"{P}/wifi/status?device_id=1", f"{P}/wifi/interfaces", "/ws/management/"):
        answer = await shim.get(path)
        assert (answer.status, answer.problem["code"]) == (503, "backend-unavailable")
        assert answer.headers["Retry-After"]
    health = await shim.get("/healthz")
    assert (health.status, health.json["daemon"]) == (200, "unavailable")
    await daemon.start()
    snapshot = await receive(channel)
    assert (snapshot["type"], snapshot["epoch"]) == ("snapshot", before["epoch"])
    assert [one["id"] for one in snapshot["devices"]] == [1]
    back = await receive(channel)
    assert back["type"] == "service.updated"
    assert back["seq"] == snapshot["seq"] + 1 == gone["seq"] + 1
    assert (await shim.get(P)).status == 200


async def test_a_client_that_comes_back_gets_what_it_missed(served: Served, fake_hub: FakeHub) -> None:
    snapshot = await receive(await served.channel())
    fake_hub.happen(DeviceAdded(DEVICE), DeviceRemoved(1))
    since = f"{snapshot['epoch']}:{snapshot['seq']}"
    channel = await served.channel(f"/ws/management/?since={since}")
    assert [(await receive(channel))["type"] for _ in range(2)] == ["device.created", "device.removed"]


async def test_a_client_that_is_current_gets_nothing_but_what_comes(
    served: Served, fake_hub: FakeHub
) -> None:
    snapshot = await receive(await served.channel())
    channel = await served.channel(f"/ws/management/?since={snapshot['epoch']}:{snapshot['seq']}")
    fake_hub.happen(DeviceAdded(DEVICE))
    assert (await receive(channel))["type"] == "device.created"


@pytest.mark.parametrize("since", ["", "x", "x:1", ":", "%00:0"])
async def test_any_other_since_gets_a_snapshot(served: Served, since: str) -> None:
    channel = await served.channel(f"/ws/management/?since={since}")
    assert (await receive(channel))["type"] == "snapshot"


async def test_nobody_goes_on_from_before_the_daemon_was_away(served: Served, fake_hub: FakeHub) -> None:
    channel = await served.channel()
    snapshot = await receive(channel)
    fake_hub.vanish()
    gone = await receive(channel)
    fake_hub.appear(DEVICE)
    for seq in (snapshot["seq"], gone["seq"]):
        again = await served.channel(f"/ws/management/?since={snapshot['epoch']}:{seq}")
        assert (await receive(again))["type"] == "snapshot"


async def test_each_device_has_its_status_sent_when_the_daemon_is_back(
    served: Served, fake_hub: FakeHub
) -> None:
    fake_hub.appear(DEVICE, DeviceRecord(2, state="connected"))
    channel = await served.channel()
    snapshot = await receive(channel)
    fake_hub.vanish()
    fake_hub.appear(DEVICE, DeviceRecord(2, state="disconnected"))
    await until(channel, "service.updated", backend_state="unavailable")
    assert (await receive(channel))["type"] == "snapshot"
    statuses = await until(channel, UPDATE, id=2, connection_status="disconnected")
    assert [message["data"]["id"] for message in statuses if message["type"] == UPDATE] == [1, 2]
    assert statuses[-1]["seq"] == snapshot["seq"] + 4


async def test_the_daemon_is_pinged_only_while_somebody_follows(served: Served, fake_hub: FakeHub) -> None:
    await served.get(P)
    await served.get("/metrics")
    assert fake_hub.relying == 0
    clients = [await served.channel(path) for path in ("/ws/management/", "/ws/squawk/")]
    for one in clients:
        await one.receive_json(timeout=PATIENCE_S)
    async with served.session.get(served.url + "/events") as stream:
        assert await stream.content.readline()
        assert fake_hub.relying == 3
    for one in clients:
        await one.close()
    async with asyncio.timeout(PATIENCE_S):
        await fake_hub.nobody.wait()
    assert fake_hub.relying == 0


async def test_another_shim_is_another_epoch(served: Served, fake_hub: FakeHub) -> None:
    first = await receive(await served.channel())
    async with Served.start(FakeHub(), Settings()) as other:
        since = f"{first['epoch']}:{first['seq']}"
        second = await receive(await other.channel(f"/ws/management/?since={since}"))
    assert second["type"] == "snapshot"
    assert second["epoch"] != first["epoch"]


async def test_the_signal_has_no_number_and_is_not_replayed(served: Served, fake_hub: FakeHub) -> None:
    connected = replace(DEVICE, state="connected", interface="wlan0", signal_strength=50)
    fake_hub.appear(connected)
    channel = await served.channel()
    snapshot = await receive(channel)
    fake_hub.happen(
        changed(replace(connected, signal_strength=52), "SignalStrength"),
        changed(replace(connected, signal_strength=60), "SignalStrength"),
        DeviceRemoved(1),
    )
    reported_signal, removed = await receive(channel), await receive(channel)
    assert reported_signal.keys() == {"type", "time", "data"}
    assert reported_signal["data"] == {"id": 1, "signal_strength": 60}
    assert removed["seq"] == snapshot["seq"] + 1
    again = await served.channel(f"/ws/management/?since={snapshot['epoch']}:{snapshot['seq']}")
    assert (await receive(again))["type"] == "device.removed"


async def test_what_a_client_says_means_nothing(served: Served, fake_hub: FakeHub) -> None:
    channel = await served.channel()
    await receive(channel)
    await channel.send_str("{")
    await channel.send_bytes(b"\xff")
    fake_hub.happen(DeviceAdded(DEVICE))
    assert (await receive(channel))["type"] == "device.created"


async def test_a_client_that_says_too_much_is_sent_away(served: Served) -> None:
    channel = await served.channel()
    await receive(channel)
    await channel.send_str("x" * 100_000)
    message = await channel.receive(timeout=PATIENCE_S)
    assert message.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}
    assert channel.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG


async def test_messages_are_not_compressed(served: Served) -> None:
    channel = await served.channel(compress=15)
    assert not channel.compress


async def test_clients_are_sent_away_when_the_shim_stops(fake_hub: FakeHub) -> None:
    async with aiohttp.ClientSession() as session:
        async with Served.start(fake_hub, Settings()) as served:
            channel = await session.ws_connect(served.url + "/ws/management/")
            await receive(channel)
            reading = asyncio.create_task(channel.receive())
            await asyncio.sleep(0)
        message = await reading
    assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.GOING_AWAY)


class TestStuckClient:
    """A client that joins and never reads."""

    async def join(self, served: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = served.host.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
        writer.write(
            f"GET /ws/management/ HTTP/1.1\r\nHost: {served.host}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert b" 101 " in await reader.readline()
        return reader, writer

    async def test_it_delays_nobody_and_is_given_up(self, served: Served, fake_hub: FakeHub) -> None:
        reader, writer = await self.join(served)
        channel = await served.channel()
        start = (await receive(channel))["seq"]
        long_name = DeviceRecord(1, "n" * 500)
        wanted = 0
        rounds = 60
        for _ in range(rounds):
            for _ in range(200):
                fake_hub.happen(DeviceAdded(long_name))
            for _ in range(200):
                wanted += 1
                assert (await receive(channel))["seq"] == start + wanted
        assert wanted == rounds * 200
        while not reader.at_eof():  # what was on its way, then the end
            try:
                await asyncio.wait_for(reader.read(65536), PATIENCE_S)
            except ConnectionResetError:
                break
        writer.close()


async def test_a_camera_that_does_not_answer_is_reported_as_connected_and_not_reachable(
    shim: Served, hub: HubClient
) -> None:
    silent = {"ssid": Variant("ay", b"SIM-CAM-1")}
    await hub.simulate("SetFault", "sa{sv}", "silent", silent)
    channel = await shim.channel()
    await receive(channel)
    await register(shim, 1)
    await until(channel, "device.updated", connection_status="connected", reachable=True)
    [*_, silent_message] = await until(channel, "device.updated", reachable=False)
    assert silent_message["data"] == (await shim.get(f"{P}/1")).json
    assert silent_message["data"]["connection_status"] == "connected"
    await hub.simulate("SetFault", "sa{sv}", "silent", silent | {"off": Variant("b", True)})
    await until(channel, "device.updated", connection_status="connected", reachable=True)
    await shim.get(f"{P}/wifi/disconnect?device_id=1")
    assert (await shim.get(f"{P}/1")).json["reachable"] is None
