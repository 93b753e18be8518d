"""docs/security.md, "Who owns a process", line by line: in the place of each process, in its unit's sandbox,
with its user's rights on the bus and at polkit, a program does what it can. claims.py has the lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.conftest import APT_INSTALL
from tests.system.hub import NET, Hub
from tests.system.machine import Machine

pytestmark = pytest.mark.slow

INTRUDER = Path(__file__).with_name("intruder.py")
PASSED_SOCKET = Path(__file__).with_name("passed_socket.py")
PASSING = "/usr/local/lib/passed_socket.py"
PROGRAM, MET, OUTCOMES = (
    "/usr/local/lib/intruder.py",
    "/usr/local/lib/intruder.json",
    "/run/intruder-outcomes",
)
SECRET, PASSWORD = "secret-of-the-host", "camera-pass-1"
DENIED = "Access denied"
"""By the bus, whose policy does not have the method."""
NM_CHANGES = (
    "activate any profile",
    "activate a profile that is there",
    "add a profile",
    "end a connection",
    "delete a profile",
    "read secrets",
    "change a profile",
    "switch networking off",
    "have it sleep",
    "switch Wi-Fi off",
    "stop managing a device",
    "disconnect a device",
)
SUPPLICANT_CHANGES = (
    "show keys",
    "register an interface",
    "add a network",
    "set an interface's property",
    "use another method of wpa_supplicant",
)
Outcomes = dict[str, str]
UNITS = ("wifimgrd", "wifimgrd-http", "wifimgrd-mqtt", "wifimgrd-mavlink", "wifimgrd-camera", "wifimgrd-net")


@pytest.fixture(scope="module")
def meeting(machine: Machine) -> Iterator[dict[str, str]]:
    """A host with connections of its own, two interfaces that pass for wireless ones, a hub with a camera."""
    hub = Hub(machine)
    hub.reset()
    hub.configure("simulated", '[backend]\nname = "simulated"\n')
    machine.sh(
        f"{APT_INSTALL} /host/wifimgrd-mqtt_*.deb /host/wifimgrd-mavlink_*.deb /host/wifimgrd-camera_*.deb\n"
        "systemctl start NetworkManager wpa_supplicant polkit\n"
        "nmcli connection add type wifi con-name Home ifname '*' ssid Home autoconnect no "
        f"wifi-sec.key-mgmt wpa-psk wifi-sec.psk {SECRET}\n"
        "nmcli connection add type bridge con-name Uplink ifname uplink0 autoconnect no ipv6.method disabled "
        "ipv4.method manual ipv4.addresses 192.0.2.1/24 ipv4.gateway 192.0.2.254\n"
        "nmcli connection add type bridge con-name Cable ifname cable0 autoconnect no "
        "ipv4.method disabled ipv6.method disabled\n"
        "nmcli connection up Uplink; nmcli connection up Cable\n"
        "ip link add adapter0 type veth peer name adapter1\n"
        "mkdir -p /run/class-net/uplink0/phy80211 /run/class-net/adapter0/phy80211 /run/class-net/lo\n"
        "echo host >/run/systemd/network/90-host.network"
    )
    hub.override("[Service]\nBindReadOnlyPaths=/run/class-net:/sys/class/net\n", NET)
    hub.start()
    assert hub.add(1) == 1
    machine.wait_until(lambda: "uplink0" in machine.sh("ip route show default"), "it is the uplink")
    listed = machine.sh("nmcli -t -f NAME,DBUS-PATH,ACTIVE-PATH connection show").splitlines()
    paths = {name: rest.split(":") for name, _, rest in (line.partition(":") for line in listed)}
    device = machine.sh("nmcli -g GENERAL.DBUS-PATH device show uplink0").strip()
    yield {
        "profile": paths["Home"][0],
        "active": paths["Uplink"][1],
        "device": device,
        "uplink": "uplink0",
        "adapter": "adapter0",
        "cable": "cable0",
    }
    machine.sh(
        "systemctl stop wifimgrd wifimgrd-net; ip link del adapter0; ip route flush table 77; "
        "nmcli -g NAME connection show | grep -xE 'Home|Uplink|Cable|intruder' | "
        "xargs -r nmcli connection delete; "
        "rm -rf /run/systemd/network/90-host.network /run/class-net /etc/systemd/system/intruder.service"
    )


@pytest.fixture(scope="module")
def in_place_of(machine: Machine, meeting: dict[str, str]) -> dict[str, Outcomes]:
    """What came of the program in the place of each unit's process; of the helper, which may most, last."""
    machine.write(PROGRAM, INTRUDER.read_text())
    machine.write(MET, json.dumps(meeting))
    known: dict[str, Outcomes] = {}
    for name in UNITS:
        machine.sh(
            f"sed -e 's|^Type=.*|Type=oneshot\\nStandardOutput=truncate:{OUTCOMES}|' "
            f"-e 's|^ExecStart=.*|ExecStart=/usr/bin/python3 {PROGRAM} {name} {MET}|' "
            # TasksMax: the program acts by commands, what has its place would do the same without.
            "-e '/^Restart/d; /^WatchdogSec/d; /^BusName/d; /^ExecReload/d; /^Requires/d; /^Wants/d' "
            "-e '/^TasksMax/d' "
            f"/lib/systemd/system/{name}.service >/etc/systemd/system/intruder.service; "
            "systemctl daemon-reload"
        )
        done = machine.run("systemctl", "start", "intruder.service", check=False)
        assert done.returncode == 0, machine.sh("journalctl -u intruder --no-pager -o cat -n 30")
        known[name] = json.loads(machine.run("cat", OUTCOMES).stdout)
    return known


@pytest.fixture
def daemon(in_place_of: dict[str, Outcomes]) -> Outcomes:
    return in_place_of["wifimgrd"]


@pytest.fixture
def shim(in_place_of: dict[str, Outcomes]) -> Outcomes:
    return in_place_of["wifimgrd-http"]


@pytest.fixture
def bridge(in_place_of: dict[str, Outcomes]) -> Outcomes:
    return in_place_of["wifimgrd-mqtt"]


@pytest.fixture
def stations(in_place_of: dict[str, Outcomes]) -> Outcomes:
    """In the place of the bridge to ground stations."""
    return in_place_of["wifimgrd-mavlink"]


@pytest.fixture
def camera_process(in_place_of: dict[str, Outcomes]) -> Outcomes:
    return in_place_of["wifimgrd-camera"]


@pytest.fixture
def helper(in_place_of: dict[str, Outcomes]) -> Outcomes:
    return in_place_of["wifimgrd-net"]


def expect(outcomes: Outcomes, acts: tuple[str, ...], words: str) -> None:
    """Expect these acts, and no others than are there, to have ended so."""
    ended = {act: outcomes[act] for act in acts if words not in outcomes[act]}
    assert ended == {}


# -- the daemon


def test_the_daemon_changes_nothing_in_networkmanager_by_itself(daemon: Outcomes) -> None:
    expect(daemon, NM_CHANGES, DENIED)


def test_the_daemon_changes_no_settings_of_wpa_supplicant(daemon: Outcomes) -> None:
    expect(daemon, SUPPLICANT_CHANGES, DENIED)
    assert "knows nothing about this interface" in daemon["look an interface up"]


def test_the_daemon_reads_profiles_without_their_secrets(daemon: Outcomes) -> None:
    assert "Home" in daemon["read a profile"]
    assert SECRET not in json.dumps(daemon)


def test_the_helper_ends_and_deletes_no_profile_of_others_for_the_daemon(daemon: Outcomes) -> None:
    acts = ("end a connection through the helper", "delete a profile through the helper")
    expect(daemon, acts, "not the hub's")


def test_the_helper_activates_nothing_but_on_the_hubs_adapters(daemon: Outcomes, machine: Machine) -> None:
    assert "no wireless interface" in daemon["activate on a cable"]
    for act in ("activate on the host's uplink", "stop managing the host's uplink"):
        assert "uplink0 carries a connection of this host" in daemon[act]
    refused = daemon["activate on another device"]  # by NetworkManager
    assert refused.startswith("refused")
    assert DENIED not in refused
    assert "not a country" in daemon["set the country to a file"]
    assert "wifimgrd-7" not in machine.sh("nmcli -t -f NAME connection show")


def test_the_daemon_writes_its_state_alone(daemon: Outcomes) -> None:
    assert daemon["write its state"] == "done"
    assert daemon["read the state"] == "done"
    expect(daemon, tuple(act for act in daemon if act.startswith("write /")), "refused")


def test_the_daemon_sends_nothing_by_ip(daemon: Outcomes) -> None:
    expect(daemon, ("make a TCP socket", "make an IPv6 socket", "make a packet socket"), "refused")


# -- the shim and the bridge


@pytest.mark.parametrize("name", ["wifimgrd-http", "wifimgrd-mqtt", "wifimgrd-mavlink"])
def test_shim_and_bridges_read_neither_state_nor_passwords(
    in_place_of: dict[str, Outcomes], name: str
) -> None:
    outcomes = in_place_of[name]
    assert outcomes["read the state"].startswith("refused")
    assert "SIM-CAM-1" in outcomes["read all objects"]
    assert PASSWORD not in json.dumps(outcomes)


def test_the_shim_opens_no_connection_by_itself(shim: Outcomes) -> None:
    expect(shim, ("make a TCP socket", "make an IPv6 socket", "make a packet socket"), "refused")


@pytest.mark.parametrize("name", ["wifimgrd-http", "wifimgrd-mqtt", "wifimgrd-mavlink"])
def test_shim_and_bridges_have_no_more_than_every_user_in_the_services(
    in_place_of: dict[str, Outcomes], name: str
) -> None:
    outcomes = in_place_of[name]
    expect(outcomes, (*NM_CHANGES, *SUPPLICANT_CHANGES, "look an interface up"), "refused")
    assert SECRET not in json.dumps(outcomes)


@pytest.mark.parametrize("name", ["wifimgrd-http", "wifimgrd-mqtt"])
def test_shim_and_bridge_control_cameras(in_place_of: dict[str, Outcomes], name: str) -> None:
    assert in_place_of[name]["disconnect a camera"].startswith("done")


def test_the_bridges_get_no_report_of_a_fault(bridge: Outcomes, stations: Outcomes, shim: Outcomes) -> None:
    for outcomes in (bridge, stations):
        assert "not authorized for org.wifimgrd1.diagnose" in outcomes["get a report"]
    assert shim["get a report"].startswith("done")


def test_the_bridge_to_ground_stations_records_and_no_more(stations: Outcomes, shim: Outcomes) -> None:
    assert stations["stop a recording"].startswith("done")
    rights = {"disconnect a camera": "connect", "have the settings read again": "manage-devices"}
    for act, right in rights.items():
        assert f"not authorized for org.wifimgrd1.{right}" in stations[act]
        assert shim[act].startswith("done")


def test_the_bridge_to_ground_stations_writes_its_state_alone(stations: Outcomes) -> None:
    assert stations["write its state"] == "done"
    expect(stations, tuple(act for act in stations if act.startswith("write /")), "refused")


def test_bridges_and_helper_have_no_port_of_their_choice(
    bridge: Outcomes, stations: Outcomes, helper: Outcomes, machine: Machine
) -> None:
    """A container may have no BPF, by which systemd forbids it: then the units say so, and that is all."""
    bind = 'import socket; socket.socket().bind(("127.0.0.1", 8555))'
    run = f"systemd-run --quiet --wait --property=SocketBindDeny=any /usr/bin/python3 -c '{bind}'"
    enforced = machine.run("sh", "-c", run, check=False).returncode != 0
    assert stations["listen on a UDP port"] == "done"
    assert helper["listen on a UDP port"].startswith("refused") == enforced
    for unit, outcomes in (
        ("wifimgrd-mqtt", bridge),
        ("wifimgrd-mavlink", stations),
        ("wifimgrd-net", helper),
    ):
        assert (
            machine.run("systemctl", "show", "--value", "--property=SocketBindDeny", unit).stdout.strip()
            == "any"
        )
        assert outcomes["make a TCP socket"] == "done"
        assert outcomes["listen on a port"].startswith("refused") == enforced


# -- the camera process


def test_the_camera_process_reads_neither_state_nor_passwords(camera_process: Outcomes) -> None:
    assert camera_process["read the state"].startswith("refused")
    assert PASSWORD not in json.dumps(camera_process)


def test_the_camera_process_has_no_network_and_no_files(camera_process: Outcomes) -> None:
    expect(camera_process, ("make a TCP socket", "make an IPv6 socket", "make a packet socket"), "refused")
    expect(camera_process, tuple(act for act in camera_process if act.startswith("write /")), "refused")


def test_the_camera_process_changes_nothing_in_the_services_that_join(camera_process: Outcomes) -> None:
    expect(camera_process, (*NM_CHANGES, *SUPPLICANT_CHANGES, "look an interface up"), "refused")
    assert SECRET not in json.dumps(camera_process)


def test_the_camera_process_does_not_call_the_daemon(camera_process: Outcomes) -> None:
    expect(camera_process, ("read all objects", "disconnect a camera", "get a report"), "refused")


def test_a_connection_that_is_passed_in_works_in_the_camera_process(machine: Machine) -> None:
    """Nothing of its unit forbids an IP socket of somebody else's, and its own are refused."""
    machine.write(PASSING, PASSED_SOCKET.read_text())
    machine.sh(
        f"systemd-run --quiet --unit=camera --service-type=notify /usr/bin/python3 {PASSING} camera\n"
        f"sed -e 's|^Type=.*|Type=oneshot\\nStandardOutput=truncate:{OUTCOMES}|' "
        f"-e 's|^ExecStart=.*|ExecStart=/usr/bin/python3 {PASSING} process|' "
        "-e '/^Restart/d; /^WatchdogSec/d; /^BusName/d' "
        "/lib/systemd/system/wifimgrd-camera.service >/etc/systemd/system/passed.service\n"
        "systemctl daemon-reload"
    )
    done = machine.run("systemctl", "start", "passed.service", check=False)
    said = machine.sh("journalctl -u passed --no-pager -o cat -n 30")
    machine.sh("systemctl stop camera; rm /etc/systemd/system/passed.service; systemctl daemon-reload")
    assert done.returncode == 0, said
    outcomes = json.loads(machine.run("cat", OUTCOMES).stdout)
    assert outcomes == {"answered": 100_000, "own": "refused"}


# -- the helper


def test_the_helper_activates_any_profile_and_that_is_where_it_ends(helper: Outcomes) -> None:
    assert helper["activate any profile"].startswith("done")
    expect(helper, ("read a profile", "end a connection", "delete a profile"), "done")
    acts = (
        *("read secrets", "change a profile", "add a profile"),
        *("switch networking off", "have it sleep", "switch Wi-Fi off", "disconnect a device"),
    )
    expect(helper, acts, DENIED)
    assert (
        DENIED not in helper["activate a profile that is there"]
    )  # by the bus: NetworkManager has it no more
    assert SECRET not in json.dumps(helper)


def test_the_helper_has_wpa_supplicant_show_no_keys(helper: Outcomes) -> None:
    expect(helper, ("show keys", "use another method of wpa_supplicant"), DENIED)
    for act in ("register an interface", "add a network"):
        assert helper[act].startswith("refused")  # by wpa_supplicant, which has no such interface
        assert DENIED not in helper[act]


def test_the_helper_reads_no_state(helper: Outcomes) -> None:
    assert helper["read the state"].startswith("refused")


def test_the_helper_writes_its_files_alone(helper: Outcomes) -> None:
    expect(
        helper, ("write a file for networkd", "remove that file", "write rp_filter", "add a route"), "done"
    )
    expect(helper, tuple(act for act in helper if act.startswith("write /")), "refused")
    expect(helper, ("change a file of the host's", "remove a file of the host's"), "refused")


def test_the_helper_manages_no_unit_but_networkd(helper: Outcomes) -> None:
    expect(helper, ("stop networkd", "start another unit"), "refused")


# -- all of them


@pytest.mark.parametrize("name", UNITS)
def test_no_process_becomes_another_user(in_place_of: dict[str, Outcomes], name: str) -> None:
    acts = ("become root", "become nobody", "gain by a setuid program", "run a unit as root", "make a unit")
    expect(in_place_of[name], acts, "refused")
