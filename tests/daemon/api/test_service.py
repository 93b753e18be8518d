"""The daemon's D-Bus API as the contract has it, on a real bus, in the simulated world."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
from dataclasses import replace
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.commands import connect, disconnect
from tests.message_bus import MessageBusDaemon
from tests.processes import START_TIMEOUT_S, Hub
from tests.programs import program
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError, Signal, Variant
from wifimgrd.bus.values import typed
from wifimgrd.client._live_objects import ObjectCache
from wifimgrd.client.changes import AttemptFailed, Change, DeviceChanged, DeviceRemoved, InterfaceChanged
from wifimgrd.domain.errors import (
    AddressFailed,
    AuthenticationFailed,
    BackendUnavailable,
    Busy,
    DeviceNotFound,
    DeviceNotReachable,
    IdempotencyKeyReused,
    InvalidRequest,
    NoInterfaceAvailable,
    WifimgrdError,
)
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.wire import names
from wifimgrd.wire.errors import NAME_OF


async def manage(bus: BusConnection, member: str, signature: str, *body: object) -> list[Any]:
    return await bus.call(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, member, signature, body)


def steps(changes: list[Change]) -> list[str]:
    """The events that clients get, in short."""
    reported: list[str] = []
    kinds = (AttemptFailed, DeviceChanged, InterfaceChanged)
    told = [one for one in changes if isinstance(one, kinds)]
    for change, following in zip_longest(told, told[1:]):
        match change:
            case AttemptFailed(device, code, _):
                reported.append(f"{device} failed {code}")
            case DeviceChanged(after=device, is_step=True):
                reported.append(f"{device.id} {device.state}")
            case InterfaceChanged(interface):
                is_step = isinstance(following, DeviceChanged) and following.is_step
                if is_step or interface.state != "in-use":  # else its adapter is known to work
                    reported.append(f"{interface.name} {interface.state}")
    return reported


async def test_a_created_device_connects_and_its_interface_is_reported_first(hub: Hub) -> None:
    story: list[Change] = []
    hub.client.subscribe(story.append)
    device = await hub.create(1)
    await hub.until(device, "connected")
    assert steps(story) == ["wlan0 in-use", "1 connecting", "1 connected"]
    await hub.client.wait_until(lambda client: client.interfaces["wlan0"].health == "good", 30)
    record = hub.client.devices[device]
    assert (record.interface, record.camera_address, record.connection_error_code) == (
        "wlan0",
        "192.168.42.1",
        None,
    )
    assert record.local_address
    assert record.signal_strength
    assert (record.last_successful_connection or 0) >= (record.last_connection_attempt or 0) > 0
    assert hub.client.interfaces["wlan0"].device_id == device
    assert hub.client.service.assigned_interfaces == 1


async def test_a_disconnect_frees_the_interface_before_the_device_is_reported(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    story: list[Change] = []
    hub.client.subscribe(story.append)
    await disconnect(hub.client, device)
    assert steps(story) == ["1 disconnecting", "wlan0 available", "1 disconnected"]
    await disconnect(hub.client, device)


async def test_the_fourth_device_is_refused_and_the_others_stay(hub: Hub) -> None:
    for number in (1, 2, 3):
        await hub.until(await hub.create(number), "connected")
    story: list[Change] = []
    hub.client.subscribe(story.append)
    device = await hub.create(4)
    with pytest.raises(NoInterfaceAvailable, match=r"^no Wi-Fi interface is available: wlan0 \(in use by"):
        await connect(hub.client, device)
    assert steps(story) == ["4 failed no-interface-available", "4 disconnected"] * 2
    assert hub.client.devices[device].last_connection_attempt
    assert [hub.client.devices[other].state for other in (1, 2, 3)] == ["connected"] * 3
    await disconnect(hub.client, 2)
    await connect(hub.client, device, wait=True)
    assert hub.client.devices[device].interface == "wlan1"
    assert hub.client.devices[device].connection_error_code is None


@pytest.mark.parametrize(
    ("ssid", "password", "error"),
    [
        ("SIM-CAM-OFF", "camera-pass-off", DeviceNotReachable),
        ("SIM-CAM-1", "wrong-password", AuthenticationFailed),
    ],
)
async def test_a_failed_attempt_says_why_and_leaves_no_trace(
    hub: Hub, ssid: str, password: str, error: type[WifimgrdError]
) -> None:
    story: list[Change] = []
    hub.client.subscribe(story.append)
    device = await hub.create(1, ssid=ssid, password=password)
    with pytest.raises(error):
        await connect(hub.client, device, wait=True)
    assert steps(story) == [
        "wlan0 in-use",
        "1 connecting",
        "wlan0 available",
        f"1 failed {error.code}",
        "1 disconnected",
    ]
    assert hub.client.devices[device].connection_error_code == error.code
    assert hub.client.devices[device].connection_error_message


async def test_without_an_address_the_attempt_fails(hub: Hub) -> None:
    await hub.client.simulate("SetFault", "sa{sv}", "dhcp-dead", {})
    device = await hub.create(1)
    with pytest.raises(AddressFailed):
        await connect(hub.client, device, wait=True)


async def test_a_disconnect_cancels_the_attempt_without_a_failure(hub: Hub) -> None:
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 15.0)})
    story: list[Change] = []
    hub.client.subscribe(story.append)
    device = await hub.create(1)
    bus = await BusConnection.open(hub.address)
    path = names.device_path(device)
    waiting = bus.call(names.BUS_NAME, path, names.DEVICE, "Connect", "a{sv}", [{"wait": Variant("b", True)}])
    waiter = asyncio.create_task(waiting)
    for _ in ("sent while the call is", "answered after it began"):
        await bus.get(names.BUS_NAME, path, names.DEVICE, "State")
    await disconnect(hub.client, device)
    with pytest.raises(BusError) as caught:
        await waiter
    assert caught.value.name == "org.wifimgrd1.Error.Cancelled"
    assert steps(story) == [
        "wlan0 in-use",
        "1 connecting",
        "1 disconnecting",
        "wlan0 available",
        "1 disconnected",
    ]
    assert hub.client.devices[device].connection_error_code is None
    await bus.close()


async def test_connect_while_disconnecting_is_busy(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    await hub.client.simulate("SetFault", "sa{sv}", "slow-leave", {"seconds": Variant("d", 2.0)})
    leaving = asyncio.create_task(disconnect(hub.client, device))
    await hub.until(device, "disconnecting")
    with pytest.raises(Busy):
        await connect(hub.client, device)
    await leaving


async def test_a_pulled_adapter_takes_its_device_along(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    story: list[Change] = []
    hub.client.subscribe(story.append)
    await hub.client.simulate("UnplugAdapter", "s", "wlan0")
    await hub.until(device, "disconnected")
    await hub.client.wait_until(lambda client: bool(client.service.absent_adapters), START_TIMEOUT_S)
    # What is read of the camera comes at its own time.
    told = [change for change in story if not isinstance(change, DeviceChanged) or change.is_step]
    assert [type(change).__name__ for change in told] == [
        "InterfaceRemoved",
        "ServiceChanged",
        "AttemptFailed",
        "DeviceChanged",
        "ServiceChanged",  # it is among those that are absent
    ]
    assert hub.client.devices[device].connection_error_code == "interface-lost"
    assert "wlan0" not in hub.client.interfaces
    await hub.client.simulate("PlugAdapter", "s", "wlan0")
    await connect(hub.client, device, wait=True)
    assert hub.client.devices[device].interface == "wlan0"


async def test_a_link_that_drops_and_comes_back_is_reported_at_each_step(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    story: list[Change] = []
    hub.client.subscribe(story.append)
    await hub.client.simulate("PowerOffCamera", "ayb", b"SIM-CAM-1", True)
    await hub.until(device, "connecting")
    assert hub.client.devices[device].connection_error_code == "connection-lost"
    assert hub.client.devices[device].interface == "wlan0"
    await hub.client.simulate("PowerOnCamera", "ay", b"SIM-CAM-1")
    await hub.until(device, "connected")
    assert steps(story) == ["1 connecting", "1 connected"]
    assert hub.client.devices[device].connection_error_code is None


async def test_removing_a_connected_device_disconnects_it_first(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    story: list[Change] = []
    hub.client.subscribe(story.append)
    await hub.client.remove_device(device)
    assert steps(story) == ["1 disconnecting", "wlan0 available", "1 disconnected"]
    assert type(story[-1]).__name__ == "DeviceRemoved"
    with pytest.raises(DeviceNotFound):
        await connect(hub.client, device)
    with pytest.raises(DeviceNotFound):
        await hub.client.remove_device(device)
    assert await hub.create(2) == device + 1


def kept(hub: Hub) -> list[DeviceRecord]:
    """All devices, without what is measured of links and read of cameras again after a restart."""
    return [
        replace(device, signal_strength=None, tx_bitrate=None, rx_bitrate=None, camera=None)
        for device in hub.client.devices.values()
    ]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_restart_forgets_no_device_and_drops_no_link(hub: Hub, how: signal.Signals) -> None:
    first, second = await hub.create(1), await hub.create(2)
    await hub.until(first, "connected")
    await hub.until(second, "connected")
    # What the simulated world notes of its links is on disk once a later write is.
    await hub.client.update_device(first, {"name": "Nose"})
    before = kept(hub)
    await hub.end(how)
    assert hub.client.devices == {}
    await hub.start()
    assert kept(hub) == before


async def test_bad_fields_are_named_each_and_nothing_is_stored(hub: Hub) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await hub.client.create_device(
            {"codename": "", "connection_type": "bluetooth", "ssid": "x" * 33, "password": "short", "name": 5}
        )
    assert set(caught.value.fields) == {"codename", "connection_type", "ssid", "password", "name"}
    with pytest.raises(InvalidRequest) as caught:
        await hub.client.create_device({})
    assert set(caught.value.fields) == {"codename", "connection_type", "ssid", "password"}
    assert hub.client.devices == {}


async def test_an_idempotency_key_repeated_gives_the_first_device(hub: Hub) -> None:
    first = await hub.create(1, idempotency_key="once")
    assert await hub.create(1, idempotency_key="once") == first
    assert await hub.create(1) == first + 1
    assert [record.name for record in hub.client.devices.values()] == ["SIM-CAM-1", "SIM-CAM-1 #2"]


@pytest.mark.parametrize(
    "other", [{"name": "B"}, {"priority": 1}, {"password": "camera-pass-2"}, {"ssid": "SIM-CAM-2"}]
)
async def test_an_idempotency_key_of_another_request_is_refused_also_after_a_restart(
    hub: Hub, other: dict[str, object]
) -> None:
    first = await hub.create(1, name="A", idempotency_key="once")
    await hub.client.update_device(first, {"name": "Renamed"})
    for _ in range(2):
        with pytest.raises(IdempotencyKeyReused, match=f"which created device {first}"):
            await hub.create(1, **{"name": "A", "idempotency_key": "once", **other})
        assert await hub.create(1, name="A", idempotency_key="once") == first
        await hub.end()
        await hub.start()
    assert list(hub.client.devices) == [first]


async def test_a_key_is_repeated_by_any_password_once_that_was_changed(hub: Hub) -> None:
    first = await hub.create(1, idempotency_key="once", password="the-old-password")
    await hub.client.update_device(first, {"password": "the-new-password"})
    assert await hub.create(1, idempotency_key="once", password="whatever-it-was") == first


async def test_an_update_changes_what_it_names_alone(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    await hub.client.update_device(device, {"name": "Nose", "ssid": b"\xff\xfe"})
    record = hub.client.devices[device]
    assert (record.name, record.ssid, record.codename, record.state) == (
        "Nose",
        b"\xff\xfe",
        "insta360-x3",
        "connected",
    )
    with pytest.raises(InvalidRequest):
        await hub.client.update_device(device, {"password": "short"})


async def test_properties_may_come_nested_and_in_the_names_of_the_properties(bus: BusConnection) -> None:
    settings = Variant(
        "a{sv}", {"ssid": Variant("ay", b"SIM-CAM-1"), "password": Variant("s", "camera-pass-1")}
    )
    plain = {
        "Codename": Variant("s", "x"),
        "ConnectionType": Variant("s", "wifi"),
        "connection_settings": settings,
    }
    [path] = await manage(bus, "CreateDevice", "a{sv}", plain)
    assert path == "/org/wifimgrd1/devices/1"
    assert await manage(bus, "GetDevice", "t", 1) == [path]
    assert await manage(bus, "GetInterface", "s", "wlan0") == ["/org/wifimgrd1/interfaces/wlan0"]


@pytest.mark.parametrize(
    ("path", "interface", "member", "signature", "body", "error"),
    [
        ("/org/wifimgrd1", names.MANAGER, "GetDevice", "t", [7], "org.wifimgrd1.Error.DeviceNotFound"),
        (
            "/org/wifimgrd1",
            names.MANAGER,
            "GetInterface",
            "s",
            ["x"],
            "org.wifimgrd1.Error.InterfaceNotFound",
        ),
        ("/org/wifimgrd1", names.MANAGER, "RemoveDevice", "o", ["/"], "org.wifimgrd1.Error.DeviceNotFound"),
        ("/org/wifimgrd1", names.MANAGER, "GetDevice", "s", ["7"], "org.freedesktop.DBus.Error.InvalidArgs"),
        ("/org/wifimgrd1", names.MANAGER, "Nothing", "", [], "org.freedesktop.DBus.Error.UnknownMethod"),
        ("/org/wifimgrd1", names.DEVICE, "Connect", "", [], "org.freedesktop.DBus.Error.UnknownInterface"),
        (
            "/nowhere",
            bus_names.INTROSPECTABLE,
            "Introspect",
            "",
            [],
            "org.freedesktop.DBus.Error.UnknownObject",
        ),
        (
            "/nowhere",
            bus_names.OBJECT_MANAGER,
            "GetManagedObjects",
            "",
            [],
            "org.freedesktop.DBus.Error.UnknownObject",
        ),
        (
            "/org/wifimgrd1",
            bus_names.PROPERTIES,
            "Set",
            "ssv",
            [names.MANAGER, "Version", Variant("s", "2")],
            "org.freedesktop.DBus.Error.PropertyReadOnly",
        ),
        (
            "/org/wifimgrd1",
            bus_names.PROPERTIES,
            "Get",
            "ss",
            [names.MANAGER, "Colour"],
            "org.freedesktop.DBus.Error.UnknownProperty",
        ),
    ],
)
async def test_what_is_not_there_is_refused_by_its_standard_error(
    bus: BusConnection, path: str, interface: str, member: str, signature: str, body: list[Any], error: str
) -> None:
    with pytest.raises(BusError) as caught:
        await bus.call(names.BUS_NAME, path, interface, member, signature, body)
    assert caught.value.name == error


async def test_introspection_is_the_shipped_xml_without_its_comments(hub: Hub, bus: BusConnection) -> None:
    await hub.create(1)
    for path, name in {
        "/org/wifimgrd1": names.MANAGER,
        "/org/wifimgrd1/devices/1": names.DEVICE,
        "/org/wifimgrd1/interfaces/wlan0": names.INTERFACE,
        "/org/wifimgrd1/simulator": names.SIMULATOR,
    }.items():
        [xml] = await bus.call(names.BUS_NAME, path, bus_names.INTROSPECTABLE, "Introspect")
        [live] = [face for face in ElementTree.fromstring(str(xml)) if face.get("name") == name]
        assert canonical(live) == canonical(shipped(name))


def shipped(name: str) -> ElementTree.Element:
    text = resources.files("wifimgrd.wire").joinpath("introspection", f"{name}.xml").read_text()
    return ElementTree.fromstring(text)[0]


def canonical(element: ElementTree.Element) -> Any:
    return (element.tag, sorted(element.attrib.items()), sorted(map(canonical, element)))


@pytest.mark.parametrize(
    "name",
    [names.MANAGER, names.DEVICE, names.POWER, names.BLUETOOTH, names.INTERFACE, names.SIMULATOR],
)
def test_each_member_is_documented(name: str) -> None:
    text = resources.files("wifimgrd.wire").joinpath("introspection", f"{name}.xml").read_text()
    members = re.findall(r"(-->)?\s*<(?:method|signal|property) name=", text)
    assert members
    assert all(members), "a member without a comment in front of it"
    documented = re.findall(r"<!--(.*?)-->\s*<method", text, re.DOTALL)
    assert all("Errors:" in comment for comment in documented)


@pytest.mark.parametrize(
    "name", [names.MANAGER, names.DEVICE, names.POWER, names.BLUETOOTH, names.CAMERA, names.SIMULATOR]
)
def test_the_documented_errors_are_those_that_there_are(name: str) -> None:
    text = resources.files("wifimgrd.wire").joinpath("introspection", f"{name}.xml").read_text()
    known = {one.removeprefix(names.ERROR_PREFIX) for one in NAME_OF.values()}
    for listed in re.findall(r"Errors:(.*?)(?:-->|\n\n)", text, re.DOTALL):
        without_causes = re.sub(r"\(.*?\)", "", listed, flags=re.DOTALL)
        assert set(re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*\b", without_causes)) <= known


async def test_objects_appear_and_go_from_the_object_manager_once(hub: Hub, bus: BusConnection) -> None:
    reported: list[Signal] = []
    await bus.watch(reported.append, interface=bus_names.OBJECT_MANAGER)
    device = await hub.create(1)
    await hub.client.remove_device(device)
    await bus.get(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "Version")
    path = names.device_path(device)
    assert [(one.member, one.path, one.body[0]) for one in reported] == [
        ("InterfacesAdded", names.ROOT_PATH, path),
        ("InterfacesRemoved", names.ROOT_PATH, path),
    ]
    assert set(typed(dict[str, object], reported[0].body[1])) == {names.DEVICE, names.POWER, names.CAMERA}
    assert typed(list[str], reported[1].body[1]) == [names.DEVICE, names.POWER, names.CAMERA]


async def test_the_secret_is_nowhere_on_the_bus(hub: Hub, bus: BusConnection) -> None:
    received: list[Signal] = []
    await bus.watch(received.append, sender=names.BUS_NAME)
    await hub.until(await hub.create(1), "connected")
    await hub.client.update_device(1, {"password": "camera-pass-9"})
    objects = await bus.call(names.BUS_NAME, names.ROOT_PATH, bus_names.OBJECT_MANAGER, "GetManagedObjects")
    assert "camera-pass" not in repr(objects) + repr(received)
    assert "camera-pass" not in hub.log.read_text()


async def test_the_backend_may_go_and_come_back(hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    await hub.client.simulate("SetFault", "sa{sv}", "backend-gone", {})
    await hub.until(device, "disconnected")
    assert hub.client.service.backend_state == "unavailable"
    assert hub.client.service.backend_reason
    with pytest.raises(BackendUnavailable):
        await connect(hub.client, device)
    await hub.client.simulate("SetFault", "sa{sv}", "backend-gone", {"off": Variant("b", True)})
    await connect(hub.client, device, wait=True)


async def test_three_who_wait_for_one_attempt_get_one_answer(hub: Hub) -> None:
    device = await hub.create(1)
    await asyncio.gather(*(connect(hub.client, device, wait=True) for _ in range(3)))
    assert hub.client.devices[device].state == "connected"


async def test_a_refusal_is_explained_to_who_asks_and_a_sentence_to_everybody_else(
    bus: BusConnection,
) -> None:
    with pytest.raises(BusError) as plain:
        await manage(bus, "CreateDevice", "a{sv}", {})
    assert len(plain.value.body) == 1
    with pytest.raises(BusError) as explained:
        await manage(bus, "CreateDevice", "a{sv}", {"explain": Variant("b", True)})
    assert explained.value.body[0] == plain.value.body[0]
    assert typed(dict[str, list[str]], explained.value.body[1])["codename"] == ["This field is required."]


async def test_more_who_wait_than_the_bus_bears_calls_disturb_nobody(hub: Hub) -> None:
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 15.0)})
    device = await hub.create(1)
    waiting = [asyncio.create_task(connect(hub.client, device, wait=True)) for _ in range(200)]
    await connect(hub.client, device)
    await disconnect(hub.client, device)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(outcome).__name__ for outcome in outcomes} == {"Cancelled"}


@pytest.mark.slow
async def test_a_daemon_that_hangs_is_not_believed_and_found_again(hub: Hub) -> None:
    assert hub.process is not None
    device = await hub.create(1)
    await hub.until(device, "connected")
    hub.process.send_signal(signal.SIGSTOP)
    with pytest.raises(BackendUnavailable):
        await disconnect(hub.client, device)
    assert not hub.client.available
    hub.process.send_signal(signal.SIGCONT)
    await hub.client.wait_until(lambda client: client.available, 20)
    await hub.until(device, "disconnected")


async def test_a_second_instance_touches_nothing(hub: Hub, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with MessageBusDaemon.start() as elsewhere:
        await refused(hub.address, other)
        await refused(elsewhere.address, hub.state)
    assert not other.exists()


async def refused(address: str, state: Path) -> None:
    second = await asyncio.create_subprocess_exec(
        program("wifimgrd"),
        "--bus",
        address,
        "--simulate",
        env={**os.environ, "STATE_DIRECTORY": str(state)},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await second.communicate()
    assert second.returncode == 75
    assert b"adapter_added" not in said


@pytest.mark.parametrize(
    ("signature", "options"), [("o", []), ("oa{sv}", [{}]), ("oa{sv}", [{"wiat": Variant("b", True)}])]
)
async def test_a_device_is_removed_with_options_or_without(
    hub: Hub, bus: BusConnection, signature: str, options: list[Any]
) -> None:
    device = await hub.create(1)
    await manage(bus, "RemoveDevice", signature, names.device_path(device), *options)
    await hub.client.wait_until(lambda client: not client.devices, 5)


@pytest.mark.parametrize("keeps", [True, False])
async def test_the_history_of_a_removed_device_goes_with_the_option(
    hub: Hub, bus: BusConnection, keeps: bool
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    await manage(
        bus, "RemoveDevice", "oa{sv}", names.device_path(device), {"history": Variant("b", not keeps)}
    )
    assert bool(await hub.client.history(device)) == keeps


async def test_the_signal_of_a_device_is_forgotten_with_its_history(hub: Hub, bus: BusConnection) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")

    async def signal(since: int, until: int, method: str = "GetSignalHistory") -> list[Any]:
        path, body = names.device_path(device), [since, until, {}]
        return await bus.call(names.BUS_NAME, path, names.DEVICE, method, "tta{sv}", body)

    step, [[begun, *percents], *_] = await signal(0, 0)
    assert (step, percents, begun % step) == (60_000_000, [70, 70], 0)
    assert (await signal(begun, 2**64 - 1))[1][0][0] == begun
    assert await signal(0, begun) == [step, []]
    assert await signal(0, 0, "GetBatteryHistory") == [step, []], "its model has no driver"
    await manage(bus, "ForgetHistory", "ta{sv}", device, {})
    assert await signal(0, 0) == [step, []]


async def test_an_option_of_another_type_removes_nothing(hub: Hub, bus: BusConnection) -> None:
    device = await hub.create(1)
    with pytest.raises(BusError) as caught:
        await manage(bus, "RemoveDevice", "oa{sv}", names.device_path(device), {"history": Variant("s", "1")})
    assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments"
    assert device in hub.client.devices


@pytest.mark.parametrize(("signature", "body"), [("", []), ("a{sv}", [{}])])
async def test_the_configuration_is_read_again_with_options_or_without(
    hub: Hub, bus: BusConnection, signature: str, body: list[Any]
) -> None:
    assert hub.client.available
    await manage(bus, "Reload", signature, *body)


async def test_the_tree_shows_the_folder_of_devices_before_there_is_one(hub: Hub, bus: BusConnection) -> None:
    assert not hub.client.devices
    reply = await bus.call(names.BUS_NAME, names.ROOT_PATH, bus_names.INTROSPECTABLE, "Introspect")
    [xml] = typed(tuple[str], reply)
    children = [node.get("name") for node in ElementTree.fromstring(xml).findall("node")]
    assert children == ["devices", "interfaces", "simulator"]


def test_an_object_that_loses_one_of_its_interfaces_is_still_there() -> None:
    path = names.device_path(1)
    cache = ObjectCache.of_objects({path: {names.DEVICE: {}, "org.wifimgrd1.Camera": {}}})

    def goes(*faces: str) -> list[object]:
        removed = Signal(
            ":1.1", names.ROOT_PATH, bus_names.OBJECT_MANAGER, "InterfacesRemoved", [path, list(faces)]
        )
        return list(cache.apply(removed))

    goes("org.wifimgrd1.Camera")
    assert cache.devices == {1: DeviceRecord(1)}
    assert goes("org.wifimgrd1.Power", names.DEVICE) == [DeviceRemoved(1)]


@pytest.mark.parametrize("path", ["devices/01", "devices/+1", "devices/" + "9" * 5000, "interfaces/wlan0"])
async def test_a_path_that_is_no_device_removes_none(hub: Hub, bus: BusConnection, path: str) -> None:
    await hub.create(1)
    with pytest.raises(BusError) as caught:
        await manage(bus, "RemoveDevice", "o", "/org/wifimgrd1/" + path.replace("+", "_"))
    assert caught.value.name == "org.wifimgrd1.Error.DeviceNotFound"
    assert 1 in hub.client.devices


async def test_a_connection_to_a_camera_is_refused_as_the_api_says(hub: Hub) -> None:
    bus = await BusConnection.open(hub.address, sockets=True)

    async def opened(options: dict[str, Variant]) -> None:
        where = (names.BUS_NAME, names.device_path(device), names.DEVICE)
        await bus.call_for_socket(*where, "OpenConnection", "qa{sv}", [80, options])

    await hub.client.simulate("PowerOnCamera", "ay", b"SIM-CAM-OFF")
    device = await hub.create(1, ssid="SIM-CAM-OFF", password="camera-pass-off")
    await hub.until(device, "connected")
    for options, error in (
        ({}, "DeviceNotReachable"),  # a simulated camera without a driver has no network
        ({"kind": Variant("s", "udp")}, "DeviceNotReachable"),
        ({"kind": Variant("s", "raw")}, "InvalidArguments"),
        ({"kind": Variant("au", [1])}, "InvalidArguments"),
    ):
        with pytest.raises(BusError) as caught:
            await opened(options)
        assert caught.value.name == names.ERROR_PREFIX + error
    await bus.close()


async def test_a_device_that_waits_is_kept_by_a_kill_of_the_daemon(hub: Hub) -> None:
    for number in (1, 2, 3):
        await hub.until(await hub.create(number), "connected")
    device = await hub.create(4)
    await connect(hub.client, device, when_free=True)
    since_us = hub.client.devices[device].waiting_since
    assert since_us
    await hub.end(signal.SIGKILL)
    await hub.start()
    record = hub.client.devices[device]
    assert (record.state, record.waiting_since) == ("disconnected", since_us)
    await disconnect(hub.client, 1)
    await hub.until(device, "connected")
    assert hub.client.devices[device].waiting_since is None


@pytest.mark.parametrize("identified", [False, True])
async def test_a_client_with_too_many_commands_is_refused_by_the_error_of_the_contract(
    hub: Hub, bus: BusConnection, identified: bool
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 3600.0)})
    other = await hub.create(2)
    path, options = f"{names.DEVICES_PATH}/{other}", {"wait": Variant("b", True)}
    if identified:
        await bus.call(names.BUS_NAME, path, names.DEVICE, "Connect", "a{sv}", ({},))
    commands = [
        asyncio.create_task(
            bus.call(names.BUS_NAME, path, names.DEVICE, "Connect", "a{sv}", (options,), timeout_s=60)
        )
        for _ in range(512 + 50)
    ]
    refusals: list[str] = []
    for command in itertools.islice(asyncio.as_completed(commands), 50):
        with pytest.raises(BusError) as refused:
            await command
        refusals.append(refused.value.name)
    assert refusals == ["org.wifimgrd1.Error.LimitsExceeded"] * 50
    for task in commands:
        task.cancel()
    await asyncio.wait(commands)
