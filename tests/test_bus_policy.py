"""What the users of daemon, helper and camera process may send to other services, on a real bus."""

from __future__ import annotations

import getpass
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError, Signal
from wifimgrd.proxies.bluez import definitions as bluez
from wifimgrd.proxies.networkmanager import definitions as nm
from wifimgrd.proxies.wpa_supplicant import definitions as wpas
from wifimgrd.wire import camera_calls as cameras
from wifimgrd.wire import names

CHECKOUT = Path(__file__).parents[1]
POLICIES = CHECKOUT / "dbus-policy"
POLICY = {
    "wifimgrd": POLICIES / "org.wifimgrd1.conf",
    "wifimgrd-net": POLICIES / "org.wifimgrd1.Net.conf",
    "wifimgrd-camera": POLICIES / "org.wifimgrd1.Cameras.conf",
}
BASE = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
    <deny send_destination="fi.w1.wpa_supplicant1"/>
    <deny receive_sender="fi.w1.wpa_supplicant1" receive_type="signal"/>
    <allow send_destination="org.freedesktop.NetworkManager"/>
    <allow send_destination="org.bluez"/>
    <allow send_destination="org.wifimgrd1"/>
  </policy>
  {policy}
</busconfig>
"""
INTERFACE = wpas.WPAS_PATH + "/Interfaces/1"
DEVICE = nm.NM_PATH + "/Devices/1"
PROFILE = nm.NM_PATH + "/Settings/1"
Call = tuple[str, str, str, str]

ALLOWED: list[Call] = [
    *((wpas.WPAS, wpas.WPAS_PATH, wpas.WPAS, name) for name in ("GetInterface", "RemoveInterface")),
    *((wpas.WPAS, INTERFACE, wpas.WPAS_INTERFACE, name) for name in ("Scan", "AbortScan", "FlushBSS")),
    *((wpas.WPAS, INTERFACE, wpas.WPAS_INTERFACE, name) for name in ("SelectNetwork", "RemoveAllNetworks")),
    *((wpas.WPAS, INTERFACE, wpas.WPAS_INTERFACE, name) for name in ("Disconnect", "Reassociate")),
    *((wpas.WPAS, INTERFACE, bus_names.PROPERTIES, name) for name in ("Get", "GetAll")),
    (nm.NM, PROFILE, nm.NM_SETTINGS_CONNECTION, "GetSettings"),
    *((nm.NM, DEVICE, bus_names.PROPERTIES, name) for name in ("Get", "GetAll")),
    (nm.NM, nm.NM_PATH, bus_names.PROPERTIES, "GetAll"),
]
HELPERS_ALONE: list[Call] = [
    (wpas.WPAS, wpas.WPAS_PATH, wpas.WPAS, "CreateInterface"),
    (wpas.WPAS, INTERFACE, wpas.WPAS_INTERFACE, "AddNetwork"),
    (wpas.WPAS, INTERFACE, bus_names.PROPERTIES, "Set"),
    (wpas.WPAS, INTERFACE + "/Networks/0", bus_names.PROPERTIES, "Set"),
    (nm.NM, nm.NM_PATH, nm.NM, "AddAndActivateConnection2"),
    (nm.NM, nm.NM_SETTINGS_PATH, nm.NM_SETTINGS, "AddConnection2"),
    *((nm.NM, nm.NM_PATH, nm.NM, name) for name in ("ActivateConnection", "DeactivateConnection")),
    (nm.NM, PROFILE, nm.NM_SETTINGS_CONNECTION, "Delete"),
    (nm.NM, DEVICE, bus_names.PROPERTIES, "Set"),
]
"""Each takes the name of a file, any profile, or any device."""
HELPERS: list[Call] = [
    *HELPERS_ALONE,
    (wpas.WPAS, wpas.WPAS_PATH, wpas.WPAS, "GetInterface"),
    (wpas.WPAS, INTERFACE, bus_names.PROPERTIES, "Get"),
    (nm.NM, nm.NM_PATH, nm.NM, "GetDeviceByIpIface"),
    (nm.NM, PROFILE, nm.NM_SETTINGS_CONNECTION, "GetSettings"),
    (nm.NM, DEVICE, bus_names.PROPERTIES, "Get"),
]
FORBIDDEN: list[Call] = [
    *HELPERS_ALONE,
    (wpas.WPAS, wpas.WPAS_PATH, wpas.WPAS, "ExpectDisconnect"),
    *((wpas.WPAS, INTERFACE, wpas.WPAS_INTERFACE, name) for name in ("AddBlob", "AddCred", "EAPLogon")),
    (wpas.WPAS, INTERFACE, wpas.WPAS_INTERFACE + ".WPS", "Start"),
    (wpas.WPAS, wpas.WPAS_PATH, bus_names.PROPERTIES, "Set"),
    *((nm.NM, nm.NM_PATH, nm.NM, name) for name in ("Enable", "Sleep", "Reload")),
    *((nm.NM, PROFILE, nm.NM_SETTINGS_CONNECTION, name) for name in ("GetSecrets", "Update", "Update2")),
    (nm.NM, nm.NM_SETTINGS_PATH, nm.NM_SETTINGS, "AddConnection"),
    (nm.NM, nm.NM_PATH + "/AgentManager", nm.NM + ".AgentManager", "Register"),
    (nm.NM, DEVICE, nm.NM_DEVICE, "Reapply"),
    (nm.NM, nm.NM_PATH, bus_names.PROPERTIES, "Set"),
]

HCI0, CAMERA = "/org/bluez/hci0", "/org/bluez/hci0/dev_D4_32_60_00_10_01"
PROCESS: list[Call] = [
    (bluez.BLUEZ, "/", bus_names.OBJECT_MANAGER, "GetManagedObjects"),
    (bluez.BLUEZ, CAMERA, bus_names.PROPERTIES, "GetAll"),
    *(
        (bluez.BLUEZ, HCI0, bluez.ADAPTER, name)
        for name in ("SetDiscoveryFilter", "StartDiscovery", "StopDiscovery", "RemoveDevice")
    ),
    *((bluez.BLUEZ, CAMERA, bluez.DEVICE, name) for name in ("Connect", "Disconnect", "Pair")),
    *(
        (bluez.BLUEZ, CAMERA + "/service0001/char0002", bluez.CHARACTERISTIC, name)
        for name in ("ReadValue", "WriteValue", "StartNotify")
    ),
    (bluez.BLUEZ, bluez.BLUEZ_PATH, bluez.AGENT_MANAGER, "RegisterAgent"),
    *(
        (bluez.BLUEZ, HCI0, bluez.ADVERTISING_MANAGER, name)
        for name in ("RegisterAdvertisement", "UnregisterAdvertisement")
    ),
]
"""The camera process's of BlueZ."""
NOT_THE_PROCESS: list[Call] = [
    (bluez.BLUEZ, HCI0, bus_names.PROPERTIES, "Set"),
    (bluez.BLUEZ, bluez.BLUEZ_PATH, bluez.AGENT_MANAGER, "RequestDefaultAgent"),
    (bluez.BLUEZ, bluez.BLUEZ_PATH, "org.bluez.ProfileManager1", "RegisterProfile"),
    (bluez.BLUEZ, HCI0, "org.bluez.GattManager1", "RegisterApplication"),
    (bluez.BLUEZ, HCI0, "org.bluez.Media1", "RegisterEndpoint"),
    (bluez.BLUEZ, CAMERA, bluez.DEVICE, "ConnectProfile"),
    (names.BUS_NAME, names.ROOT_PATH, bus_names.PROPERTIES, "GetAll"),
    (names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "StartRecording"),
]


@pytest.fixture
def user() -> str:
    """As whom the test calls."""
    return "wifimgrd"


@pytest.fixture
def bus(tmp_path: Path, user: str) -> Iterator[MessageBusDaemon]:
    """With the rules of Debian's packages; who runs the test has those of `user`, and of who may call it."""
    policies = re.findall(r'<policy user="wifimgrd[^"]*">.*?</policy>', POLICY[user].read_text(), re.DOTALL)
    configuration = tmp_path / "bus.conf"
    policy = re.sub(r'<policy user="[^"]*"', f'<policy user="{getpass.getuser()}"', "\n".join(policies))
    configuration.write_text(BASE.format(socket=tmp_path / "bus", policy=policy))
    with MessageBusDaemon.start(configuration) as daemon:
        yield daemon


@pytest.fixture
async def supplicant(bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    """In the places of wpa_supplicant, NetworkManager, BlueZ and the daemon, programs that answer whatever
    comes."""
    taken = (wpas.WPAS, nm.NM, bluez.BLUEZ, names.BUS_NAME)
    services = [await BusConnection.open(bus.address) for _ in taken]
    for service, name in zip(services, taken, strict=True):
        service.serve(service.reply)
        await service.request_name(name)
    yield services[0]
    for service in services:
        await service.close()


@pytest.fixture
async def daemon(bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    daemon = await BusConnection.open(bus.address)
    yield daemon
    await daemon.close()


@pytest.mark.usefixtures("supplicant")
@pytest.mark.parametrize("call", ALLOWED, ids=lambda call: f"{call[2]}.{call[3]}")
async def test_what_the_daemon_uses_arrives(daemon: BusConnection, call: Call) -> None:
    assert await daemon.call(*call) == []


@pytest.mark.usefixtures("supplicant")
@pytest.mark.parametrize("call", FORBIDDEN, ids=lambda call: f"{call[2]}.{call[3]}")
async def test_what_it_does_not_use_is_refused_by_the_bus(daemon: BusConnection, call: Call) -> None:
    with pytest.raises(BusError) as raised:
        await daemon.call(*call)
    assert raised.value.name == "org.freedesktop.DBus.Error.AccessDenied"


@pytest.mark.usefixtures("supplicant")
@pytest.mark.parametrize("user", ["wifimgrd-net"])
async def test_the_helper_may_do_what_it_does_for_the_daemon_and_nothing_else(daemon: BusConnection) -> None:
    for call in HELPERS:
        assert await daemon.call(*call) == []
    for call in (one for one in ALLOWED + FORBIDDEN if one not in HELPERS):
        with pytest.raises(BusError) as raised:
            await daemon.call(*call)
        assert raised.value.name == "org.freedesktop.DBus.Error.AccessDenied"


@pytest.mark.usefixtures("supplicant")
@pytest.mark.parametrize("user", ["wifimgrd-camera"])
async def test_the_camera_process_may_do_what_it_uses_of_bluez_and_nothing_else(
    daemon: BusConnection,
) -> None:
    for call in PROCESS:
        assert await daemon.call(*call) == []
    for call in NOT_THE_PROCESS:
        with pytest.raises(BusError) as raised:
            await daemon.call(*call)
        assert raised.value.name == "org.freedesktop.DBus.Error.AccessDenied"
    objects = (CHECKOUT / "wifimgrd" / "proxies" / "bluez" / "objects.py").read_text()
    used = set(re.findall(r'(?:call|ask|_call_for)\(\s*(?:bytes, )?"(\w+)"', objects)) | {"GetAll"}
    assert used == {member for _, _, _, member in PROCESS}


@pytest.mark.parametrize("user", ["wifimgrd-camera"])
async def test_the_camera_process_answers_the_daemon_and_does_not_call_it(
    bus: MessageBusDaemon, daemon: BusConnection
) -> None:
    hub = await BusConnection.open(bus.address)
    await hub.request_name(names.BUS_NAME)
    hub.serve(hub.reply)
    daemon.serve(daemon.reply)
    await daemon.request_name(cameras.BUS_NAME)
    heard: list[Signal] = []
    await hub.watch(heard.append, sender=cameras.BUS_NAME)
    daemon.emit(cameras.PATH, cameras.BUS_NAME, "SocketWanted", "ttq", [1, 2, 80])

    assert await hub.call(daemon.unique_name, cameras.PATH, bus_names.PEER, "Ping") == []
    assert [signal.body for signal in heard] == [[1, 2, 80]]
    for destination in (names.BUS_NAME, hub.unique_name):
        with pytest.raises(BusError) as raised:
            await daemon.call(destination, names.ROOT_PATH, names.MANAGER, "StartRecording")
        assert raised.value.name == "org.freedesktop.DBus.Error.AccessDenied"
    await hub.close()


async def test_signals_of_wpa_supplicant_arrive(supplicant: BusConnection, daemon: BusConnection) -> None:
    seen: list[Signal] = []
    await daemon.watch(seen.append, interface=wpas.WPAS_INTERFACE, member="ScanDone")
    supplicant.emit(INTERFACE, wpas.WPAS_INTERFACE, "ScanDone", "b", [True])
    await supplicant.round_trip()
    await daemon.round_trip()
    assert [signal.body for signal in seen] == [[True]]


def test_the_daemon_uses_no_method_that_the_policy_forbids() -> None:
    folders = ("daemon/backends", "proxies/networkmanager", "proxies/wpa_supplicant")
    of_each = [list((CHECKOUT / "wifimgrd" / folder).rglob("*.py")) for folder in folders]
    assert all(of_each)
    files = [file for files in of_each for file in files]
    used = "\n".join(file.read_text() for file in files)
    allowed = {member for _, _, _, member in ALLOWED}
    for _, _, _, member in FORBIDDEN:
        assert member in allowed or f'"{member}"' not in used
    for member in (
        "RequestScan",
        "UpdateUnsaved",
        "AddConnectionUnsaved",
        "AddConnection2",
        "ListConnections",
    ):
        assert f'"{member}"' not in used


def test_the_helper_uses_what_its_policy_allows_and_nothing_is_allowed_that_it_does_not_use() -> None:
    files = [CHECKOUT / "wifimgrd" / "helper" / f"_{name}.py" for name in ("networkmanager", "supplicant")]
    called = re.findall(r'\.(?:call|ask)\((?:\w+,)?\s*"(\w+)"', "\n".join(file.read_text() for file in files))
    assert set(called) == {member for *_, interface, member in HELPERS if interface != bus_names.PROPERTIES}


def test_everybody_may_call_each_public_interface() -> None:
    files = (CHECKOUT / "wifimgrd" / "wire" / "introspection").glob("*.xml")
    private = {"org.wifimgrd1.Net", "org.wifimgrd1.Cameras", names.SIMULATOR}
    policy = ElementTree.parse(POLICIES / "org.wifimgrd1.conf").find("policy[@context='default']")
    assert policy is not None
    admitted = {one.get("send_interface") for one in policy.iter("allow")}
    assert {file.stem for file in files} - private <= admitted


def test_every_action_that_the_daemon_checks_is_known_to_polkit_and_granted_to_the_shim() -> None:
    actions = {names.CONNECT, names.MANAGE_DEVICES, names.CONTROL_CAMERAS, names.DIAGNOSE}
    declared = ElementTree.parse(POLICIES / "org.wifimgrd1.policy").iter("action")
    assert {one.get("id") for one in declared} == actions
    rule, _, _ = (POLICIES / "org.wifimgrd1.rules").read_text().partition("});")
    assert set(re.findall(r"action\.id == \"([^\"]+)\"", rule)) == actions
