"""The system bus: policy, activation, and polkit's word on who may do what."""

from __future__ import annotations

import json

import pytest

from tests.system.hub import DEVICE, UNIT, Hub
from tests.system.machine import Machine


@pytest.fixture(scope="module")
def people(machine: Machine) -> None:
    """alice, a user like any; bob, a member of the group wifimgrd."""
    machine.sh("useradd alice; useradd --groups wifimgrd bob")


def call(machine: Machine, user: str, path: str, interface: str, member: str, *rest: str) -> tuple[int, str]:
    done = machine.run(
        *("busctl", "call", "org.wifimgrd1", path, f"org.wifimgrd1.{interface}", member, *rest),
        check=False,
        user=user,
    )
    return done.returncode, done.stdout + done.stderr


def test_busctl_shows_objects_interfaces_and_answers(hub: Hub) -> None:
    device = hub.add(1)
    machine = hub.machine
    tree = machine.run("busctl", "tree", "--list", "org.wifimgrd1").stdout.split()
    assert {f"{DEVICE}{device}", "/org/wifimgrd1/interfaces/wlan0"} <= set(tree)
    shown = machine.run("busctl", "introspect", "org.wifimgrd1", f"{DEVICE}{device}").stdout
    assert ".Connect" in shown
    assert ".LastSuccessfulConnection" in shown
    status, output = call(machine, "root", "/org/wifimgrd1", "Manager", "GetDevice", "t", str(device))
    assert (status, output) == (0, f'o "{DEVICE}{device}"\n')


def test_a_call_starts_the_stopped_daemon(hub: Hub) -> None:
    hub.machine.run("systemctl", "stop", UNIT)
    assert hub.property("/org/wifimgrd1", "Manager", "TotalInterfaces") == 3
    assert hub.show("ActiveState") == "active"


def test_a_stopped_daemon_stays_so_whatever_the_shim_is_asked(hub: Hub) -> None:
    ask = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/plugin-views/platform_plugin_device_manager/"
    assert hub.machine.sh(f"{ask}devices/") == "200"
    hub.machine.run("systemctl", "stop", UNIT)
    hub.machine.wait_until(lambda: hub.machine.sh(f"{ask}devices/") == "503", "the shim knows")
    assert hub.machine.sh(f"{ask}devices/wifi/connect?device_id=1") == "503"
    assert hub.show("ActiveState") == "inactive"


def test_the_introspection_files_are_installed(machine: Machine) -> None:
    names = machine.sh("ls /usr/share/dbus-1/interfaces").split()
    assert {f"org.wifimgrd1.{name}.xml" for name in ("Manager", "Device", "Interface")} <= set(names)


@pytest.mark.usefixtures("people")
def test_nobody_but_the_daemon_may_own_the_name(hub: Hub) -> None:
    hub.machine.run("systemctl", "stop", UNIT)
    request = (
        *("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"),
        *("RequestName", "su", "org.wifimgrd1", "4"),
    )
    for user in ("alice", "bob", "wifimgrd-http", "root"):
        done = hub.machine.run(*request, check=False, user=user)
        assert done.returncode != 0, user
        assert "not allowed to own" in done.stderr or "Access denied" in done.stderr


@pytest.mark.usefixtures("people")
def test_everybody_may_look(hub: Hub) -> None:
    hub.add(1)
    done = hub.machine.run("wifimgrctl", "--json", "devices", user="alice")
    assert json.loads(done.stdout)[0]["name"] == "SIM-CAM-1"


@pytest.mark.usefixtures("people")
def test_a_user_like_any_is_denied_and_a_member_of_the_group_is_served(hub: Hub) -> None:
    device = hub.add(1)
    path = f"{DEVICE}{device}"
    for member, rest in (("Disconnect", ("a{sv}", "0")), ("Update", ("a{sv}", "1", "name", "s", "Nose"))):
        status, output = call(hub.machine, "alice", path, "Device", member, *rest)
        assert status != 0
        assert "is not authorized for org.wifimgrd1." in output
        assert call(hub.machine, "bob", path, "Device", member, *rest) == (0, "")
    assert call(hub.machine, "alice", "/org/wifimgrd1", "Manager", "RemoveDevice", "o", path)[0] != 0
    assert call(hub.machine, "alice", "/org/wifimgrd1", "Manager", "Reload")[0] != 0
    assert call(hub.machine, "alice", "/org/wifimgrd1", "Manager", "Diagnose", "a{sv}", "0")[0] != 0
    assert call(hub.machine, "bob", "/org/wifimgrd1", "Manager", "Diagnose", "a{sv}", "0")[0] == 0
    assert hub.property(path, "Device", "Name") == "Nose"
    assert call(hub.machine, "bob", "/org/wifimgrd1", "Manager", "RemoveDevice", "o", path)[0] == 0


@pytest.mark.usefixtures("people")
def test_a_call_that_allows_no_dialogue_learns_that_a_password_would_help(hub: Hub) -> None:
    reload = ("/org/wifimgrd1", "org.wifimgrd1.Manager.Reload")
    send = ("dbus-send", "--system", "--print-reply", "--dest=org.wifimgrd1", *reload)
    done = hub.machine.run(*send, check=False, user="alice")
    assert "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired" in done.stderr
    assert hub.machine.run(*send, check=False, user="bob").returncode == 0


@pytest.mark.usefixtures("people")
def test_the_error_has_its_name(hub: Hub) -> None:
    device = hub.add(1)
    done = hub.machine.run(
        *("dbus-send", "--system", "--print-reply", "--dest=org.wifimgrd1", f"{DEVICE}{device}"),
        *("org.wifimgrd1.Device.Connect", "dict:string:boolean:wait,false"),
        check=False,
        user="alice",
    )
    # dbus-send has no a{sv}; who may not is refused only after the arguments were looked at
    assert "org.freedesktop.DBus.Error.InvalidArgs" in done.stderr
    refused = hub.machine.run("wifimgrctl", "--json", "disconnect", str(device), check=False, user="alice")
    assert json.loads(refused.stdout + refused.stderr)["error"]["code"] == "not-authorized"


@pytest.mark.usefixtures("people")
def test_the_simulated_worlds_switches_are_not_for_everybody(hub: Hub) -> None:
    status, _ = call(hub.machine, "bob", "/org/wifimgrd1/simulator", "Simulator", "PlugAdapter", "s", "wlan9")
    assert status != 0


def test_the_shim_is_served(hub: Hub) -> None:
    device = hub.add(1)
    hub.machine.sh(
        "curl -sf 'http://127.0.0.1:8080/plugin-views/platform_plugin_device_manager/devices/wifi/disconnect"
        f"?device_id={device}'"
    )
    hub.until(device, "disconnected")


@pytest.mark.usefixtures("people")
def test_without_polkit_root_is_served_and_everybody_else_denied(hub: Hub) -> None:
    device = hub.add(1)
    path = f"{DEVICE}{device}"
    hub.machine.sh("systemctl stop polkit; systemctl mask --runtime --quiet polkit")
    try:
        status, output = call(hub.machine, "bob", path, "Device", "Disconnect", "a{sv}", "0")
        assert status != 0
        assert "polkit does not answer" in output
        assert call(hub.machine, "root", path, "Device", "Disconnect", "a{sv}", "0") == (0, "")
    finally:
        hub.machine.sh("systemctl unmask --runtime --quiet polkit; systemctl start polkit")


def test_the_actions_say_who_is_asked_for_what(machine: Machine) -> None:
    actions = {
        "connect": "yes",
        "manage-devices": "auth_admin_keep",
        "control-cameras": "yes",
        "diagnose": "yes",
    }
    for action, active in actions.items():
        output = machine.run("pkaction", "--verbose", "--action-id", f"org.wifimgrd1.{action}").stdout
        assert f"implicit active:   {active}" in output
        assert "implicit any:      auth_admin" in output
        assert "org.freedesktop.policykit.owner -> unix-user:wifimgrd" in output


def as_daemon(machine: Machine, *arguments: str) -> str:
    """What comes of a call of the daemon's user."""
    done = machine.run("busctl", "call", *arguments, check=False, user="wifimgrd")
    return done.stdout + done.stderr


def test_the_daemons_user_may_call_what_the_daemon_uses_and_no_more(hub: Hub) -> None:
    machine = hub.machine
    machine.sh("systemctl start NetworkManager wpa_supplicant")
    supplicant = ("fi.w1.wpa_supplicant1", "/fi/w1/wpa_supplicant1")
    networkmanager = ("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager")
    properties = "org.freedesktop.DBus.Properties"

    output = as_daemon(machine, *supplicant, supplicant[0], "GetInterface", "s", "no-interface")
    assert "wpa_supplicant knows nothing about this interface" in output
    assert "Access denied" in as_daemon(machine, *supplicant, supplicant[0], "ExpectDisconnect")
    show_keys = (supplicant[0], "DebugShowKeys", "b", "true")
    assert "Access denied" in as_daemon(machine, *supplicant, properties, "Set", "ssv", *show_keys)

    assert "Access denied" not in as_daemon(
        machine, *networkmanager, properties, "GetAll", "s", networkmanager[0]
    )
    assert "Access denied" in as_daemon(machine, *networkmanager, networkmanager[0], "Sleep", "b", "true")
    settings = (networkmanager[0], networkmanager[1] + "/Settings", networkmanager[0] + ".Settings")
    assert "Access denied" in as_daemon(machine, *settings, "ReloadConnections")
