"""The management channel in the dialect of the platform's newest frontend."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.http.channel.test_channel import UPDATE, receive, register, until
from tests.http.fake_hub import FakeHub, changed
from tests.http.served import P, Served
from wifimgrd.client.changes import DeviceAdded, DeviceRemoved, ServiceChanged
from wifimgrd.domain.errors import Busy
from wifimgrd.domain.records import DeviceRecord, ServiceRecord
from wifimgrd.http.channel.message_types import LoggedEvent
from wifimgrd.http.platform import squawk

PATH = "/ws/squawk/"
STATUS = "observation.device.connection_status.update"
ACTION_FAILED = "observation.device.action.failed"
CONNECT = "command.device.device_connection.connect"
DISCONNECT = "command.device.device_connection.disconnect"
DEVICE = DeviceRecord(1, "Front")


def command(kind: str, device_id: Any) -> dict[str, Any]:
    return {"type": kind, "device_connection_id": device_id}


async def joined(served: Served) -> Any:
    """A client that has got `on_connect`."""
    channel = await served.channel(PATH)
    assert await receive(channel) == {"type": "on_connect"}
    return channel


@pytest.mark.parametrize("path", ["/ws/squawk", "/ws/squawk/", "/ws/squawk/?since=x:1"])
async def test_first_comes_on_connect(served: Served, path: str) -> None:
    assert await receive(await served.channel(path)) == {"type": "on_connect"}


async def test_a_status_is_the_channels_own_without_number_and_time(shim: Served) -> None:
    management, channel = await shim.channel(), await joined(shim)
    device_id = await register(shim, 1)
    for step in ("connecting", "connected"):
        expected = (await until(management, "device.connection_status.update", connection_status=step))[-1]
        assert await receive(channel) == {"type": STATUS, "data": expected["data"]}
        assert expected["data"]["id"] == device_id


async def test_a_failed_attempt_is_sent_with_its_message(shim: Served) -> None:
    channel = await joined(shim)
    await register(shim, 1, "wrong-password")
    failed = (await until(channel, STATUS, connection_status="failed"))[-1]["data"]
    assert failed["connection_error_message"]
    await until(channel, STATUS, connection_status="disconnected")


async def test_commands_connect_and_disconnect(shim: Served) -> None:
    device_id = await register(shim, 1)
    await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=10")
    channel = await joined(shim)
    for kind, steps in (
        (DISCONNECT, ["disconnecting", "disconnected"]),
        (CONNECT, ["connecting", "connected"]),
    ):
        await channel.send_json(command(kind, device_id))
        for step in steps:
            await until(channel, STATUS, id=device_id, connection_status=step)


async def test_a_command_that_changes_nothing_sends_the_status_to_both_channels(shim: Served) -> None:
    device_id = await register(shim, 1)
    await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=10")
    channel, management = await joined(shim), await shim.channel()
    await receive(management)
    await channel.send_json(command(CONNECT, device_id))
    [message] = await until(channel, STATUS)
    assert (message["data"]["id"], message["data"]["connection_status"]) == (device_id, "connected")
    await until(management, "device.connection_status.update", **message["data"])


async def test_a_refusal_that_the_status_reports_is_not_sent_twice(shim: Served) -> None:
    for number in (1, 2, 3):
        device_id = await register(shim, number)
        await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=10")
    management = await shim.channel()
    refused = await register(shim, 4)
    await until(management, UPDATE, id=refused, connection_status="disconnected")  # past its first refusal
    channel = await joined(shim)
    await channel.send_json(command(CONNECT, refused))
    failed, disconnected = await receive(channel), await receive(channel)
    assert (failed["type"], disconnected["type"]) == (STATUS, STATUS)
    assert failed["data"]["connection_status"] == "failed"
    assert failed["data"]["connection_error_code"] == "no-interface-available"
    assert failed["data"]["connection_error_message"]
    assert disconnected["data"]["connection_status"] == "disconnected"


async def test_a_refusal_that_no_status_reports_is_sent(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DEVICE)
    channel = await joined(served)
    fake_hub.answer = Busy("Front is disconnecting")
    await channel.send_json(command(CONNECT, 1))
    assert await receive(channel) == {"type": ACTION_FAILED, "data": {"message": "Front is disconnecting"}}
    assert (await receive(channel))["type"] == STATUS
    fake_hub.happen(changed(DEVICE, "State"))
    assert (await receive(channel))["type"] == STATUS


async def test_a_refusal_goes_to_its_client_alone(served: Served, fake_hub: FakeHub) -> None:
    channel, other = await joined(served), await joined(served)
    await channel.send_json(command(CONNECT, 99))
    expected = {"type": ACTION_FAILED, "data": {"message": "there is no camera 99"}}
    assert await receive(channel) == expected
    fake_hub.happen(DeviceAdded(DEVICE), changed(DEVICE, "State"))
    assert (await receive(other))["type"] == STATUS


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "command.system.shutdown"}',
        '{"type": "command.system.reboot"}',
        "no JSON",
        '{"type": "subscribe"}',
    ],
)
async def test_what_is_no_command_for_a_device_is_ignored(
    served: Served, fake_hub: FakeHub, text: str
) -> None:
    channel = await joined(served)
    await channel.send_str(text)
    await channel.send_json(command(CONNECT, 99))  # answered after it
    assert (await receive(channel))["type"] == ACTION_FAILED
    assert fake_hub.asked == []


async def test_messages_without_a_word_in_the_dialect_are_left_out(served: Served, fake_hub: FakeHub) -> None:
    channel = await joined(served)
    fake_hub.happen(
        DeviceAdded(DEVICE),
        changed(DEVICE, "Name"),
        ServiceChanged(ServiceRecord(), frozenset({"BackendState"})),
        DeviceRemoved(1),
        DeviceAdded(DEVICE),
        changed(DEVICE, "State"),
    )
    message = await receive(channel)
    assert message.keys() == {"type", "data"}
    assert (message["type"], message["data"]["id"]) == (STATUS, 1)


async def test_when_the_daemon_is_back_the_list_is_to_be_fetched_anew(
    served: Served, fake_hub: FakeHub
) -> None:
    channel = await joined(served)
    fake_hub.vanish()
    fake_hub.appear(DEVICE)
    assert await receive(channel) == {"type": "on_connect"}


async def test_while_the_daemon_is_away_a_client_is_refused(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.vanish()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await served.channel(PATH)
    assert refused.value.status == 503


async def test_another_site_is_refused(served: Served) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await served.channel(PATH, headers={"Origin": "https://evil.example"})
    assert refused.value.status == 403


async def test_a_plain_request_is_refused(served: Served) -> None:
    assert (await served.get(PATH)).problem["status"] == 400


def test_an_event_is_translated_once_for_all_clients() -> None:
    text = json.dumps({"type": "device.connection_status.update", "seq": 1, "data": {"id": 1}})
    event = LoggedEvent("device.connection_status.update", text, "e:1")
    assert squawk.translated(event) is squawk.translated(event)
