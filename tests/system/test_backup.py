"""What an administrator does with the hub as a whole: a report of a fault, a backup, a replacement."""

from __future__ import annotations

from tests.system.hub import DEVICE, UNIT, Hub


def test_a_backup_makes_a_replacement_computer_the_same_hub(hub: Hub) -> None:
    machine = hub.machine
    hub.add(1)
    hub.add(2)
    machine.run("wifimgrctl", "remove", "1")
    machine.sh("rm -f /root/hub.backup; wifimgrctl backup /root/hub.backup")
    assert machine.sh("stat -c '%a %U' /root/hub.backup").split() == ["600", "root"]
    assert hub.property(f"{DEVICE}2", "Device", "State") == "connected"

    refused = machine.run("wifimgrctl", "restore", "/root/hub.backup", check=False)
    assert refused.returncode == 1
    assert "stop it first" in refused.stderr
    machine.sh(f"systemctl stop {UNIT}; rm -rf /var/lib/wifimgrd/*; wifimgrctl restore /root/hub.backup")
    assert machine.sh("stat -c '%a %U' /var/lib/wifimgrd/wifimgrd.db").split() == ["600", "wifimgrd"]
    hub.start()
    machine.run("wifimgrctl", "connect", "2")
    assert hub.add(3) == 3, "the id of the removed device is not given again"
    assert machine.run("wifimgrctl", "backup", "/root/hub.backup", check=False).returncode == 1


def test_a_backup_while_the_daemon_is_stopped_leaves_the_state_its_own(hub: Hub) -> None:
    hub.add(1)
    hub.machine.sh(f"systemctl stop {UNIT}; rm -f /root/hub.backup; wifimgrctl backup /root/hub.backup")
    assert hub.machine.sh("find /var/lib/wifimgrd ! -user wifimgrd") == ""
    hub.start()


def test_root_alone_makes_backups(hub: Hub) -> None:
    for command in ("backup", "restore"):
        done = hub.machine.run("wifimgrctl", command, "/tmp/mine", check=False, user="wifimgrd-http")
        assert done.returncode == 1
        assert "only root can" in done.stderr


def test_a_report_says_what_happened_and_names_nobody(hub: Hub) -> None:
    hub.add(1)
    hub.machine.run(
        *("wifimgrctl", "add", "--ssid", "SIM-CAM-OFF", "--name", "Tail Of Martha", "--password-stdin"),
        stdin="camera-pass-off\n",
    )
    hub.until(2, "disconnected")
    output = hub.machine.run("wifimgrctl", "diagnose").stdout
    for title in ("Versions", "Hub", "Units", "NetworkManager's devices", "Journal of wifimgrd"):
        assert f"== {title} ==" in output
    assert "(device 1): connected through wlan0" in output
    assert '"connection_error_code": "device-not-reachable"' in output
    for name in ("SIM-CAM", "Martha", "camera-pass", "02:00:00:00:00", "ground-station"):
        assert name not in output


def test_a_report_is_made_where_the_daemon_is_away(hub: Hub) -> None:
    hub.machine.sh(f"systemctl stop {UNIT}; systemctl mask --runtime --quiet {UNIT}")
    try:
        output = hub.machine.run("wifimgrctl", "diagnose").stdout
    finally:
        hub.machine.run("systemctl", "unmask", "--runtime", "--quiet", UNIT)
    assert "== Hub ==\nwifimgrd is not running" in output
