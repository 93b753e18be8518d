"""`wifimgrctl --broker` as a process, at a real broker."""

from __future__ import annotations

import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.cli.running import Ran, line_with, on_terminal, running, wifimgrctl
from tests.message_bus import MessageBusDaemon
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.certificates import Authority
from tests.mqtt.conftest import HUB, Start
from tests.mqtt.fleet_process import device, publish_hub
from tests.mqtt.mosquitto import Mosquitto, broker_without_wildcards, old_broker
from tests.mqtt.observer import observer
from tests.mqtt.test_connection import PASSWORD, authority, client, with_tls
from tests.processes import Hub, quick_bluetooth, running_hub
from wifimgrd.client.json_records import device_json

__all__ = ["authority", "client"]

NO_BUS = "unix:path=/nowhere"
"""The commands need no daemon on this host."""
At = Callable[..., Awaitable[Ran]]


def address(broker: Mosquitto) -> str:
    return f"mqtt://127.0.0.1:{broker.port}"


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon, whose cameras wake fast."""
    async with running_hub(message_bus.address, tmp_path / "state", quick_bluetooth(tmp_path)) as hub:
        yield hub


@pytest.fixture
def at(broker: Mosquitto) -> At:
    """Runs a command at the broker."""

    def run(*line: str, port: int = 0) -> Awaitable[Ran]:
        where = f"mqtt://127.0.0.1:{port}" if port else address(broker)
        return wifimgrctl(NO_BUS, "--broker", where, *line)

    return run


async def online(broker: Mosquitto) -> None:
    async with observer(broker.port) as seen:
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")


async def test_without_hubs(at: At) -> None:
    for command in ("hubs", "devices"):
        ran = await at(command)
        assert (ran.status, ran.out) == (0, "")
        assert "No hub publishes to this broker" in ran.err
        assert (await at(command, "--json")).value == []


async def test_a_broker_without_wildcards_is_named(broker: Mosquitto, at: At) -> None:
    async with broker_without_wildcards(broker.port) as port, observer(broker.port) as seen:
        await publish_hub(seen, "boat")
        for line in (["hubs"], ["devices"], ["connect", "boat/1"], ["monitor"]):
            ran = await at(*line, port=port)
            assert (ran.status, ran.out) == (1, "")
            assert "does not send its retained messages for filters with wildcards" in ran.err
        assert (await at("--json", "hubs", port=port)).value["error"]["code"] == "broker-unavailable"
        assert {topic for topic in seen.retained if "wifimgrd-fleet-" in topic} == set()


async def test_hubs_and_their_devices(hub: Hub, broker: Mosquitto, bridge: BridgeProcess, at: At) -> None:
    del bridge
    device_id = await hub.create(1, name="Front")
    await hub.until(device_id, "connected", 20)
    assert "HUB STATE" not in (await at()).out
    async with observer(broker.port) as seen:
        await publish_hub(seen, "other", devices=2)
        seen.send("wifimgrd/other/availability", b"offline", retain=True)
        topic = f"{HUB}/devices/{device_id}"
        await seen.until(lambda: (seen.record(topic) or {}).get("connection_status") == "connected")
    lines = (await at("hubs")).out.splitlines()
    assert lines[0].split("  ")[0] == "HUB"
    assert [line.split()[:2] for line in lines[1:]] == [["boat", "Online"], ["other", "Offline"]]
    assert "1: 1 connected" in lines[1]
    boat, other = (await at("--json", "hubs")).value
    assert (boat["hub"], boat["online"], boat["connected_devices"]) == ("boat", True, 1)
    assert (other["online"], other["total_devices"], other["last_message"]) == (False, 2, None)

    lines = (await at()).out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["boat", "Online", str(device_id)],
        ["other", "Offline", "1"],
        ["other", "Offline", "2"],
    ]
    first, *_ = (await at("devices", "--json")).value
    expected = json.loads(json.dumps(device_json(hub.client.devices[device_id])))
    assert first["camera"].keys() == expected["camera"].keys()
    read_since = dict.fromkeys(("signal_strength", "tx_bitrate", "rx_bitrate", "camera"))
    assert first | read_since == {"hub": "boat", "hub_online": True, **expected, **read_since}


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_a_camera_of_another_host_is_disconnected_and_connected(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess, at: At, version: str
) -> None:
    del bridge
    device_id = await hub.create(1, name="Front/left")
    await hub.until(device_id, "connected", 20)
    await online(broker)
    async with old_broker(broker.port) as old_port:
        port = broker.port if version == "5" else old_port
        ran = await at("disconnect", f"boat/{device_id}", port=port)
        assert (ran.status, ran.out) == (0, f"boat/Front/left (device {device_id}) is disconnected\n")
        assert hub.client.devices[device_id].state == "disconnected"
        ran = await at("connect", "boat/Front/left", port=port)
        assert ran.status == 0
        assert ran.out.startswith(f"boat/Front/left (device {device_id}) is connected through wlan0")
        ran = await at("--json", "connect", "boat/1", "--no-wait", port=port)
        assert (ran.status, ran.value["hub"], ran.value["connection_status"]) == (0, "boat", "connected")


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_a_camera_of_another_host_sleeps_and_wakes(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess, at: At, version: str
) -> None:
    del bridge
    properties = {"connection_type": "wifi", "bluetooth_address": "F4:DD:11:52:0A:9A", "name": "Nose"}
    device_id = await hub.client.create_device(properties)
    await hub.until(device_id, "connected", 20)
    await online(broker)
    async with old_broker(broker.port) as old_port:
        port = broker.port if version == "5" else old_port
        ran = await at("sleep", "boat/Nose", port=port)
        assert (ran.status, ran.out) == (0, f"boat/Nose (device {device_id}) is asleep\n")
        assert "Asleep" in (await at("devices", port=port)).out
        ran = await at("wake", "boat/Nose", port=port)
        assert (ran.status, ran.out) == (0, f"boat/Nose (device {device_id}) is awake\n")
        assert (await at("sleep", "boat/Nose", "--json", port=port)).value["power_state"] == "asleep"
        ran = await at("connect", "boat/Nose", "--wake", port=port)
        assert (ran.status, ran.out.split(" through ")[0]) == (
            0,
            f"boat/Nose (device {device_id}) is connected",
        )
        ran = await at("unpair", "boat/Nose", port=port)
        assert (ran.status, ran.out.split(" is ")[1]) == (0, "no longer paired with this hub\n")
        ran = await at("pair", "boat/Nose", "--address", "F4:DD:11:52:0A:9A", port=port)
        assert (ran.status, ran.out.split(" is ")[1].split(",")[0]) == (0, "paired with this hub")
        ran = await at("sleep", "boat/Nose", "--no-wait", port=port)
        assert (ran.status, ran.out.split(" is ")[1]) == (0, "going to sleep\n")


async def test_a_camera_waits_for_an_adapter(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess, at: At
) -> None:
    del bridge
    for number in (1, 2, 3):
        await hub.until(await hub.create(number), "connected", 20)
    last = await hub.create(4)
    await online(broker)
    ran = await at("connect", f"boat/{last}")
    assert ran.status == 1
    assert "(no-interface-available)" in ran.err
    for _ in range(2):  # the second waits already
        ran = await at("connect", f"boat/{last}", "--when-free")
        assert ran.status == 0
        assert "is waiting for an adapter" in ran.out
    ran = await at("--json", "connect", f"boat/{last}", "--no-wait")
    assert (ran.status, ran.value["error"]["code"]) == (1, "no-interface-available")


async def test_what_does_not_exist_gets_a_suggestion(
    broker: Mosquitto, bridge: BridgeProcess, hub: Hub, at: At
) -> None:
    await hub.create(1, name="Front")
    await online(broker)
    ran = await at("connect", "boot/1")
    assert ran.status == 1
    assert 'no hub "boot" at this broker; did you mean "boat"' in ran.err
    ran = await at("connect", "boat/Frunt")
    assert ran.status == 1
    assert 'there is no device "Frunt" at boat; did you mean "Front"?' in ran.err
    assert (await at("--json", "connect", "boat/9")).value["error"]["code"] == "device-not-found"
    await bridge.end()
    ran = await at("--json", "disconnect", "boat/1")
    assert (ran.status, ran.value["error"]["code"]) == (1, "hub-offline")


async def test_a_hub_that_does_not_answer(broker: Mosquitto, at: At) -> None:
    async with observer(broker.port) as seen:
        await publish_hub(seen, "boat")
        ran = await at("connect", "boat/1", "--timeout", "0.5")
    assert ran.status == 1
    assert "is still disconnected after 0.5 s (timeout)" in ran.err


async def test_no_text_of_the_broker_reaches_the_terminal_raw(broker: Mosquitto) -> None:
    evil = "\x1b[2J\x9b31m\u202eFront\r\n"
    async with observer(broker.port) as seen:
        await publish_hub(seen, "boat")
        seen.send(f"{HUB}/devices/1", device(1, evil), retain=True)
        seen.send(f"{HUB}/devices/2", b"\x1b]0;title\x07", retain=True)
        await seen.until(lambda: f"{HUB}/devices/2" in seen.retained)
        for line in (["devices"], ["hubs"], ["connect", "boat/1", "--timeout", "0.3"], ["connect", "boat/x"]):
            async with on_terminal(NO_BUS, "--broker", address(broker), *line, NO_COLOR="1") as terminal:
                await terminal.end()
                shown = terminal.seen.replace("\r\x1b[K", "").replace("\r\n", "")
                assert not {"\x1b", "\x9b", "\x07", "\u202e", "\r"}.intersection(shown)
        async with on_terminal(NO_BUS, "--broker", address(broker), "monitor", NO_COLOR="1") as terminal:
            await terminal.until("watching 1 hub")
            seen.send(f"{HUB}/devices/1", b"", retain=True)
            await terminal.until("removed")
            assert "\\x1b[2J" in terminal.seen
            assert "\x1b[2J" not in terminal.seen
            assert await terminal.interrupt() == 0


async def line_of(process: Process, kind: str) -> dict[str, object]:
    value: dict[str, object] = json.loads(await line_with(process, f'"type": "{kind}"'))
    return value


async def test_the_monitor_goes_on_after_a_restart_of_the_broker(
    hub: Hub, broker: Mosquitto, bridge: BridgeProcess
) -> None:
    del bridge
    await online(broker)
    async with running(NO_BUS, "--broker", address(broker), "--json", "monitor") as process:
        snapshot = await line_of(process, "snapshot")
        assert (snapshot["hub"], snapshot["online"], snapshot["devices"]) == ("boat", True, [])
        await line_of(process, "broker.connected")
        device_id = await hub.create(1)
        created = await line_of(process, "device.created")
        assert (created["hub"], created["data"]["id"]) == ("boat", device_id)  # type: ignore[index]
        await broker.kill()
        await line_of(process, "broker.lost")
        await broker.start()
        await line_of(process, "broker.connected")
        await hub.client.update_device(device_id, {"name": "Bow"})
        await line_with(process, '"name": "Bow"')  # the bridge, too, is connected again
        await hub.client.remove_device(device_id)
        assert (await line_of(process, "device.removed"))["data"] == {"id": device_id}


async def test_a_monitor_without_a_broker_ends(broker: Mosquitto, at: At) -> None:
    await broker.kill()
    ran = await at("monitor")
    assert ran.status == 1
    assert "cannot connect" in ran.err
    assert (await at("--json", "hubs")).value["error"]["code"] == "broker-unavailable"


async def test_tls_certificates_and_passwords(
    hub: Hub, broker: Mosquitto, bridges: Start, authority: Authority, client: str
) -> None:
    assert hub.client.available
    await with_tls(broker, authority)
    where = f"mqtts://127.0.0.1:{broker.port}"
    bridge = bridges(client, where)
    await bridge.start()
    await bridge.until_logged("broker_connected")
    folder = authority.folder
    files = ["--ca-file", str(authority.file), "--certificate", str(folder / "boat.pem")]
    files += ["--key", str(folder / "boat.key")]
    line = ["--broker", where, "hubs", *files, "--user", "boat"]
    ran = await wifimgrctl(NO_BUS, *line, "--password-file", str(folder / "password"))
    assert (ran.status, ran.err) == (0, "")
    assert "boat" in ran.out
    async with on_terminal(NO_BUS, *line) as terminal:
        await terminal.until("Password for boat at mqtts://")
        terminal.type(f"{PASSWORD}\n")
        assert await terminal.end() == 0
        assert PASSWORD not in terminal.seen
    async with on_terminal(NO_BUS, *line) as terminal:
        await terminal.until("Password for boat")
        assert await terminal.interrupt() == 130
    ran = await wifimgrctl(NO_BUS, *line)
    assert ran.status == 2
    assert "--password-file" in ran.err
    (folder / "wrong").write_text("wrong password")
    ran = await wifimgrctl(NO_BUS, *line, "--password-file", str(folder / "wrong"))
    assert ran.status == 1
    assert "wrong password" not in ran.err
    ran = await wifimgrctl(NO_BUS, "--broker", where, "hubs")
    assert ran.status == 1
    assert "is not signed by an authority that this host trusts" in ran.err
    ran = await wifimgrctl(NO_BUS, "--broker", where, "--ca-file", "/nonexistent", "hubs")
    assert ran.status == 1
    assert "/nonexistent cannot be used: No such file or directory" in ran.err


@pytest.mark.parametrize(
    "line",
    [
        ["hubs"],
        ["--user", "boat", "devices"],
        ["--password-file", "/x", "add", "--ssid", "x", "--open"],
        ["--broker", "mqtts://user:geheim@broker", "hubs"],
        ["--broker", "https://broker", "hubs"],
        ["--broker", "mqtt://192.0.2.1", "hubs"],
        ["--broker", "mqtt://127.0.0.1", "--ca-file", "/x", "hubs"],
        ["--broker", "mqtts://127.0.0.1", "--key", "/x", "hubs"],
        ["--broker", "mqtts://127.0.0.1", "--password-file", "/x", "hubs"],
        ["--broker", "mqtts://127.0.0.1", "--prefix", "a/#", "hubs"],
        ["--broker", "mqtts://127.0.0.1", "status"],
        ["--broker", "mqtts://127.0.0.1", "add", "--ssid", "x", "--open"],
        ["--broker", "mqtts://127.0.0.1", "connect", "--all"],
        ["--broker", "mqtts://127.0.0.1", "connect", "Front"],
        ["--broker", "mqtts://127.0.0.1", "connect", "/1"],
    ],
)
async def test_wrong_usage(line: list[str]) -> None:
    ran = await wifimgrctl(NO_BUS, *line)
    assert (ran.status, ran.out) == (2, "")
    assert "geheim" not in ran.err


async def test_the_mqtt_library_is_needed_for_a_broker_alone(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "paho").mkdir()
    (tmp_path / "paho" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'paho'\", name='paho')\n"
    )
    without = {"PYTHONPATH": str(tmp_path)}
    assert (await wifimgrctl(hub.address, "status", **without)).status == 0
    ran = await wifimgrctl(hub.address, "--broker", "mqtts://127.0.0.1", "hubs", **without)
    assert (ran.status, ran.out) == (1, "")
    assert "python3-paho-mqtt" in ran.err
