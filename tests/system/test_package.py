"""The package's life: installed, without the shim, upgraded under load, removed, purged."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.hub import DEVICE, NET, UNIT, Hub
from tests.system.machine import Machine
from wifimgrd import __version__

APT = "DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 --quiet -y --no-install-recommends"

SIMULATED = '[backend]\nname = "simulated"\n'
NO_SIMULATOR = "simulated adapters and cameras are in the package wifimgrd-simulator, which is not installed"


@pytest.fixture
def own_machine(installed: list[Path], packages: Path) -> Iterator[Machine]:
    """A machine for one test alone: what is removed here is there for the others."""
    with Machine(installed, packages) as machine:
        yield machine


@pytest.fixture
def own_hub(own_machine: Machine) -> Hub:
    hub = Hub(own_machine)
    own_machine.sh(f"{APT} install /host/wifimgrd-simulator_*.deb")
    hub.configure("simulated", SIMULATED)
    own_machine.run("systemctl", "restart", UNIT)
    return hub


def test_lintian_has_nothing_to_say(packages: Path) -> None:
    [changes] = packages.glob("*.changes")
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", str(changes)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_after_the_installation_it_runs_and_is_enabled(own_machine: Machine) -> None:
    hub = Hub(own_machine)
    assert (hub.show("ActiveState"), hub.show("UnitFileState")) == ("active", "enabled")
    assert hub.show("NRestarts") == "0"
    chosen = [hub.property("/org/wifimgrd1", "Manager", name) for name in ("Backend", "BackendChoice")]
    assert chosen == ["wpa_supplicant", "NetworkManager is not installed"]
    first_boot = own_machine.run("journalctl", "--boot=-1", f"--unit={UNIT}", "--output=cat").stdout
    assert "Started wifimgrd.service" in first_boot
    # What else fails of the end of a control group in a container, systemd ignores.
    assert not re.search(r"Failed (with result|to start)", first_boot)
    assert own_machine.sh("systemctl --failed --no-legend") == ""


def test_the_documents_are_in_the_package(own_machine: Machine) -> None:
    for page, title in (("", "wifimgrd"), ("operating/", "Operating guide - wifimgrd")):
        text = own_machine.run("curl", "-fs", f"http://127.0.0.1:8080/docs/{page}").stdout
        assert f"<title>{title}</title>" in text


def test_a_hub_has_no_simulator_until_it_is_installed(own_machine: Machine) -> None:
    machine = own_machine
    load = "python3 -c 'import wifimgrd.simulator'"
    assert "No module named 'wifimgrd.simulator'" in machine.run("sh", "-c", load, check=False).stderr
    hub = Hub(machine)
    state = machine.sh("stat -c %Y /var/lib/wifimgrd/wifimgrd.db")
    hub.configure("simulated", SIMULATED)
    machine.run("systemctl", "stop", UNIT)
    assert machine.run("systemctl", "start", UNIT, check=False).returncode != 0
    assert (hub.show("ExecMainStatus"), hub.show("ActiveState")) == ("78", "failed")
    assert NO_SIMULATOR in hub.journal()
    assert machine.sh("stat -c %Y /var/lib/wifimgrd/wifimgrd.db") == state
    machine.sh(f"{APT} install /host/wifimgrd-simulator_*.deb; systemctl restart {UNIT}")
    assert hub.property("/org/wifimgrd1", "Manager", "Backend") == "simulated"


def test_the_helper_needs_no_commands_of_others(own_machine: Machine) -> None:
    machine = own_machine
    assert machine.run("sh", "-c", "command -v ip || command -v nft", check=False).stdout == ""
    apply = "org.wifimgrd1.Net /org/wifimgrd1/net org.wifimgrd1.Net Apply 'sa(tssss)' 10.77.0.0/24 0"
    assert machine.sh(f"runuser -u wifimgrd -- busctl --system call {apply}").strip() == 's ""'
    assert re.search(r"^wifimgrd0\t00004D0A\t", machine.sh("cat /proc/net/route"), re.MULTILINE)
    machine.run("systemctl", "stop", NET)
    assert "wifimgrd0" not in machine.sh("ls /sys/class/net; cat /proc/net/route")


def test_networkmanager_stays_where_an_earlier_version_has_installed_it(machine: Machine) -> None:
    """It depended on NetworkManager, which is suggested now."""
    machine.sh("apt-mark auto network-manager")
    assert "Remv network-manager " not in machine.sh(f"{APT} --simulate autoremove")
    without_suggestions = f"{APT} --simulate -o APT::AutoRemove::SuggestsImportant=false autoremove"
    assert "Remv network-manager " in machine.sh(without_suggestions)


def test_an_upgrade_keeps_links_state_and_configuration(own_hub: Hub) -> None:
    machine = own_hub.machine
    devices = [own_hub.add(1), own_hub.add(2)]
    machine.sh("sed -i 's/^grace_s = 10/grace_s = 12/' /etc/wifimgrd/wifimgrd.toml")
    attempts = [own_hub.property(f"{DEVICE}{one}", "Device", "LastConnectionAttempt") for one in devices]
    pid = own_hub.show("MainPID")
    machine.sh(
        "mkdir /tmp/newer; cd /tmp/newer; for one in /host/*.deb; do "
        f'name=$(basename "$one" _{__version__}_all.deb); dpkg-deb -R "$one" "$name"; '
        f'sed -i "s/^Version: .*/Version: {__version__}+test/; s/(= {__version__})/(= {__version__}+test)/"'
        ' "$name/DEBIAN/control"; '
        # The new version's own configuration file differs, too: the administrator's stays.
        '[ "$name" != wifimgrd ] || echo "# newer" >>"$name/etc/wifimgrd/wifimgrd.toml"; '
        'dpkg-deb --root-owner-group -b "$name" "$name.deb" >/dev/null; done; '
        f"{APT} -o Dpkg::Options::=--force-confold install "
        "./wifimgrd.deb ./wifimgrd-http.deb ./wifimgrd-simulator.deb"
    )
    assert own_hub.show("ActiveState") == "active"
    assert own_hub.show("MainPID") != pid
    assert "grace_s = 12" in machine.sh("cat /etc/wifimgrd/wifimgrd.toml")
    for device, attempt in zip(devices, attempts, strict=True):
        assert own_hub.property(f"{DEVICE}{device}", "Device", "State") == "connected"
        assert own_hub.property(f"{DEVICE}{device}", "Device", "LastConnectionAttempt") == attempt


def test_without_the_shim_the_command_line_works(own_hub: Hub) -> None:
    machine = own_hub.machine
    own_hub.add(1)
    machine.sh(f"{APT} purge wifimgrd-http python3-aiohttp")
    assert "SIM-CAM-1" in machine.run("wifimgrctl", "devices").stdout
    refused = machine.run("wifimgrctl", "tiles", "list", check=False)
    assert refused.returncode == 1
    assert "wifimgrd-http, which is not installed" in refused.stderr


def test_removed_it_keeps_cameras_and_passwords_and_a_purge_takes_them(own_hub: Hub) -> None:
    machine = own_hub.machine
    own_hub.add(1)
    machine.sh(f"{APT} remove wifimgrd")
    assert machine.run("pgrep", "-u", "wifimgrd", check=False).stdout == ""
    assert machine.sh("ls /var/lib/wifimgrd/wifimgrd.db /etc/wifimgrd/wifimgrd.toml")
    machine.sh(f"{APT} install /host/wifimgrd_*.deb /host/wifimgrd-simulator_*.deb")
    assert own_hub.property(f"{DEVICE}1", "Device", "Name") == "SIM-CAM-1"
    machine.sh(
        "rm /etc/wifimgrd/wifimgrd.toml.d/simulated.toml; "
        f"{APT} purge wifimgrd wifimgrd-http wifimgrd-simulator"
    )
    left = machine.sh(
        "find / -xdev -name '*wifimgr*' -not -path '/proc/*' -not -path '/host/*' -not -path '/tmp/*' "
        "-not -path '/var/cache/*' -not -path '/var/log/*' -not -path '/run/*'"
    )
    assert left == ""
