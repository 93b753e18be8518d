"""Cameras that are keyboards, too, and what is not the hub's, with a real bluetoothd."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.code_blocks import code_blocks

from ..guest.deadline import poll_until
from ..guest.namespace import run
from .world import BLUETOOTHD, Air, Daemon, until_powered

ADDRESS = "D4:32:60:00:10:01"
_UNFIT = "Bluetooth service 1812"
_INPUTS = Path("/proc/bus/input/devices")


def paired() -> str:
    """The devices that BlueZ has a bond with."""
    return run("bluetoothctl", "devices", "Paired")


def input_devices() -> str:
    """As the kernel lists them."""
    return _INPUTS.read_text() if _INPUTS.exists() else ""


async def test_a_camera_that_is_a_keyboard_too_is_not_paired(air: Air, hub: Daemon) -> None:
    before = input_devices()
    air.do("gopro", number="1001")
    air.do("become_keyboard", "1001")
    name, message, _ = await hub.error_of(hub.pair(ADDRESS))
    assert (name, _UNFIT in message) == ("PairingFailed", True), message
    poll_until(lambda: not air.state("1001")["connected"], "it is disconnected")
    assert ADDRESS not in paired()
    assert air.state("1001")["bonds"] == 0
    assert input_devices() == before
    # Without that service it is a camera as any other, with the services that every GATT server has.
    air.do("gopro", number="1002")
    assert (await hub.pair("D4:32:60:00:10:02"))["ssid"] == b"GP1002"


async def test_a_camera_that_becomes_a_keyboard_while_it_is_connected_is_disconnected(
    air: Air, hub: Daemon
) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    assert air.state("1001")["connected"]
    air.do("become_keyboard", "1001")
    poll_until(lambda: not air.state("1001")["connected"], "it is disconnected")
    await hub.call("GetStatus")
    assert ADDRESS in hub.unfit
    name, message, _ = await hub.error_of(hub.wake(ADDRESS))
    assert (name, _UNFIT in message) == ("WakeFailed", True), message
    await hub.unpair(ADDRESS)
    assert ADDRESS not in paired()


async def test_the_link_and_the_bond_of_another_program_stay(air: Air, hub: Daemon) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    poll_until(lambda: not air.state("1001")["connected"], "it is released")
    device = "/org/bluez/hci0/dev_" + ADDRESS.replace(":", "_")
    run("busctl", "call", "org.bluez", device, "org.bluez.Device1", "Connect")
    await hub.wake(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    await hub.pair(ADDRESS)
    await hub.call("Cancel", "s", ADDRESS)
    assert air.state("1001")["connected"]
    run("busctl", "call", "org.bluez", device, "org.bluez.Device1", "Disconnect")
    air.do("forget", "1001", pairing_mode=True)
    name, message, _ = await hub.error_of(hub.pair(ADDRESS))
    assert (name, "has not made the bond" in message) == ("PairingFailed", True), message
    assert ADDRESS in paired()


@pytest.fixture
def no_input_plugins(air: Air) -> Iterator[None]:
    """bluetoothd as docs/bluetooth.md says for a hub without a keyboard."""
    [block] = [one for one in code_blocks("docs/bluetooth.md") if one.where.endswith("no-input.conf")]
    file = Path(block.where)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block.text)
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", BLUETOOTHD)
    until_powered()
    yield
    file.unlink()
    run("systemctl", "daemon-reload")


@pytest.mark.usefixtures("no_input_plugins")
async def test_a_hub_without_a_keyboard_runs_bluetoothd_without_its_input_plugins(
    air: Air, hub: Daemon
) -> None:
    assert run("systemd-analyze", "--man=no", "verify", "bluetooth.service") == ""
    pid = run("systemctl", "show", "--value", "-p", "MainPID", BLUETOOTHD).strip()
    assert run("ps", "-o", "args=", "-p", pid).split()[1:] == ["--noplugin=hog,input"]
    said = run("journalctl", "-o", "cat", f"_PID={pid}")
    for plugin in ("hog", "input"):
        assert f"Excluding (cli) {plugin}\n" in said, said
    await hub.until_state("ready")
    air.do("gopro", number="1001")
    assert (await hub.pair(ADDRESS))["ssid"] == b"GP1001"
