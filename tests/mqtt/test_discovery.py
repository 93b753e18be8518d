"""The messages for Home Assistant's discovery, and what the broker retains of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB, Start
from tests.mqtt.mosquitto import Mosquitto, old_broker
from tests.mqtt.observer import Observer, observer
from tests.processes import Hub
from wifimgrd.client.commands import RecordingOrder, recording_order
from wifimgrd.config import catalog
from wifimgrd.config.configuration import Config, Http, Mqtt
from wifimgrd.domain.commands import CONNECT, DISCONNECT, SLEEP, START_RECORDING, STOP_RECORDING, WAKE
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.domain.rig import Everyone
from wifimgrd.mqtt._command_messages import CommandMessage, parse_command
from wifimgrd.mqtt._discovery import Discovery, parse_prefix, retained_topics
from wifimgrd.mqtt._discovery_rights import LOSSES, DiscoveryRights
from wifimgrd.mqtt._records import RetainedRecords
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics

TOPICS = Topics("wifimgrd", "boat", ("homeassistant",))
DISCOVERY = Discovery(TOPICS, "homeassistant", commands=True)
CAMERA = DeviceRecord(3, name="Front", codename="insta360-x3")
SLEEPER = replace(CAMERA, auto_wake=False)
RECORDER = replace(CAMERA, camera=CameraRecord())
EVERYTHING = replace(SLEEPER, camera=CameraRecord())
HUB_TOPIC = "homeassistant/device/wifimgrd_boat_hub/config"
REQUIRED = {
    "binary_sensor": {"unique_id", "state_topic"},
    "sensor": {"unique_id", "state_topic"},
    "switch": {"unique_id", "state_topic", "command_topic"},
    "button": {"unique_id", "command_topic"},
}


def camera_topic(device_id: int) -> str:
    return f"homeassistant/device/wifimgrd_boat_{device_id}/config"


def message(sent: tuple[str, bytes]) -> Any:
    return json.loads(sent[1])


def templates(value: Any) -> list[str]:
    """The templates in a message, in order."""
    if isinstance(value, list):
        return [one for inner in value for one in templates(inner)]
    if not isinstance(value, dict):
        return []
    found = [text for name, text in value.items() if name.endswith("_template")]
    return found + [one for inner in value.values() for one in templates(inner)]


# -- the messages


@pytest.mark.parametrize(
    "sent", [DISCOVERY.camera(EVERYTHING), DISCOVERY.hub("0.1.0", ["wlan0", "wlan1"], records=True)]
)
def test_each_component_has_what_home_assistant_requires(sent: tuple[str, bytes]) -> None:
    config = message(sent)
    assert config["device"]["identifiers"]
    assert config["device"]["name"]
    assert config["origin"]["name"] == "wifimgrd"
    shared = {"state_topic"} & config.keys()
    for component in config["components"].values():
        assert REQUIRED[component["platform"]] <= component.keys() | shared
        availability = {"availability", "availability_topic"} & (component.keys() | config.keys())
        assert len(availability) <= 1, "they exclude another"
        assert config["device"]["name"] not in component.get("name", "")
    ids = [component["unique_id"] for component in config["components"].values()]
    assert len(set(ids)) == len(ids)


def test_a_record_that_is_removed_is_an_unknown_state() -> None:
    """Home Assistant 2025.12.5 logged `Ignoring invalid option received on topic '.../interfaces/wlan2', got
    ''` for each adapter that was unplugged."""
    configs = message(DISCOVERY.hub("0.1.0", ["wlan0"], records=True)), message(DISCOVERY.camera(EVERYTHING))
    components = [one for config in configs for one in config["components"].values()]
    states = [one["value_template"] for one in components if "value_template" in one]
    assert len(states) == 3 + len(configs[1]["components"].keys() - {"wake"})
    assert all(text.endswith("{% else %}None{% endif %}") for text in states)


def test_a_reserved_adapter_has_a_state_of_its_own_and_the_name_of_its_camera() -> None:
    config = message(DISCOVERY.hub("0.1.0", ["wlan0", "wlan1"], {"wlan1": "Nose {{ 1 }}"}))
    free, reserved = config["components"]["adapter_wlan0"], config["components"]["adapter_wlan1"]
    assert (free["name"], reserved["name"]) == ("Adapter wlan0", "Adapter wlan1, reserved for Nose {{ 1 }}")
    assert free["unique_id"].replace("wlan0", "wlan1") == reserved["unique_id"]
    assert templates(free) == templates(reserved)
    assert reserved["options"] == ["Free", "In use", "Unusable", "Reserved"]
    condition = "value_json.state == 'available' and value_json.reserved_device_id"
    assert f"{{{{ 'Reserved' if {condition} else {{" in reserved["value_template"]


def test_a_model_has_the_name_of_the_catalog() -> None:
    named = replace(DISCOVERY, models=catalog.load())
    assert message(named.camera(CAMERA))["device"]["model"] == "Insta360 X3"
    unknown = replace(CAMERA, codename="of-my-own")
    assert message(named.camera(unknown))["device"]["model"] == "of-my-own"


@pytest.mark.parametrize(
    ("listen", "tls", "page"),
    [
        ("127.0.0.1:8080", False, ""),
        ("[::1]:8080", False, ""),
        ("localhost:8080", False, ""),
        ("0.0.0.0:8080", False, ""),
        ("[::]:8080", True, ""),
        ("10.0.0.7:8080", False, "http://10.0.0.7:8080/"),
        ("[fd00::7]:443", True, "https://[fd00::7]:443/"),
        ("boat.example:8443", True, "https://boat.example:8443/"),
    ],
)
def test_the_hub_has_the_address_of_its_page_where_one_is_known(listen: str, tls: bool, page: str) -> None:
    certificate = Path("/etc/x.pem") if tls else None
    http = Http(listen=listen, tls_certificate=certificate, tls_key=certificate)
    mqtt = Mqtt(broker="mqtt://127.0.0.1", hub="boat")
    settings = Settings.of(Config(mqtt=mqtt, http=http))
    assert settings is not None
    assert settings.page == page
    device = message(replace(DISCOVERY, page=page).hub("0.1.0", []))["device"]
    assert device.get("configuration_url", "") == page


def test_the_reason_of_a_problem_is_one_of_a_sensors_options() -> None:
    error = message(DISCOVERY.camera(CAMERA))["components"]["error"]
    assert set(ErrorCode) | {"none", "not-answering"} == set(error["options"])


def test_a_camera_is_connected_via_the_hub() -> None:
    camera, hub = message(DISCOVERY.camera(CAMERA)), message(DISCOVERY.hub("0.1.0", []))
    assert camera["device"]["via_device"] in hub["device"]["identifiers"]
    assert hub["components"], "without an entity there would be no device"


def test_the_availability_is_that_of_the_hub_and_of_the_service_behind_its_backend() -> None:
    camera = message(DISCOVERY.camera(CAMERA))
    adapter = message(DISCOVERY.hub("0.1.0", ["wlan0"]))["components"]["adapter_wlan0"]
    of_hub = [TOPICS.availability, TOPICS.hub_record]
    assert [one["topic"] for one in camera["availability"]] == of_hub
    assert [one["topic"] for one in adapter["availability"]] == [*of_hub, TOPICS.interface("wlan0")]
    assert camera["availability_mode"] == adapter["availability_mode"] == "all"


def test_the_switch_sends_commands_that_are_carried_out() -> None:
    switch = message(DISCOVERY.camera(CAMERA))["components"]["switch"]
    target = TOPICS.target(switch["command_topic"])
    assert target is not None
    for payload, action in (("payload_on", CONNECT), ("payload_off", DISCONNECT)):
        command = parse_command(CommandMessage(target, switch[payload].encode()))
        assert (command.name, command.device_id) == (action.name, 3)


def test_the_button_sends_a_command_that_is_carried_out() -> None:
    button = message(DISCOVERY.camera(SLEEPER))["components"]["wake"]
    target = TOPICS.target(button["command_topic"])
    assert target is not None
    command = parse_command(CommandMessage(target, button["payload_press"].encode()))
    assert (command.name, command.device_id) == (WAKE.name, 3)


def test_without_commands_a_switch_and_a_button_of_earlier_are_removed() -> None:
    plain = replace(DISCOVERY, commands=False)
    components = message(plain.camera(SLEEPER))["components"]
    assert components["switch"] == {"platform": "switch"}
    assert components["wake"] == {"platform": "button"}
    assert all("command_topic" not in one for one in components.values())


def test_a_camera_that_cannot_be_woken_has_neither_button_nor_power() -> None:
    components = message(DISCOVERY.camera(CAMERA))["components"]
    assert components["wake"] == {"platform": "button"}
    assert components["power"] == {"platform": "sensor"}
    power = message(DISCOVERY.camera(SLEEPER))["components"]["power"]
    assert power["options"] == ["asleep", "awake"]


def test_a_message_is_the_same_whatever_is_known_over_bluetooth() -> None:
    seen = replace(SLEEPER, power_state="asleep", last_seen=5, paired=True, bluetooth_address="F4:DD:00")
    assert DISCOVERY.camera(seen) == DISCOVERY.camera(replace(seen, auto_wake=True))
    assert DISCOVERY.camera(seen) == DISCOVERY.camera(SLEEPER)


def test_the_switches_record_on_one_camera_and_on_all() -> None:
    switch = message(DISCOVERY.camera(RECORDER))["components"]["record"]
    target = TOPICS.target(switch["command_topic"])
    assert target is not None
    for payload, action in (("payload_on", START_RECORDING), ("payload_off", STOP_RECORDING)):
        command = parse_command(CommandMessage(target, switch[payload].encode()))
        assert (command.name, command.device_id) == (action.name, 3)
    switch = message(DISCOVERY.hub("", [], records=True))["components"]["recording"]
    target = TOPICS.target(switch["command_topic"])
    assert target is not None
    for payload, on in (("payload_on", True), ("payload_off", False)):
        command = parse_command(CommandMessage(target, switch[payload].encode()))
        assert recording_order(command.options, "") == RecordingOrder(on=on, everyone=Everyone.RIG)


def test_a_camera_without_a_driver_tells_nothing_and_does_not_record() -> None:
    plain, driven = message(DISCOVERY.camera(CAMERA)), message(DISCOVERY.camera(RECORDER))
    more = {"battery", "storage", "recording_time_left", "recording", "camera_problem", "record"}
    assert plain["components"].keys() == driven["components"].keys()
    for key, component in plain["components"].items():
        is_there = component.keys() > {"platform"}
        assert is_there is (key not in {*more, "power", "wake"})
        assert driven["components"][key]["platform"] == component["platform"]
        assert (driven["components"][key].keys() > {"platform"}) is (key not in {"power", "wake"})
    assert message(DISCOVERY.hub("", []))["components"]["recording"] == {"platform": "switch"}


def test_without_commands_nothing_records() -> None:
    plain = replace(DISCOVERY, commands=False)
    components = message(plain.camera(RECORDER))["components"]
    assert components["record"] == {"platform": "switch"}
    assert "value_template" in components["recording"]
    assert message(plain.hub("", [], records=True))["components"]["recording"] == {"platform": "switch"}


def test_a_message_is_the_same_whatever_the_camera_says() -> None:
    said = CameraRecord(battery_level=5, recording_state="recording", problems=("battery-low",), model="X4")
    assert DISCOVERY.camera(replace(RECORDER, camera=said)) == DISCOVERY.camera(RECORDER)


def test_the_ids_stay_the_same_after_a_renaming() -> None:
    before = message(DISCOVERY.camera(CAMERA))
    after = message(DISCOVERY.camera(replace(CAMERA, name="Rear", codename="other")))
    assert before["device"]["name"] != after["device"]["name"]
    assert before["device"]["identifiers"] == after["device"]["identifiers"]
    assert before["components"] == after["components"]


def test_no_two_hubs_have_a_topic_in_common() -> None:
    hubs = [Discovery(Topics("wifimgrd", hub), "homeassistant", commands=True) for hub in ("boat", "boat_3")]
    sent = [one.hub("", []) for one in hubs]
    sent += [one.camera(replace(CAMERA, id=device_id)) for one in hubs for device_id in (3, 33)]
    assert len({topic for topic, _ in sent}) == len(sent)


@given(st.text(), st.text(max_size=40), st.text(min_size=1, max_size=15))
def test_no_name_gets_out_of_its_member_or_into_a_template(name: str, codename: str, interface: str) -> None:
    named = DISCOVERY.camera(replace(CAMERA, name=name, codename=codename))
    assert named[0] == camera_topic(3)
    assert templates(message(named)) == templates(message(DISCOVERY.camera(CAMERA)))
    plain = message(DISCOVERY.hub("0.1.0", ["wlan0"]))
    hub = message(DISCOVERY.hub("0.1.0", [interface]))
    assert templates(hub) == templates(plain)
    assert len(hub["components"]) == 4
    assert not any(" " in key for key in hub["components"])


def test_nothing_of_the_network_is_in_a_message() -> None:
    assert DISCOVERY.camera(replace(CAMERA, ssid=b"X3 AB12.OSC")) == DISCOVERY.camera(CAMERA)


# -- what an earlier run has left


def test_the_topics_to_read_are_those_of_the_hub_alone() -> None:
    held = [TOPICS.device(3), f"{HUB}/devices/3/command", f"{HUB}/devices/x", "wifimgrd/other/devices/4"]
    assert retained_topics(TOPICS, {"homeassistant"}, held) == [HUB_TOPIC, camera_topic(3)]


@pytest.mark.parametrize("prefix", ["homeassistant", "a/b-c/d_1"])
def test_the_prefix_is_kept(prefix: str) -> None:
    topic, record = Discovery(TOPICS, prefix, commands=False).record
    assert topic == f"{HUB}/discovery"
    assert parse_prefix(record) == prefix


@given(st.binary(max_size=300) | st.text().map(lambda text: json.dumps({"prefix": text}).encode()))
def test_a_record_of_any_bytes_names_a_plain_prefix_or_none(payload: bytes) -> None:
    prefix = parse_prefix(payload)
    assert prefix is None or not set(prefix) & set("+#$\0 ")


def test_what_refers_to_a_record_is_removed_before_it() -> None:
    retained = RetainedRecords()
    for topic in ("devices/3", "devices/4"):
        retained.found(topic, b"{}")
    retained.assume("config/3")
    retained.assume("config/4")
    retained.found("config/4", b"{}")
    retained.complete()
    retained.replace({"devices/4": b"{}", "config/4": b"{}"})
    assert retained.take() == ("config/3", b"")
    assert retained.take() == ("devices/3", b"")
    assert retained.take() is None


def test_what_could_not_be_read_is_published() -> None:
    retained = RetainedRecords()
    retained.replace({"config/4": b"{}"})
    retained.begin()
    retained.assume("config/4")
    retained.complete()
    assert retained.take() == ("config/4", b"{}")


def test_a_broker_that_closes_the_connection_instead_of_refusing_is_asked_no_more() -> None:
    rights = DiscoveryRights()
    for _ in range(LOSSES - 1):
        rights.lost(unanswered=True)
    rights.answered(refused=False)
    for _ in range(LOSSES - 1):
        rights.lost(unanswered=True)
    rights.lost(unanswered=False)
    assert not rights.given_up
    for _ in range(LOSSES):
        rights.lost(unanswered=True)
    assert rights.given_up


# -- at a broker


async def test_the_messages_are_retained_renamed_and_removed_with_the_camera(
    hub: Hub, seen: Observer
) -> None:
    await seen.until(lambda: HUB_TOPIC in seen.retained)
    adapters = {f"adapter_{name}" for name in hub.client.interfaces}
    assert adapters
    await seen.until(lambda: adapters <= seen.record(HUB_TOPIC)["components"].keys())
    device = await hub.create(1)
    topic = camera_topic(device)
    await seen.until(lambda: topic in seen.retained)
    assert seen.record(topic)["device"]["name"] == hub.client.devices[device].name
    assert seen.record(topic)["device"]["model"] == "Insta360 X3"
    assert seen.record(topic)["device"]["model_id"] == "insta360-x3"
    assert f"{HUB}/devices/{device}" in seen.retained, "the record that it names is there before"
    await hub.client.update_device(device, {"name": 'Rear "{{ 1 }}"'})
    await seen.until(lambda: seen.record(topic)["device"]["name"] == 'Rear "{{ 1 }}"')
    await hub.client.remove_device(device)
    await seen.until(lambda: f"{HUB}/devices/{device}" not in seen.retained)
    assert topic not in seen.retained, "it is removed before the record"
    assert len(seen.seen(topic)) == 3, "published, renamed, removed"


async def test_the_name_of_a_reserved_adapter_follows_that_of_its_camera(hub: Hub, seen: Observer) -> None:
    device = await hub.create(1, name="Nose")

    def name() -> str:
        return str(seen.record(HUB_TOPIC)["components"]["adapter_wlan2"]["name"])

    await hub.client.update_device(device, {"pin": {"usb_port": "1-1.3"}})
    await seen.until(lambda: HUB_TOPIC in seen.retained and name() == "Adapter wlan2, reserved for Nose")
    assert seen.record(f"{HUB}/interfaces/wlan2")["reserved_device_id"] == device
    await hub.client.update_device(device, {"name": "Tail"})
    await seen.until(lambda: name() == "Adapter wlan2, reserved for Tail")
    await hub.client.remove_device(device)
    await seen.until(lambda: name() == "Adapter wlan2")


async def test_the_switch_connects_and_disconnects(hub: Hub, seen: Observer) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    await seen.until(lambda: camera_topic(device) in seen.retained)
    switch = seen.record(camera_topic(device))["components"]["switch"]
    seen.send(switch["command_topic"], switch["payload_off"].encode())
    await hub.until(device, "disconnected", 20)
    seen.send(switch["command_topic"], switch["payload_on"].encode())
    await hub.until(device, "connected", 20)


async def test_the_button_wakes_and_goes_with_the_model(hub: Hub, seen: Observer) -> None:
    properties = {"connection_type": "wifi", "bluetooth_address": "F4:DD:11:52:0A:9A"}
    device = await hub.client.create_device(properties)
    await hub.until(device, "connected", 20)
    topic, record = camera_topic(device), f"{HUB}/devices/{device}"
    await hub.client.command_device(SLEEP, device, wait_s=20)
    await seen.until(lambda: topic in seen.retained and seen.record(record)["power_state"] == "asleep")
    sent = len(seen.seen(topic))
    button = seen.record(topic)["components"]["wake"]
    seen.send(button["command_topic"], button["payload_press"].encode())
    await seen.until(lambda: seen.record(record)["power_state"] == "awake")
    assert len(seen.seen(topic)) == sent, "it says nothing of the power state"
    await hub.client.update_device(device, {"codename": "generic-wifi-camera"})
    await seen.until(lambda: seen.record(topic)["components"]["wake"] == {"platform": "button"})


async def test_a_camera_that_was_removed_while_the_bridge_was_away_is_removed(
    hub: Hub, broker: Mosquitto, bridges: Start, bridge: BridgeProcess
) -> None:
    kept, removed = await hub.create(1), await hub.create(2)
    foreign = "homeassistant/device/other/config"
    async with observer(broker.port) as before:
        await before.until(lambda: {camera_topic(kept), camera_topic(removed)} <= before.retained.keys())
        assert await bridge.end() == 0
        before.send(foreign, b"{}", retain=True)
        await before.connection.until_delivered(10)
    await hub.client.remove_device(removed)
    async with observer(broker.port) as after:
        await bridges().start()
        await after.until(lambda: after.retained.get(f"{HUB}/availability") == b"online")
        assert camera_topic(removed) not in after.retained
        assert foreign in after.retained
        assert not after.seen(camera_topic(kept)), "it was retained as it is"
        assert not after.seen(HUB_TOPIC)


async def test_what_was_removed_while_home_assistant_was_away_is_removed_again_when_it_is_back(
    hub: Hub, broker: Mosquitto, seen: Observer
) -> None:
    kept, removed = await hub.create(1), await hub.create(2)
    topic, adapter = camera_topic(removed), f"{HUB}/interfaces/wlan2"
    await seen.until(lambda: {topic, camera_topic(kept), adapter} <= seen.retained.keys())
    described = seen.retained[topic]
    await hub.client.remove_device(removed)
    await hub.client.simulate("UnplugAdapter", "s", "wlan2")
    await seen.until(lambda: topic not in seen.retained and adapter not in seen.retained)
    before, unplugged = len(seen.seen(topic)), len(seen.seen(adapter))
    seen.send("homeassistant/status", b"online")
    await seen.until(lambda: len(seen.seen(topic)) == before + 2 and len(seen.seen(adapter)) > unplugged)
    assert [one.payload for one in seen.seen(topic)[before:]] == [described, b""]
    assert seen.seen(adapter)[unplugged].payload == b""
    async with observer(broker.port) as fresh:
        await fresh.until(lambda: f"{HUB}/availability" in fresh.retained)
        assert not {topic, adapter} & fresh.retained.keys(), "nothing of it is retained"
    seen.send("homeassistant/status", b"online")
    await hub.client.update_device(kept, {"name": "Nose"})
    await seen.until(lambda: seen.record(camera_topic(kept))["device"]["name"] == "Nose")
    assert len(seen.seen(topic)) == before + 2, "once"


async def test_a_hub_that_was_deleted_in_home_assistant_gets_its_cameras_back(
    hub: Hub, broker: Mosquitto, bridges: Start, bridge: BridgeProcess
) -> None:
    topic = camera_topic(await hub.create(1))
    async with observer(broker.port) as seen:
        await seen.until(lambda: {topic, HUB_TOPIC} <= seen.retained.keys())
        described = json.loads(seen.retained[topic])
        seen.send(HUB_TOPIC, b"", retain=True)
        await seen.until(lambda: HUB_TOPIC not in seen.retained)
        assert await bridge.end() == 0
        begin = len(seen.messages)
        await bridges().start()

        def published() -> list[str]:
            return [one.topic for one in seen.messages[begin:] if one.topic in (HUB_TOPIC, topic)]

        await seen.until(lambda: len(published()) == 3)
        assert published() == [HUB_TOPIC, topic, topic]
        alone, again = (json.loads(one.payload) for one in seen.seen(topic)[-2:])
        assert again == described
        del described["device"]["via_device"]
        assert alone == described


@pytest.mark.parametrize("prefix", ["", "homeassistant/second"])
async def test_with_another_prefix_or_none_what_was_published_is_removed(
    hub: Hub, broker: Mosquitto, bridges: Start, bridge: BridgeProcess, prefix: str
) -> None:
    device = await hub.create(1)
    async with observer(broker.port) as seen:
        await seen.until(lambda: camera_topic(device) in seen.retained)
        assert await bridge.end() == 0
        assert "discovery_refused" not in bridge.log.read_text()
        await bridges(f'discovery_prefix = "{prefix}"').start()
        await seen.until(lambda: HUB_TOPIC not in seen.retained and camera_topic(device) not in seen.retained)
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
        assert (f"{HUB}/discovery" in seen.retained) == bool(prefix)
        now = {topic for topic in seen.retained if topic.startswith("homeassistant")}
        names = [camera_topic(device), HUB_TOPIC] if prefix else []
        assert now == {name.replace("homeassistant", prefix, 1) for name in names}


async def test_switched_off_nothing_is_published(hub: Hub, broker: Mosquitto, bridges: Start) -> None:
    device = await hub.create(1)
    async with observer(broker.port) as seen:
        await bridges('discovery_prefix = ""').start()
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
        assert f"{HUB}/devices/{device}" in seen.retained
        assert not [one.topic for one in seen.messages if one.topic.startswith("homeassistant")]
        assert f"{HUB}/discovery" not in seen.retained


def test_a_message_that_does_not_come_back_before_online_was_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rights = DiscoveryRights()
    rights.published()
    rights.online_published()
    rights.came_back()
    rights.published()
    rights.online_came_back()
    assert "discovery_refused" not in capsys.readouterr().out, "the second was published after `online`"
    for _ in range(2):
        rights.online_published()
        rights.online_came_back()
    assert capsys.readouterr().out.count("discovery_refused") == 1


@pytest.mark.parametrize("rights", ["", "topic read homeassistant/#"])
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_broker_that_refuses_them_gets_everything_else(
    hub: Hub, broker: Mosquitto, bridges: Start, tmp_path: Path, rights: str, is_old: bool
) -> None:
    rules = tmp_path / "acl"
    rules.write_text(f"topic readwrite wifimgrd/#\ntopic readwrite answers/#\n{rights}\n")
    await broker.kill()
    broker.lines = ("allow_anonymous true", f"acl_file {rules}")
    await broker.start()
    async with old_broker(broker.port) as old_port, observer(broker.port) as seen:
        bridge = bridges(address=f"mqtt://127.0.0.1:{old_port if is_old else broker.port}")
        await bridge.start()
        await bridge.until_logged("discovery_refused")
        device = await hub.create(1)
        await seen.until(lambda: f"{HUB}/devices/{device}" in seen.retained)
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
        await hub.client.remove_device(device)
        await seen.until(lambda: f"{HUB}/devices/{device}" not in seen.retained)
        assert not [one for one in seen.retained if one.startswith("homeassistant")]
        assert await bridge.end() == 0
    assert bridge.log.read_text().count("discovery_refused") == 1
