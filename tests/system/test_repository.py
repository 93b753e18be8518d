"""A repository for apt, by `make repository`: installed from, upgraded from 0.1.0, not trusted blindly."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.first_packages import VERSION as FIRST
from tests.system.conftest import OTHER_KEY, serve
from tests.system.hub import DEVICE, UNIT, Hub
from tests.system.machine import Machine
from wifimgrd import __version__

pytestmark = pytest.mark.slow

SOURCES = "/etc/apt/sources.list.d/wifimgrd.sources"
APT = "DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 --quiet -y"
UPGRADE = f"{APT.replace('apt-get', 'apt')} -o Dpkg::Options::=--force-confold upgrade"
"""As the page has it; `apt-get upgrade` would install no package that is needed anew."""
SIMULATED = '[backend]\nname = "simulated"\n'


@pytest.fixture(scope="session")
def lines(repository: Path) -> list[str]:
    """What the repository's own page tells a person to type."""
    [printed, *_] = re.findall(r"<pre>\n(.*?)</pre>", (repository / "index.html").read_text(), re.DOTALL)
    return unescape(printed).splitlines()


@pytest.fixture
def machine(bare: list[Path], packages: Path, repository: Path) -> Iterator[Machine]:
    """A Debian without wifimgrd that reaches the repository, and no other host."""
    with Machine(bare, packages) as machine:
        serve(repository, machine)
        yield machine


def version(machine: Machine) -> str:
    return machine.sh("dpkg-query --show --showformat '${Version}' wifimgrd")


def test_the_three_lines_of_its_page_install_it(machine: Machine, lines: list[str]) -> None:
    assert len(lines) == 3
    for line in lines:
        machine.sh(line)
    hub = Hub(machine)
    assert (version(machine), hub.show("ActiveState")) == (__version__, "active")
    machine.sh("curl -fs http://127.0.0.1:8080/healthz")  # apt installs what it recommends


def test_another_key_s_signature_is_refused(
    machine: Machine, lines: list[str], gnupg: dict[str, str], suite: str
) -> None:
    machine.sh(lines[0])
    export = ["gpg", "--batch", "--armor", "--export", OTHER_KEY]
    armor = subprocess.run(export, check=True, stdout=subprocess.PIPE, text=True, env=gnupg).stdout
    stanza, _, _ = machine.sh(f"cat {SOURCES}").partition("Signed-By:")
    other = "".join(f" {line or '.'}\n" for line in armor.splitlines())
    machine.write(SOURCES, f"{stanza}Signed-By:\n{other}")
    done = machine.run("apt-get", "update", check=False)
    assert done.returncode != 0
    assert f"The repository 'http://127.0.0.1:8000 {suite} InRelease' is not signed" in done.stderr
    assert machine.sh("apt-cache madison wifimgrd") == ""


def test_it_can_be_installed_from_a_disk(machine: Machine, lines: list[str]) -> None:
    machine.sh("mkdir /media/stick; mount --bind /host/repository /media/stick")
    machine.sh(lines[0].replace("http://127.0.0.1:8000", "file:///media/stick"))
    machine.sh(f"sed -i 's|^URIs: .*|URIs: file:///media/stick|' {SOURCES}")
    machine.sh(f"{APT} update; {APT} install wifimgrd")
    assert version(machine) == __version__


def test_an_upgrade_from_the_first_version_keeps_cameras_links_and_configuration(
    machine: Machine, lines: list[str]
) -> None:
    machine.sh(
        f"{lines[0]}; {APT} update; "
        f"{APT} install --no-install-recommends wifimgrd={FIRST} wifimgrd-http={FIRST}"
    )
    hub = Hub(machine)
    hub.configure("simulated", SIMULATED)
    machine.run("systemctl", "restart", UNIT)
    devices = [hub.add(1), hub.add(2)]
    machine.sh("sed -i 's/^grace_s = 10/grace_s = 12/' /etc/wifimgrd/wifimgrd.toml")
    attempts = [hub.property(f"{DEVICE}{one}", "Device", "LastConnectionAttempt") for one in devices]
    machine.sh(UPGRADE)
    assert version(machine) == __version__
    machine.wait_until(lambda: hub.show("ExecMainStatus") == "78", "the hub has no simulator")
    assert "in the package wifimgrd-simulator, which is not installed" in hub.journal()
    machine.sh(f"{APT} install wifimgrd-simulator; systemctl restart {UNIT}")
    assert hub.show("ActiveState") == "active"
    assert "grace_s = 12" in machine.sh("cat /etc/wifimgrd/wifimgrd.toml")
    for device, attempt in zip(devices, attempts, strict=True):
        assert hub.property(f"{DEVICE}{device}", "Device", "State") == "connected"
        assert hub.property(f"{DEVICE}{device}", "Device", "LastConnectionAttempt") == attempt
    failed = machine.sh("systemctl --failed --no-legend --plain")
    assert failed == "", hub.journal("--unit=wifimgrd-http.socket", "--unit=wifimgrd-http.service")
    assert "Traceback" not in hub.journal()

    downgrade = f"{APT} install wifimgrd={FIRST} wifimgrd-http={FIRST}"
    refused = machine.run("bash", "-c", downgrade, check=False)
    assert "Packages were downgraded and -y was used without --allow-downgrades" in refused.stderr
    machine.sh(f"{downgrade} --allow-downgrades -o Dpkg::Options::=--force-confold")
    assert version(machine) == FIRST
    assert "the state was written by a newer version of the daemon" in hub.journal()
    machine.sh(f"{UPGRADE}; {APT} install wifimgrd-simulator; systemctl restart {UNIT}")
    names = [hub.property(f"{DEVICE}{one}", "Device", "Name") for one in devices]
    assert names == ["SIM-CAM-1", "SIM-CAM-2"]

    machine.sh(
        f"rm /etc/wifimgrd/wifimgrd.toml.d/simulated.toml {SOURCES}; {APT} purge 'wifimgrd*'; {APT} clean"
    )
    assert machine.sh("find / -xdev -name '*wifimgr*' -not -path '/tmp/*' -not -path '/run/*'") == ""
