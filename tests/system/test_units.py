"""The units in a booted system: who they run as, what they may, what they report, how they come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.system.hub import NET, SHIM, UNIT, Hub, exposure
from tests.system.machine import Machine

PROBE = Path(__file__).with_name("sandbox_probe.py")


def status(machine: Machine, pid: str) -> dict[str, str]:
    text = machine.run("cat", f"/proc/{pid}/status").stdout
    return {key: value.strip() for key, value in re.findall(r"^(\w+):(.*)$", text, re.MULTILINE)}


def test_the_daemon_is_a_user_without_capabilities(hub: Hub) -> None:
    machine = hub.machine
    process = status(machine, hub.show("MainPID"))
    assert process["Uid"].split()[1] == machine.run("id", "-u", "wifimgrd").stdout.strip()
    assert process["Gid"].split()[1] == machine.sh("getent group wifimgrd | cut -d: -f3").strip()
    assert "netdev" not in machine.sh("id -nG wifimgrd").split()
    assert {process[key] for key in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (process["NoNewPrivs"], process["Seccomp"]) == ("1", "2")
    assert machine.sh("stat -c '%a %U' /var/lib/wifimgrd /var/lib/wifimgrd/wifimgrd.db").split() == [
        *("700", "wifimgrd"),
        *("600", "wifimgrd"),
    ]


@pytest.mark.parametrize(("unit", "limit"), [(UNIT, 0.8), (SHIM, 0.5), (NET, 1.7)])
def test_the_sandbox_is_as_tight_as_promised(machine: Machine, unit: str, limit: float) -> None:
    assert exposure(machine, unit) <= limit


def test_the_helper_can_have_files_for_networkd_beside_those_of_others(machine: Machine) -> None:
    folders = "/run/systemd/network /run/systemd/networkd.conf.d"
    assert machine.sh(f"stat -c '%a %U %G' {folders}").splitlines() == ["1775 root wifimgrd-net"] * 2


@pytest.mark.parametrize("unit", [UNIT, SHIM])
def test_each_restriction_holds_in_a_running_unit(machine: Machine, unit: str) -> None:
    name = unit.removesuffix(".service")
    machine.write("/usr/local/lib/probe.py", PROBE.read_text())
    machine.sh(
        "sed -e 's|^Type=.*|Type=oneshot|' "
        f"-e 's|^ExecStart=.*|ExecStart=/usr/bin/python3 /usr/local/lib/probe.py {name}|' "
        "-e '/^Restart/d; /^WatchdogSec/d; /^BusName/d; /^ExecReload/d; /^Requires/d; /^Wants/d' "
        f"/lib/systemd/system/{unit} >/etc/systemd/system/probe.service; systemctl daemon-reload"
    )
    done = machine.run("systemctl", "start", "probe.service", check=False)
    assert done.returncode == 0, machine.sh("journalctl -u probe --no-pager -o cat -n 20")


def test_the_status_says_how_things_stand(hub: Hub) -> None:
    hub.until_status("0 devices, 0 connected, 3 of 3 interfaces free")
    hub.add(1)
    device = hub.add(2)
    hub.until_status("2 devices, 2 connected, 1 of 3 interfaces free")
    hub.machine.run("wifimgrctl", "disconnect", str(device))
    hub.until_status("2 devices, 1 connected, 2 of 3 interfaces free")


def test_it_is_ready_where_networkmanager_is_not(hub: Hub) -> None:
    machine = hub.machine
    machine.sh(f"systemctl stop {UNIT} NetworkManager; systemctl mask --runtime --quiet NetworkManager")
    hub.configure("simulated", '[backend]\nname = "networkmanager"\n')
    hub.start()
    assert hub.property("/org/wifimgrd1", "Manager", "BackendState") == "unavailable"
    hub.until_status("networkmanager is unavailable")
    machine.sh("systemctl unmask --runtime --quiet NetworkManager; systemctl start NetworkManager")
    machine.wait_until(
        lambda: hub.property("/org/wifimgrd1", "Manager", "BackendState") == "ready",
        "the backend is ready",
    )


def test_a_hung_daemon_is_killed_and_comes_back_with_its_links(hub: Hub) -> None:
    machine = hub.machine
    hub.override("[Service]\nWatchdogSec=2\n")
    machine.run("systemctl", "restart", UNIT)
    device = hub.add(1)
    before = hub.property(f"/org/wifimgrd1/devices/{device}", "Device", "LastConnectionAttempt")
    pid = hub.show("MainPID")
    machine.run("kill", "-STOP", pid)
    machine.wait_until(
        lambda: hub.show("ActiveState") == "active" and hub.show("MainPID") not in (pid, "0"),
        "another process serves",
        30,
    )
    assert "Watchdog timeout" in machine.sh(f"journalctl --no-pager -o cat UNIT={UNIT}")
    assert hub.property(f"/org/wifimgrd1/devices/{device}", "Device", "State") == "connected"
    assert hub.property(f"/org/wifimgrd1/devices/{device}", "Device", "LastConnectionAttempt") == before


def test_a_daemon_that_makes_progress_is_left_alone(hub: Hub) -> None:
    hub.override("[Service]\nWatchdogSec=3\n")
    hub.machine.run("systemctl", "restart", UNIT)
    pid = hub.show("MainPID")
    first = hub.show("WatchdogTimestampMonotonic")
    hub.machine.wait_until(
        lambda: int(hub.show("WatchdogTimestampMonotonic")) > int(first) + 4_000_000, "longer than that"
    )
    assert hub.show("MainPID") == pid


@pytest.mark.parametrize("unit", [SHIM, NET])
def test_a_hung_shim_or_helper_is_killed_and_comes_back(hub: Hub, unit: str) -> None:
    hub.expect_watchdog(unit)


def test_restarts_come_ever_later_where_systemd_knows_how_and_it_warns_of_nothing(hub: Hub) -> None:
    machine = hub.machine
    knows = int(machine.sh("systemctl --version").split()[1]) >= 254
    for unit in (UNIT, SHIM):
        machine.run("systemctl", "restart", unit)
        steps, longest = hub.show("RestartSteps", unit), hub.show("RestartMaxDelayUSec", unit)
        assert (steps, longest) == (("6", "1min") if knows else ("", ""))
    # Nothing of systemd's own about any of our files, at this boot or at a reload of all units.
    machine.run("systemctl", "daemon-reload")
    warnings = hub.journal("--boot", "_PID=1", "--priority=warning").splitlines()
    # That is of no file: a process that ends while its group is killed is listed as 0, an error to systemd.
    assert [one for one in warnings if "wifimgrd" in one and "Failed to kill control group" not in one] == []


def test_a_reload_takes_a_good_file_and_keeps_the_links(hub: Hub) -> None:
    device = hub.add(1)
    pid = hub.show("MainPID")
    hub.configure("exclude", '[interfaces]\nexclude = ["wlan2"]\n')
    hub.machine.run("systemctl", "reload", UNIT)
    assert hub.property("/org/wifimgrd1/interfaces/wlan2", "Interface", "State") == "unavailable"
    assert hub.show("MainPID") == pid
    hub.until_status("1 device, 1 connected, 1 of 3 interfaces free")
    assert hub.property(f"/org/wifimgrd1/devices/{device}", "Device", "State") == "connected"


def test_a_reload_refuses_a_bad_file_says_why_and_keeps_the_old_one(hub: Hub) -> None:
    hub.configure("exclude", '[interfaces]\nexclude = ["wlan2"]\n')
    hub.machine.run("systemctl", "reload", UNIT)
    hub.configure("exclude", "[interfaces]\nexclud = []\n")
    assert hub.machine.run("systemctl", "reload", UNIT, check=False).returncode != 0
    assert "exclude.toml: interfaces.exclud: unknown key" in hub.journal()
    assert hub.show("ActiveState") == "active"
    assert hub.property("/org/wifimgrd1/interfaces/wlan2", "Interface", "State") == "unavailable"


def test_the_shim_is_started_by_its_socket_and_serves(hub: Hub) -> None:
    assert hub.show("ActiveState", SHIM) == "inactive"
    listed = hub.machine.sh(
        "curl -sf http://127.0.0.1:8080/plugin-views/platform_plugin_device_manager/devices/wifi/interfaces"
    )
    assert '"total_interfaces":3' in listed.replace(" ", "")
    assert hub.show("ActiveState", SHIM) == "active"
    process = status(hub.machine, hub.show("MainPID", SHIM))
    assert process["Uid"].split()[1] == hub.machine.run("id", "-u", "wifimgrd-http").stdout.strip()
    assert process["CapBnd"] == "0" * 16


def test_the_helper_comes_when_asked_and_has_one_capability(hub: Hub, message_bus: str) -> None:
    machine = hub.machine
    machine.sh(
        "printf 'net.ipv4.conf.all.rp_filter=1\\nnet.ipv4.conf.default.rp_filter=1\\n' | sysctl -q -p -; "
        "ip link add cable0 type veth peer name cable1; ip link set cable0 up; "
        "mkdir -p /run/class-net/cable0/phy80211"  # as that of a wireless interface
    )
    hub.override("[Service]\nBindReadOnlyPaths=/run/class-net:/sys/class/net\n", NET)
    apply = (
        "busctl --system call org.wifimgrd1.Net /org/wifimgrd1/net org.wifimgrd1.Net Apply "
        "'sa(tssss)' 10.77.0.0/24 1 7 10.77.0.1 cable0 192.168.42.1 gopro-hero9"
    )
    assert "Access denied" in machine.run("sh", "-c", apply, check=False).stderr
    # dbus-daemon checks first whether the call may be sent; dbus-broker starts the service, and checks then.
    denied = {"dbus-daemon": "inactive", "dbus-broker": "active"}
    assert hub.show("ActiveState", NET) == denied[message_bus]
    assert machine.sh("nft list ruleset").count("wifimgrd") == 0
    assert machine.sh(f"runuser -u wifimgrd -- {apply}").strip() == 's ""'
    process = status(machine, hub.show("MainPID", NET))
    assert process["Uid"].split()[1] == machine.run("id", "-u", "wifimgrd-net").stdout.strip()
    assert {process[key] for key in ("CapEff", "CapBnd")} == {f"{1 << 12:016x}"}  # CAP_NET_ADMIN
    assert (process["Threads"], hub.show("TasksMax", NET)) == ("1", "1")
    assert machine.run("cat", f"/proc/{process['Pid']}/task/{process['Pid']}/children").stdout == ""
    machine.run("ip", "address", "add", "192.168.42.2/24", "dev", "cable0")
    opened = "busctl --system call org.wifimgrd1.Net /org/wifimgrd1/net org.wifimgrd1.Net Open tqs"
    machine.sh(f"runuser -u wifimgrd -- {opened} 7 9 udp")
    assert "10.77.0.1 : 192.168.42.1" in machine.sh("nft list table ip wifimgrd")
    assert machine.sh("cat /proc/sys/net/ipv4/conf/cable0/rp_filter").strip() == "2"
    machine.run("systemctl", "stop", NET)
    assert machine.sh("nft list ruleset; ip -br link show; ip rule show").count("wifimgrd") == 0
    assert machine.sh("cat /proc/sys/net/ipv4/conf/cable0/rp_filter").strip() == "1"
    machine.sh("ip link del cable0")


def test_wpa_supplicant_writes_nothing_but_its_sockets(machine: Machine) -> None:
    """It runs as root, and writes files that the settings of a network name."""
    machine.run("systemctl", "restart", "wpa_supplicant")
    pid = machine.run("systemctl", "show", "--value", "--property=MainPID", "wpa_supplicant").stdout.strip()
    inside = ("nsenter", f"--target={pid}", "--mount")
    for folder in ("/etc", "/etc/systemd/system", "/usr/bin", "/var/lib", "/root", "/home", "/run", "/tmp"):
        done = machine.run(*inside, "touch", f"{folder}/written", check=False)
        assert "Read-only file system" in done.stderr, folder
    machine.run(*inside, "touch", "/run/wpa_supplicant/written")
    machine.run("rm", "/run/wpa_supplicant/written")
