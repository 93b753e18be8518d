"""The bridge to ground stations as a package and a unit, with a station that speaks MAVLink."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.system.conftest import APT_INSTALL
from tests.system.hub import STATIONS, Hub, exposure
from tests.system.machine import Machine

pytestmark = pytest.mark.slow

USER = "wifimgrd-mavlink"
STATE = "/var/lib/wifimgrd-mavlink"
KEY = "/etc/wifimgrd/mavlink-key"
LISTENING = '[mavlink]\nconnection = "udpin:127.0.0.1:14560"\n'
STATION = """
import socket, struct, sys
sys.path.insert(0, "/usr/lib/python3/dist-packages")
from wifimgrd.mavlink import _frames as wire

station = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
station.settimeout(0.5)
for number in range(60):  # until the bridge listens
    values = {"command": 2501, "target_system": 1, "target_component": 100}
    station.sendto(wire.frame(wire.COMMAND_LONG, values, 255, 190, number), ("127.0.0.1", 14560))
    try:
        while True:
            data = station.recv(2048)
            command, result = struct.unpack_from("<HB", data[10 : 10 + data[1]].ljust(10, b"\\0"))
            if data[7:10] == bytes((77, 0, 0)) and command == 2501 and result not in (1, 5):  # not yet
                print(data[6], result)
                sys.exit()
    except TimeoutError:
        pass
"""
"""A ground station that stops a recording, and prints the component that answers, and its last answer."""


def exists(machine: Machine, path: str) -> bool:
    return machine.run("test", "-e", path, check=False).returncode == 0


@pytest.fixture(scope="module")
def with_package(machine: Machine) -> Machine:
    """The package is installed."""
    machine.sh(f"{APT_INSTALL} /host/wifimgrd-mavlink_*.deb")
    return machine


@pytest.fixture
def bridged(with_package: Machine, hub: Hub) -> Iterator[Hub]:
    """The hub has a connected camera of a model with a driver, and listens for ground stations."""
    add = ("wifimgrctl", "add", "--codename", "insta360-x3", "--ssid", "SIM-CAM-1", "--password-stdin")
    hub.machine.run(*add, stdin="camera-pass-1\n")
    hub.until(1, "connected")
    hub.configure("mavlink", LISTENING)
    hub.machine.run("systemctl", "restart", STATIONS)
    yield hub
    hub.machine.run("systemctl", "stop", STATIONS)


def test_without_a_connection_in_the_configuration_it_ends_without_an_error(
    with_package: Machine, hub: Hub
) -> None:
    hub.machine.run("systemctl", "restart", STATIONS)
    hub.machine.wait_until(lambda: hub.show("ActiveState", STATIONS) == "inactive", "it has ended")
    assert (hub.show("Result", STATIONS), hub.show("NRestarts", STATIONS)) == ("success", "0")
    assert hub.show("UnitFileState", STATIONS) == "enabled"


def test_its_sandbox_is_as_tight_as_promised(bridged: Hub) -> None:
    assert exposure(bridged.machine, STATIONS) <= 1.2


def test_it_runs_as_its_own_user_with_a_state_folder_of_its_own(bridged: Hub) -> None:
    machine = bridged.machine
    process = machine.run("cat", f"/proc/{bridged.show('MainPID', STATIONS)}/status").stdout
    assert f"Uid:\t{machine.run('id', '-u', USER).stdout.strip()}\t" in process
    assert re.search(r"^CapEff:\t0{16}$", process, re.MULTILINE)
    kept = f"{STATE}/components.json"
    machine.wait_until(lambda: exists(machine, kept), "the components are kept")
    assert machine.sh(f"stat -c '%a %U' {STATE} {kept}").split() == ["700", USER, "600", USER]


def test_polkit_allows_it_to_control_a_recording(bridged: Hub) -> None:
    machine = bridged.machine
    machine.wait_until(lambda: exists(machine, f"{STATE}/components.json"), "the camera has a component")
    machine.write("/usr/local/lib/station.py", STATION)
    component, result = machine.run("python3", "/usr/local/lib/station.py").stdout.split()
    assert (component, result) == ("100", "0")


def test_its_key_can_be_a_credential_that_only_root_reads(bridged: Hub) -> None:
    machine = bridged.machine
    machine.write(KEY, "sixteen characters or more\n")
    machine.run("chmod", "600", KEY)
    bridged.configure("mavlink", f'{LISTENING}signing_key_file = "mavlink-key"\n')
    bridged.override(f"[Service]\nLoadCredential=mavlink-key:{KEY}\n", STATIONS)
    machine.run("systemctl", "restart", STATIONS)
    assert bridged.show("ActiveState", STATIONS) == "active"
    assert "sixteen" not in bridged.journal(f"--unit={STATIONS}")


def test_a_hung_bridge_is_killed_and_comes_back(bridged: Hub) -> None:
    bridged.expect_watchdog(STATIONS)


def test_a_purge_takes_its_state_and_leaves_the_key(with_package: Machine) -> None:
    machine = with_package
    machine.write(KEY, "sixteen characters or more\n")
    machine.write(f"{STATE}/components.json", "{}")
    machine.sh("DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 --quiet -y purge wifimgrd-mavlink")
    assert not exists(machine, STATE)
    assert exists(machine, KEY)
    machine.run("rm", KEY)
