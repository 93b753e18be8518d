"""The host's Bluetooth: switched off, stopped, killed; what the process may, and what it costs."""

import re
from itertools import groupby
from pathlib import Path

import pytest

from wifimgrd.bus.connection import BusError, Signal, Variant

from ..guest.deadline import poll_until
from ..guest.namespace import run
from .world import BLUETOOTHD, PROCESS, Air, Daemon, daemon, measured, until_powered

PASSWORD = b"dive-1234"
SECURITY = Path("/src/docs/security.md")
DBUS = "org.freedesktop.DBus"
PROPERTIES, OBJECT_MANAGER = DBUS + ".Properties", DBUS + ".ObjectManager"
DOCTYPE = (
    '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"\n'
    ' "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">\n'
)
ADDRESS = "D4:32:60:00:10:01"


async def hear_values(user: Daemon) -> list[bytes]:
    """What characteristics are read as, or notify of, as a local user hears it."""
    heard: list[bytes] = []

    def changed(signal: Signal) -> None:
        properties = signal.body[1]
        assert isinstance(properties, dict)
        if "Value" in properties:
            heard.append(properties["Value"])

    await user.connection.watch(changed, interface=PROPERTIES, member="PropertiesChanged")
    return heard


async def values(user: Daemon) -> list[object]:
    """The values that BlueZ keeps of characteristics, as a local user reads them."""
    [objects] = await user.connection.call("org.bluez", "/", OBJECT_MANAGER, "GetManagedObjects")
    assert isinstance(objects, dict)
    characteristics = (interfaces.get("org.bluez.GattCharacteristic1", {}) for interfaces in objects.values())
    return [one.get("Value") for one in characteristics]


def _text_of(file: Path) -> str:
    return file.read_text()


def write_policy(text: str) -> None:
    """Replace the administrator's own bus policy."""
    file = Path("/etc/dbus-1/system-local.conf")
    if text:
        file.write_text(DOCTYPE + text)
    else:
        file.unlink()
    run("busctl", "call", "--quiet", DBUS, "/org/freedesktop/DBus", DBUS, "ReloadConfig")


async def test_no_adapter(no_radios: None) -> None:
    run("systemctl", "stop", PROCESS)
    async with daemon() as hub:
        assert await hub.call("GetStatus") == ["absent", "this host has no Bluetooth adapter"]
        assert (await hub.error_of(hub.wake(ADDRESS)))[0] == "BluetoothUnavailable"
        assert run("systemctl", "show", "--value", "-p", "ActiveState", BLUETOOTHD).strip() == "inactive"


async def test_rfkill_and_an_adapter_that_is_off(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    run("rfkill", "block", "bluetooth")
    assert await hub.until_state("off") == "Bluetooth is switched off by rfkill: rfkill unblock bluetooth"
    name, message, after_s = await hub.error_of(hub.wake(ADDRESS))
    assert (name, "rfkill" in message, after_s < 1) == ("BluetoothUnavailable", True, True)
    run("rfkill", "unblock", "bluetooth")
    await hub.until_state("ready")
    run("bluetoothctl", "power", "off")
    assert await hub.until_state("off") == "the Bluetooth adapter is switched off: bluetoothctl power on"
    run("bluetoothctl", "power", "on")
    await hub.until_state("ready")
    await hub.wake(ADDRESS)
    # The reason may change once more before it is on: rfkill does not block it any more, and it is still off.
    assert [state for state, _ in groupby(state for state, _ in hub.states)] == ["off", "ready"] * 2


async def test_bluetoothd_that_is_stopped_stays_so_and_one_that_is_killed_is_followed(
    air: Air, hub: Daemon
) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    run("systemctl", "stop", BLUETOOTHD)
    assert await hub.until_state("off") == "bluetoothd is not running: systemctl start bluetooth"
    name, _, after_s = await hub.error_of(hub.wake(ADDRESS))
    assert (name, after_s < 1) == ("BluetoothUnavailable", True)
    assert run("systemctl", "show", "--value", "-p", "ActiveState", BLUETOOTHD).strip() == "inactive"
    run("systemctl", "start", BLUETOOTHD)
    until_powered()
    await hub.until_state("ready")
    await hub.wake(ADDRESS)
    run("systemctl", "kill", "--signal=KILL", BLUETOOTHD)
    await hub.until_state("off")
    run("systemctl", "reset-failed", BLUETOOTHD)
    run("systemctl", "start", BLUETOOTHD)
    until_powered()
    await hub.until_state("ready")
    await hub.wake(ADDRESS)
    air.do("gopro", number="1002")
    assert (await hub.pair("D4:32:60:00:10:02"))["ssid"] == b"GP1002"


async def test_the_process_is_small_and_has_no_rights(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    pid = run("systemctl", "show", "--value", "-p", "MainPID", PROCESS).strip()
    status = run("cat", f"/proc/{pid}/status")
    values = dict(re.findall(r"^(\w+):\s+(.*)$", status, re.MULTILINE))
    measured(f"resident: {values['VmRSS']}, at most {values['VmHWM']}")
    assert int(values["VmHWM"].split()[0]) < 30 * 1024
    assert {values[key] for key in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (values["NoNewPrivs"], values["Seccomp"], values["Threads"]) == ("1", "2", "1")
    assert values["Uid"].split()[1] == run("id", "-u", "wifimgrd-camera").strip()


_Call = tuple[str, str, str, str, list[object]]
_ALLOWED: list[_Call] = [
    ("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "", []),
    ("/org/bluez/hci0", "org.freedesktop.DBus.Properties", "GetAll", "s", ["org.bluez.Adapter1"]),
]
_POWER_OFF: list[object] = ["org.bluez.Adapter1", "Powered", Variant("b", False)]
_FORBIDDEN: list[_Call] = [
    ("/org/bluez/hci0", "org.freedesktop.DBus.Properties", "Set", "ssv", _POWER_OFF),
    ("/org/bluez", "org.bluez.AgentManager1", "RequestDefaultAgent", "o", ["/agent"]),
    ("/org/bluez", "org.bluez.ProfileManager1", "UnregisterProfile", "o", ["/profile"]),
    ("/org/bluez/hci0", "org.bluez.GattManager1", "UnregisterApplication", "o", ["/"]),
    ("/org/bluez/hci0", "org.bluez.Adapter1", "GetDiscoveryFilters", "", []),
]


async def test_the_bus_passes_only_what_the_process_uses(air: Air) -> None:
    async with daemon("wifimgrd-camera") as process:
        for path, interface, member, signature, body in _ALLOWED:
            await process.connection.call("org.bluez", path, interface, member, signature, body)
        for path, interface, member, signature, body in _FORBIDDEN:
            with pytest.raises(BusError) as raised:
                await process.connection.call("org.bluez", path, interface, member, signature, body)
            assert raised.value.name == "org.freedesktop.DBus.Error.AccessDenied", member


async def test_only_the_daemon_may_call(air: Air, hub: Daemon) -> None:
    await hub.call("GetStatus")
    async with daemon("nobody") as stranger:
        with pytest.raises(BusError) as raised:
            await stranger.call("GetStatus")
    assert raised.value.name == "org.freedesktop.DBus.Error.AccessDenied"


async def test_who_can_read_the_password(air: Air, hub: Daemon) -> None:
    """docs/security.md, "Cameras over Bluetooth"."""
    air.do("gopro", number="1001")
    async with daemon("nobody") as stranger:
        heard = await hear_values(stranger)
        await hub.pair(ADDRESS)
        await hub.call("Release", "s", ADDRESS)
        assert PASSWORD in heard
        assert PASSWORD in await values(stranger)
        await hub.unpair(ADDRESS)
        assert PASSWORD not in await values(stranger)
    air.do("forget", "1001", pairing_mode=True)
    write_policy(re.findall(r"```xml\n(.*?)```", _text_of(SECURITY), re.DOTALL)[0])
    try:
        async with daemon("nobody") as stranger:
            heard = await hear_values(stranger)
            assert (await hub.pair(ADDRESS))["password"].encode() == PASSWORD
            with pytest.raises(BusError) as raised:
                await values(stranger)
            assert raised.value.name == "org.freedesktop.DBus.Error.AccessDenied"
            await stranger.connection.round_trip()
            assert heard == []
    finally:
        write_policy("")


async def test_it_ends_by_itself_and_disconnects(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    run("systemctl", "stop", PROCESS)
    poll_until(lambda: not air.state("1001")["connected"], "it has disconnected")
    assert await hub.bonds(ADDRESS)
