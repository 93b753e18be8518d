"""An object with several interfaces, which come and go by themselves."""

from __future__ import annotations

import asyncio
from xml.etree import ElementTree

import pytest
from structlog.testing import capture_logs

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError, MethodCall, Signal
from wifimgrd.bus.values import typed
from wifimgrd.client._live_objects import ObjectCache
from wifimgrd.daemon.api._authorization import Authorization
from wifimgrd.daemon.api._object_server import ObjectServer
from wifimgrd.daemon.api._objects import ExportedInterface
from wifimgrd.daemon.api.hub_service import HubService
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import names
from wifimgrd.wire.errors import NAME_OF
from wifimgrd.wire.properties import properties_of

PATH = names.device_path(1)


def device() -> ExportedInterface:
    return ExportedInterface(PATH, names.DEVICE, properties_of(DeviceRecord(1, name="Front")))


def second() -> ExportedInterface:
    """Another interface of the same object, with a property of the same name."""
    return ExportedInterface(PATH, names.INTERFACE, properties_of(InterfaceRecord("wlan0")))


@pytest.fixture
def served(service: BusConnection) -> str:
    """The unique name at which an object with two interfaces is served."""
    objects = {PATH: {names.DEVICE: device(), names.INTERFACE: second()}}
    tasks = Tasks("test")
    ObjectServer(service, objects, Authorization(service, tasks), tasks).open()
    return service.unique_name


async def test_before_the_objects_are_there_pings_alone_are_answered(
    service: BusConnection, caller: BusConnection
) -> None:
    tasks = Tasks("test")
    server = ObjectServer(service, {PATH: {names.DEVICE: device()}}, Authorization(service, tasks), tasks)
    reading = asyncio.create_task(caller.get(service.unique_name, PATH, names.DEVICE, "Name"))
    await caller.round_trip()
    await caller.call(service.unique_name, names.ROOT_PATH, bus_names.PEER, "Ping")
    assert not reading.done()
    server.open()
    assert await reading == "Front"


async def test_each_interface_has_its_own_properties(served: str, caller: BusConnection) -> None:
    assert (await caller.get_all(served, PATH, names.DEVICE))["Name"] == "Front"
    assert (await caller.get_all(served, PATH, names.INTERFACE))["Name"] == "wlan0"
    assert await caller.get(served, PATH, names.INTERFACE, "Name") == "wlan0"


async def test_without_the_name_of_an_interface_the_first_that_has_it_answers(
    served: str, caller: BusConnection
) -> None:
    assert await caller.get(served, PATH, "", "Name") == "Front"
    assert await caller.get(served, PATH, "", "UsbProduct") == ""
    assert {"Ssid", "UsbProduct"} <= (await caller.get_all(served, PATH, "")).keys()


@pytest.mark.parametrize(
    ("interface", "name", "error"),
    [
        (names.INTERFACE, "Ssid", "UnknownProperty"),
        ("", "Nothing", "UnknownProperty"),
        (names.MANAGER, "Version", "UnknownInterface"),
    ],
)
async def test_a_property_that_it_does_not_have_is_refused_by_the_standard_error(
    served: str, caller: BusConnection, interface: str, name: str, error: str
) -> None:
    with pytest.raises(BusError) as caught:
        await caller.get(served, PATH, interface, name)
    assert caught.value.name == f"org.freedesktop.DBus.Error.{error}"


async def test_introspection_and_the_object_manager_have_both(served: str, caller: BusConnection) -> None:
    xml = typed(str, (await caller.call(served, PATH, bus_names.INTROSPECTABLE, "Introspect"))[0])
    described = [one.get("name") for one in ElementTree.fromstring(xml).findall("interface")]
    assert described[-2:] == [names.DEVICE, names.INTERFACE]
    reply = await caller.call(served, names.ROOT_PATH, bus_names.OBJECT_MANAGER, "GetManagedObjects")
    objects = typed(dict[str, dict[str, dict[str, object]]], reply[0])
    assert list(objects[PATH]) == [names.DEVICE, names.INTERFACE]


async def test_a_bug_is_answered_and_logged_and_the_service_goes_on(
    service: BusConnection, caller: BusConnection
) -> None:
    """One in a method, and one before it is found: a value that the definition does not have."""

    async def bug(_: MethodCall) -> list[object]:
        raise RuntimeError("secret inside")

    broken = device()
    broken.methods = {"Connect": bug}
    broken.values["Nonsense"] = 1
    tasks = Tasks("test")
    ObjectServer(service, {PATH: {names.DEVICE: broken}}, Authorization(service, tasks), tasks).open()
    calls: tuple[tuple[str, str, str, object], ...] = (
        (names.DEVICE, "Connect", "a{sv}", {}),
        (bus_names.PROPERTIES, "GetAll", "s", ""),
    )
    for interface, member, signature, argument in calls:
        with capture_logs() as logs, pytest.raises(BusError, match="the log says more") as caught:
            await caller.call(service.unique_name, PATH, interface, member, signature, [argument])
        assert caught.value.name == NAME_OF[ErrorCode.INTERNAL]
        assert [(entry["event"], entry["member"]) for entry in logs] == [("call_crashed", member)]
    assert await caller.get(service.unique_name, PATH, names.DEVICE, "Name") == "Front"


async def test_an_interface_that_comes_or_goes_is_named_alone_and_the_device_stays(
    service: BusConnection, caller: BusConnection
) -> None:
    hub = HubService(service, Tasks("test"))
    signals: list[Signal] = []
    await caller.watch(signals.append, sender=service.unique_name, interface=bus_names.OBJECT_MANAGER)
    export, unexport = hub._export, hub._unexport
    export(device())
    export(second())
    unexport(PATH, names.INTERFACE)
    export(second())
    unexport(PATH)
    await service.round_trip()
    await caller.round_trip()
    # A dictionary of interfaces, or a list of their names.
    named = [
        list(typed(dict[str, object] if "Added" in one.member else list, one.body[1])) for one in signals
    ]
    only_device, only_second = [names.DEVICE], [names.INTERFACE]
    assert named == [only_device, only_second, only_second, only_second, only_device + only_second]
    cache, known = ObjectCache(), []
    for one in signals:
        list(cache.apply(one))
        known.append(set(cache.devices))
    assert known == [{1}, {1}, {1}, {1}, set()]
