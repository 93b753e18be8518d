"""The connection to the broker: TLS, passwords, versions of MQTT, brokers that do not behave."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ceilings import most_mb
from tests.mqtt.certificates import Authority, Validity
from tests.mqtt.conftest import HUB, Start
from tests.mqtt.fleet_view import access
from tests.mqtt.mosquitto import Mosquitto, old_broker
from tests.mqtt.observer import observer
from tests.processes import Hub
from tests.stream_server import stream_server
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt import _broker, _library
from wifimgrd.mqtt._access import Tls
from wifimgrd.mqtt._broker import Broker
from wifimgrd.mqtt._connection import BrokerError
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics

PASSWORD = "correct horse"
EX_CONFIG = 78


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates", "authority")


@pytest.fixture
def client(authority: Authority) -> str:
    """Keys of a bridge with a client certificate and a password."""
    certificate, key = authority.sign("boat")
    password = authority.folder / "password"
    password.write_text(f"{PASSWORD}\n")
    return (
        f'ca_file = "{authority.file}"\ncertificate = "{certificate}"\nkey = "{key}"\n'
        f'user = "boat"\npassword_file = "{password}"\ncommands = true\n'
    )


def hash_passwords(file: Path) -> None:
    subprocess.run(["mosquitto_passwd", "-U", file], check=True)


async def with_tls(broker: Mosquitto, authority: Authority, validity: Validity = Validity.NOW) -> None:
    """Start the broker anew, for clients with a certificate and a password alone."""
    certificate, key = authority.sign("broker", validity)
    passwords = authority.folder / "passwords"
    passwords.write_text(f"boat:{PASSWORD}\n")
    hash_passwords(passwords)
    await broker.kill()
    broker.lines = (
        "allow_anonymous false",
        f"password_file {passwords}",
        f"cafile {authority.file}",
        f"certfile {certificate}",
        f"keyfile {key}",
        "require_certificate true",
        "max_inflight_messages 2",
    )
    await broker.start()


def observing(authority: Authority) -> Settings:
    """An observer's own certificate."""
    certificate, key = authority.sign("observer")
    address = BrokerAddress("127.0.0.1", 0, tls=True)
    tls = Tls(authority.file, certificate, key)
    return Settings(address, Topics("x", "x"), user="boat", password=PASSWORD, tls=tls)


async def test_over_tls_a_camera_with_a_password_is_registered(
    hub: Hub, broker: Mosquitto, bridges: Start, authority: Authority, client: str
) -> None:
    await with_tls(broker, authority)
    bridge = bridges(client, f"mqtts://127.0.0.1:{broker.port}")
    bridge.is_cold = True
    await bridge.start()
    async with observer(broker.port, observing(authority)) as seen:
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
        options = {"codename": "insta360-x3", "connection_type": "wifi", "ssid": "SIM-CAM-1"}
        command = {"command": "create", "options": options | {"password": "camera-pass-1"}}
        answer = await seen.command(f"{HUB}/command", command, f"{HUB}/result")
        assert answer["ok"]
        await hub.until(answer["device_id"], "connected", 20)
        topic = f"{HUB}/devices/{answer['device_id']}"
        await seen.until(lambda: (seen.record(topic) or {}).get("connection_status") == "connected")
        assert bridge.rss_mb <= most_mb("wifimgrd-mqtt")
        sent = b"".join(one.payload for one in seen.messages if one.topic != f"{HUB}/command")
    assert b"camera-pass-1" not in sent
    assert "camera-pass-1" not in bridge.log.read_text()
    assert PASSWORD not in bridge.log.read_text()


async def test_a_wrong_password_is_logged_and_not_shown(
    broker: Mosquitto, bridges: Start, authority: Authority, client: str
) -> None:
    await with_tls(broker, authority)
    (authority.folder / "password").write_text("wrong password")
    bridge = bridges(client, f"mqtts://127.0.0.1:{broker.port}")
    await bridge.start()
    line = await bridge.until_logged("broker_unavailable")
    assert "authorized" in line or "wrong user or password" in line
    assert "wrong password" not in bridge.log.read_text()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("foreign", "is not signed by an authority that this host trusts"),
        ("expired", "has expired: renew it, or correct the clock of this host"),
        ("later", "is not valid yet: is the clock of this host right?"),
    ],
)
async def test_a_broker_with_a_wrong_certificate_gets_nothing(
    broker: Mosquitto, bridges: Start, authority: Authority, client: str, tmp_path: Path, kind: str, said: str
) -> None:
    validity = {"expired": Validity.EXPIRED, "later": Validity.LATER}.get(kind, Validity.NOW)
    await with_tls(
        broker, Authority(tmp_path / "foreign", "foreign") if kind == "foreign" else authority, validity
    )
    bridge = bridges(client, f"mqtts://127.0.0.1:{broker.port}")
    await bridge.start()
    assert f"the certificate of mqtts://127.0.0.1:{broker.port} {said}" in await bridge.until_logged(
        "broker_unavailable"
    )
    assert "boat" not in (broker.folder / "mosquitto.log").read_text()


@pytest.mark.parametrize(
    ("validity", "said"),
    [
        (Validity.EXPIRED, "the broker refuses this client's certificate: it has expired"),
        (None, "the broker requires a client certificate at this port"),
    ],
)
async def test_a_certificate_that_the_broker_refuses_is_logged_with_its_reason(
    broker: Mosquitto,
    bridges: Start,
    authority: Authority,
    client: str,
    validity: Validity | None,
    said: str,
) -> None:
    await with_tls(broker, authority)
    if validity is None:
        client = f'ca_file = "{authority.file}"'
    else:
        authority.sign("boat", validity)
    bridge = bridges(client, f"mqtts://127.0.0.1:{broker.port}")
    await bridge.start()
    line = await bridge.until_logged("broker_unavailable")
    assert said in line


@pytest.mark.parametrize("refusal", [b"\x20\x02\x00\x01", b""], ids=["says so", "closes"])
async def test_a_broker_of_mqtt_3_1_1_is_used(
    hub: Hub, broker: Mosquitto, bridges: Start, refusal: bytes
) -> None:
    async with old_broker(broker.port, refusal) as port:
        bridge = bridges("commands = true", f"mqtt://127.0.0.1:{port}")
        await bridge.start()
        assert "mqtt=3.1.1" in await bridge.until_logged("broker_connected")
        async with observer(broker.port) as seen:
            await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
            answer = await seen.command(
                f"{HUB}/devices/7/command", {"command": "connect"}, f"{HUB}/devices/7/result"
            )
            assert answer["code"] == "device-not-found"
            seen.send(f"{HUB}/devices/77", b"rubbish", retain=True)
            device = await hub.create(1)
            await seen.until(lambda: seen.record(f"{HUB}/devices/{device}"))
        assert await bridge.end() == 0


REFUSALS = {
    "closes": b"",
    "says nothing": None,
    "refuses by a code of 3.1.1": b"\x20\x02\x00\x02",
    "accepts in 3.1.1, and closes": b"\x20\x02\x00\x00",
    "sends rubbish": b"\xff" * 100,
}


async def connect(broker: Broker) -> bool:
    """Connect, and return whether that was with MQTT 5."""
    connection = await broker.connect("client", None, lambda _: None, lambda: None)
    connection.disconnect()
    return connection.is_v5


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_a_broker_that_does_not_answer_in_mqtt_5_gets_3_1_1_next(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch, refusal: bytes | None
) -> None:
    monkeypatch.setattr("wifimgrd.mqtt._connection._ACCEPT_S", 0.5)
    async with old_broker(broker.port, refusal) as port:
        assert not await connect(Broker(access(port)))


async def test_a_broker_that_had_mqtt_5_gets_no_other_version_soon_after(broker: Mosquitto) -> None:
    client = Broker(access(broker.port))
    assert await connect(client)
    await broker.kill()
    tried = 0

    async def close(_: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        nonlocal tried
        tried += 1

    async with stream_server(close, port=broker.port):
        for attempts in (1, 2, 3, 5):
            with pytest.raises(BrokerError, match="limit"):
                await connect(client)
            assert tried == attempts, "the fourth time it may be another broker, of 3.1.1 alone"


@pytest.mark.parametrize("ends_together", [False, True])
async def test_a_connection_that_comes_up_for_nobody_is_closed(
    monkeypatch: pytest.MonkeyPatch, ends_together: bool
) -> None:
    """As when the bridge is stopped, or its time is up, while a broker's name is being looked up."""
    loop, looked_up, ended = asyncio.get_running_loop(), threading.Event(), asyncio.Event()
    began, connect = asyncio.Event(), _library.connect_socket

    def connect_late(*arguments: Any, **options: Any) -> None:
        loop.call_soon_threadsafe(began.set)
        looked_up.wait()
        connect(*arguments, **options)
        if ends_together:  # in the turn of the loop in which it hears of the connection
            loop.call_soon_threadsafe(lambda: loop.call_soon(connecting.cancel))

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()
        ended.set()

    monkeypatch.setattr(_broker, "connect_socket", connect_late)
    async with stream_server(serve) as port, asyncio.timeout(30):
        broker = Broker(access(port))
        connecting = asyncio.create_task(broker.connect("x", None, lambda _: None, lambda: None))
        await began.wait()
        if not ends_together:
            connecting.cancel()
            await asyncio.wait([connecting])
        looked_up.set()
        await asyncio.wait([connecting])
        assert connecting.cancelled()
        gc.disable()  # which would close it at some time
        await ended.wait()
        gc.enable()


async def test_a_broker_that_accepts_and_says_nothing_does_not_hold_up_the_stop(bridges: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        bridge = bridges("", f"mqtt://127.0.0.1:{silent.getsockname()[1]}")
        await bridge.start()
        await bridge.until_logged("started")
        assert await bridge.end() == 0


async def test_a_broker_that_sends_rubbish_is_tried_again(bridges: Start) -> None:
    tried = asyncio.Event()
    answers = [b"\x30\x03\xff\xff\xff", b"\x20\x7f" + b"\xff" * 127]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(answers.pop() if answers else b"\xff" * 100)
        if not answers:
            tried.set()
        await reader.read()

    async with stream_server(serve) as port:
        bridge = bridges("", f"mqtt://127.0.0.1:{port}")
        await bridge.start()
        await asyncio.wait_for(tried.wait(), 60)
        assert await bridge.end() == 0


async def test_a_packet_that_is_too_large_is_not_read() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(b"\x20\x03\x00\x00\x00" + b"\x30\xff\xff\xff\x7f")  # CONNACK, 256 MB announced
        await reader.read()

    async with stream_server(serve) as port:
        broker = Broker(access(port))
        connection = await broker.connect("client", None, lambda _: None, lambda: None)
        assert "too large" in await asyncio.wait_for(connection.closed, 60)


async def test_a_user_without_rights_is_logged(broker: Mosquitto, bridges: Start, tmp_path: Path) -> None:
    rules = tmp_path / "acl"
    rules.write_text("topic readwrite wifimgrd/other/#\n")
    await broker.kill()
    broker.lines = ("allow_anonymous true", f"acl_file {rules}")
    await broker.start()
    bridge = bridges()
    await bridge.start()
    assert "may this user write below wifimgrd/boat/" in await bridge.until_logged("broker_unavailable")


async def test_a_configuration_that_cannot_be_used_stops_the_start(bridges: Start) -> None:
    bridge = bridges("", "mqtt://192.0.2.1")
    await bridge.start()
    assert bridge.process is not None
    assert await asyncio.wait_for(bridge.process.wait(), 30) == EX_CONFIG
    assert "[mqtt]" in bridge.log.read_text() or "mqtt.broker" in bridge.log.read_text()


async def test_without_tls_at_the_broker_the_log_says_so(
    broker: Mosquitto, bridges: Start, client: str
) -> None:
    bridge = bridges(client, f"mqtts://127.0.0.1:{broker.port}")
    await bridge.start()
    line = await bridge.until_logged("broker_unavailable")
    assert "is it the port of mqtt://?" in line
