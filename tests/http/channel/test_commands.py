"""Commands that clients send over the management channel."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from tests.http.channel.test_channel import UPDATE, receive, register, until
from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.client.changes import DeviceAdded
from wifimgrd.client.command_rate import COMMANDS_AT_ONCE, PERIOD_S, CommandRate
from wifimgrd.domain.errors import Busy, NotAuthorized
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http.channel import _commands as commands_module
from wifimgrd.http.channel._commands import parse_command
from wifimgrd.http.settings import Settings

CONNECT = "command.device.device_connection.connect"
DISCONNECT = "command.device.device_connection.disconnect"
FAILED = "command.failed"
ACTION_FAILED = "observation.device.action.failed"
DEVICE = DeviceRecord(1, "Front")


def command(kind: str, device_id: Any) -> dict[str, Any]:
    return {"type": kind, "device_connection_id": device_id}


@pytest.fixture
async def channel(shim: Served) -> Any:
    """A client of the channel on the real daemon, past its snapshot."""
    channel = await shim.channel()
    await receive(channel)
    return channel


async def connected(shim: Served, number: int) -> int:
    """A simulated camera that is connected."""
    device_id = await register(shim, number)
    await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=10")
    return device_id


async def test_a_device_is_disconnected_and_connected(shim: Served, channel: Any) -> None:
    device_id = await connected(shim, 1)
    await until(channel, UPDATE, connection_status="connected")
    for kind, steps in (
        (DISCONNECT, ["disconnecting", "disconnected"]),
        (CONNECT, ["connecting", "connected"]),
    ):
        await channel.send_json(command(kind, device_id))
        for step in steps:
            await until(channel, UPDATE, id=device_id, connection_status=step)


@pytest.mark.parametrize("kind", [CONNECT, DISCONNECT])
async def test_a_command_that_changes_nothing_sends_the_status_anew_to_all(
    shim: Served, channel: Any, kind: str
) -> None:
    device_id = await connected(shim, 1)
    status = "connected"
    if kind == DISCONNECT:
        await shim.get(f"{P}/wifi/disconnect?device_id={device_id}")
        status = "disconnected"
    other = await shim.channel()
    await receive(other)
    await channel.send_json(command(kind, device_id))
    [message] = await until(other, UPDATE)
    assert (message["data"]["id"], message["data"]["connection_status"]) == (device_id, status)
    while await receive(channel) != message:
        pass


async def test_a_device_is_named_by_a_text_of_digits_as_well(shim: Served, channel: Any) -> None:
    device_id = await connected(shim, 1)
    await channel.send_json(command(DISCONNECT, str(device_id)))
    await until(channel, UPDATE, id=device_id, connection_status="disconnecting")


async def test_without_a_free_interface_the_refusal_is_sent_to_one_and_the_failure_to_all(
    shim: Served, channel: Any
) -> None:
    for number in (1, 2, 3):
        await connected(shim, number)
    other = await shim.channel()
    await receive(other)
    refused = await register(shim, 4)
    for client in (channel, other):  # past its first refusal
        await until(client, UPDATE, id=refused, connection_status="disconnected")
    await channel.send_json(command(CONNECT, refused))
    failure = await until_failed(channel)
    assert (failure["code"], failure["device_connection_id"]) == ("no-interface-available", refused)
    seen = await until(other, UPDATE, id=refused, connection_status="disconnected")
    assert [one["data"]["connection_status"] for one in seen if one["type"] == UPDATE][-2:] == [
        "failed",
        "disconnected",
    ]
    assert FAILED not in [one["type"] for one in seen]


async def test_a_device_waits_for_an_adapter_where_the_command_says_so(shim: Served, channel: Any) -> None:
    for number in (1, 2, 3):
        await connected(shim, number)
    waiting = await register(shim, 4)
    await channel.send_json(command(CONNECT, waiting) | {"when_free": True})
    while (message := await receive(channel))["data"].get("waiting_since") is None:
        assert message["type"] != FAILED
    assert message["data"]["id"] == waiting


async def test_when_free_is_a_boolean(shim: Served, channel: Any) -> None:
    device = await register(shim, 1)
    await channel.send_json(command(CONNECT, device) | {"when_free": "yes"})
    assert (await until_failed(channel))["code"] == "invalid-request"


async def until_failed(channel: Any) -> Any:
    """The next answer to a command of this client."""
    while (message := await receive(channel))["type"] != FAILED:
        pass
    return message


async def test_commands_for_one_device_are_carried_out_one_after_the_other(
    served: Served, fake_hub: FakeHub
) -> None:
    fake_hub.appear(DEVICE, DeviceRecord(2, "Rear"))
    channel = await served.channel()
    await receive(channel)
    answers: asyncio.Queue[None] = asyncio.Queue()

    async def answer_later(*asked: Any) -> None:
        fake_hub.asked.append(asked)
        if asked[1] == 1:
            await answers.get()

    fake_hub.do = answer_later  # type: ignore[method-assign]
    for kind, device_id in ((DISCONNECT, 1), (CONNECT, 1), (CONNECT, 2)):
        await channel.send_json(command(kind, device_id))
    assert (await receive(channel))["data"]["id"] == 2
    assert [one[:2] for one in fake_hub.asked] == [("disconnect", 1), ("connect", 2)]
    for _ in range(2):
        answers.put_nowait(None)
        assert (await receive(channel))["data"]["id"] == 1
    assert [one[:2] for one in fake_hub.asked][-1] == ("connect", 1)


async def test_an_id_that_no_device_has_is_answered_to_the_client_alone(
    served: Served, fake_hub: FakeHub
) -> None:
    channel, other = await served.channel(), await served.channel()
    await receive(channel)
    await receive(other)
    await channel.send_json(command(CONNECT, 99))
    assert await receive(channel) == {
        "type": FAILED,
        "command": CONNECT,
        "device_connection_id": 99,
        "code": "device-not-found",
        "message": "there is no camera 99",
    }
    fake_hub.happen(DeviceAdded(DEVICE))
    for one in (channel, other):
        assert (await receive(one))["type"] == "device.created"


@pytest.mark.parametrize(
    ("device_id", "echo"),
    [("abc", "abc"), ("", ""), ("-1", "-1"), ("１", "１"), (1.5, 1.5), (True, True), (None, None),
     ([1], None), ({}, None), ("1" * 21 + "x", None)],
)  # fmt: skip
async def test_an_id_that_is_none_is_not_valid(
    served: Served, fake_hub: FakeHub, device_id: Any, echo: Any
) -> None:
    fake_hub.appear(DEVICE)
    channel = await served.channel()
    await receive(channel)
    await channel.send_json(command(DISCONNECT, device_id))
    answer = await receive(channel)
    assert (answer["type"], answer["command"], answer["code"]) == (FAILED, DISCONNECT, "invalid-request")
    assert answer["device_connection_id"] == echo
    assert fake_hub.asked == []


async def test_a_command_without_an_id_is_not_valid(served: Served) -> None:
    channel = await served.channel()
    await receive(channel)
    await channel.send_json({"type": CONNECT})
    answer = await receive(channel)
    assert (answer["code"], answer["device_connection_id"]) == ("invalid-request", None)


@pytest.mark.parametrize("error", [NotAuthorized("polkit said no")])
async def test_what_polkit_refuses_has_no_status(served: Served, fake_hub: FakeHub, error: Exception) -> None:
    fake_hub.appear(DEVICE)
    fake_hub.answer = error
    channel = await served.channel()
    await receive(channel)
    await channel.send_json(command(CONNECT, 1))
    assert (await receive(channel))["code"] == "not-authorized"
    fake_hub.happen(DeviceAdded(DeviceRecord(2)))
    assert (await receive(channel))["type"] == "device.created"


@pytest.mark.parametrize(
    ("error", "code"),
    [(Busy("disconnecting"), "busy"), (RuntimeError("secret inside"), "internal")],
)
async def test_any_other_refusal_is_followed_by_the_status(
    served: Served, fake_hub: FakeHub, error: Exception, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_hub.appear(DEVICE)
    fake_hub.answer = error
    channel = await served.channel()
    await receive(channel)
    await channel.send_json(command(CONNECT, 1))
    answer, status = await receive(channel), await receive(channel)
    assert answer["code"] == code
    assert "secret" not in json.dumps(answer)
    assert (status["type"], status["data"]["id"]) == (UPDATE, 1)
    capsys.readouterr()


async def test_a_refusal_that_no_status_reports_has_a_message_that_the_platforms_frontend_shows(
    served: Served, fake_hub: FakeHub
) -> None:
    fake_hub.appear(DEVICE)
    fake_hub.answer = Busy("Front is disconnecting")
    channel = await served.channel()
    await channel.send_json(command(CONNECT, 1))
    assert (await until(channel, ACTION_FAILED))[-1]["data"] == {"message": "Front is disconnecting"}


async def test_while_the_daemon_is_away_a_command_is_refused(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DEVICE)
    channel = await served.channel()
    await receive(channel)
    fake_hub.vanish()
    await channel.send_json(command(CONNECT, 1))
    assert (await receive(channel))["type"] == "service.updated"
    assert (await receive(channel))["code"] == "backend-unavailable"
    assert await receive(channel) == {"type": ACTION_FAILED, "data": {"message": "wifimgrd is not running"}}


async def test_a_disconnect_that_takes_long_is_no_failure(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DEVICE)
    channel = await served.channel()
    await receive(channel)
    await channel.send_json(command(DISCONNECT, 1))
    assert (await receive(channel))["type"] == UPDATE


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "1", '"x"', "null", "{}", '{"type": null}', '{"type": ["x"]}', "[" * 60_000,
     '{"type": "command.system.shutdown"}', '{"type": "command.device.device_connection.forget"}',
     '{"device_connection_id": 1}'],
)  # fmt: skip
def test_what_is_no_such_command_is_ignored(text: str) -> None:
    assert parse_command(text) is None


async def test_a_message_may_have_64_kb(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DEVICE)
    channel = await served.channel()
    await receive(channel)
    text = json.dumps(command(CONNECT, 1) | {"padding": ""})
    await channel.send_str(text[:-2] + "x" * (64 * 1024 - len(text)) + text[-2:])
    assert (await receive(channel))["type"] == UPDATE
    assert fake_hub.asked == [("connect", 1, 0)]


async def test_more_than_twenty_commands_a_second_are_refused(
    served: Served, fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = partial(CommandRate, period_s=60.0)  # a busy machine takes longer than a second
    monkeypatch.setattr(commands_module, "CommandRate", slow)
    fake_hub.appear(DEVICE)
    channel, other = await served.channel(), await served.channel()
    for one in (channel, other):
        await receive(one)
    for _ in range(COMMANDS_AT_ONCE + 5):
        await channel.send_json(command(CONNECT, 1))
    answers = [await receive(channel) for _ in range(COMMANDS_AT_ONCE + 5)]
    refused = [one for one in answers if one["type"] == FAILED]
    assert [one["code"] for one in refused] == ["too-many-requests"] * 5
    assert len(fake_hub.asked) == COMMANDS_AT_ONCE
    await other.send_json(command(CONNECT, 1))
    for _ in range(COMMANDS_AT_ONCE + 1):
        assert (await receive(other))["type"] == UPDATE


async def codes(channel: Any, count: int) -> set[str]:
    """The codes of the next refusals."""
    found: list[str] = []
    while len(found) < count:
        message = await receive(channel)
        found += [message["code"]] if message["type"] == FAILED else []
    return set(found)


@pytest.mark.parametrize("options", [{"device_connection_id": 1}, {"group": "front"}], ids=str)
async def test_more_than_a_hub_carries_out_do_not_wait(
    served: Served, fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """They would be carried out for hours, also after their client has gone."""
    may_end = asyncio.Event()

    async def hang(*_: object, **__: object) -> None:
        await may_end.wait()
        raise Busy("Front is disconnecting")

    monkeypatch.setattr(CommandRate, "admits", lambda *_: True)
    monkeypatch.setattr(commands_module, "carry_out", hang)
    monkeypatch.setattr(commands_module, "connect_group", hang)
    fake_hub.appear(DEVICE)
    channel = await served.channel()
    await receive(channel)
    for _ in range(commands_module.MOST_UNFINISHED + 1):
        await channel.send_json({"type": CONNECT} | options)
    assert (await receive(channel))["code"] == "too-many-requests"
    may_end.set()
    assert await codes(channel, commands_module.MOST_UNFINISHED) == {"busy"}
    await channel.send_json({"type": CONNECT} | options)
    assert await codes(channel, 1) == {"busy"}


def test_the_rate_is_that_of_any_second() -> None:
    rate = CommandRate()
    assert all(rate.admits(number / 100) for number in range(COMMANDS_AT_ONCE))
    assert not rate.admits(PERIOD_S - 0.001)
    assert rate.admits(PERIOD_S)
    assert not rate.admits(PERIOD_S)
    assert rate.admits(PERIOD_S + 0.01)


class TestOtherName:
    """Without a token, and on a name that is no loopback name."""

    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(hosts=frozenset({"hub.example"}))

    @pytest.mark.parametrize("path", ["/ws/management/", "/ws/squawk/"])
    async def test_who_shows_no_origin_may_listen_and_not_command(
        self, served: Served, fake_hub: FakeHub, path: str
    ) -> None:
        fake_hub.appear(DEVICE)
        channel = await served.channel(path, headers={"Host": "hub.example"})
        await receive(channel)
        await channel.send_json(command(CONNECT, 1))
        assert "the origin of this request is unknown" in json.dumps(await receive(channel))
        assert fake_hub.asked == []

    async def test_a_page_of_that_name_may_command(self, served: Served, fake_hub: FakeHub) -> None:
        fake_hub.appear(DEVICE)
        headers = {"Host": "hub.example", "Origin": "http://hub.example"}
        channel = await served.channel(headers=headers)
        await receive(channel)
        await channel.send_json(command(CONNECT, 1))
        assert (await receive(channel))["type"] == UPDATE
