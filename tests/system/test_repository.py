"""A repository for apt, by `make repository`: installed and upgraded from, not trusted blindly."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final, Self

import pytest

from tests.released_packages import COMMITS, FIRST
from tests.system.conftest import OTHER_KEY, SUITES, serve
from tests.system.hub import BRIDGE, UNIT, Hub
from tests.system.machine import Machine
from wifimgrd import __version__

pytestmark = pytest.mark.slow

SOURCES = "/etc/apt/sources.list.d/wifimgrd.sources"
APT = "DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 --quiet -y"
UPGRADE = f"{APT.replace('apt-get', 'apt')} upgrade"
"""As the page has it; `apt-get upgrade` would install no package that is needed anew."""
PLACES = "/etc/wifimgrd /etc/systemd/system /var/lib/wifimgrd"
UNITS = ("wifimgrd.service", "wifimgrd-http.socket", "wifimgrd-http.service", "wifimgrd-mqtt.service")
TOKEN = "a-token-of-a-test"
OWN = {
    "/etc/wifimgrd/token", "/etc/wifimgrd/wifimgrd.toml.d/90-here.toml",
    "/etc/systemd/system/wifimgrd-http.socket.d/test.conf",
}  # fmt: skip
"""Files of the owner, which a purge leaves."""
DEVICES = "http://127.0.0.1:8088/plugin-views/platform_plugin_device_manager/devices/"
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


@dataclass(frozen=True)
class Upgraded:
    """A hub that was used with an earlier version, and then upgraded."""

    hub: Hub
    before: Kept
    said: str
    """By apt."""


@dataclass(frozen=True)
class Kept:
    """What an upgrade keeps of a hub."""

    devices: list[dict[str, Any]]
    history: list[dict[str, Any]]
    files: dict[str, str]
    """The owner, the mode and the hash of each file of settings, state and units that is of no package."""
    units: dict[str, str]

    @classmethod
    def of(cls, machine: Machine) -> Self:
        """As it is now."""
        listed = machine.sh(
            f"find {PLACES} -type f -not -name '*.db*' -exec sha256sum '{{}}' + | "
            "while read -r hash file; do dpkg -S $file >/dev/null 2>&1 || "
            'echo "$(stat --format=%U:%G:%a $file) $hash $file"; done; '
            "stat --format='%U:%G:%a - %n' /var/lib/wifimgrd /var/lib/wifimgrd/*.db"
        )
        return cls(
            [json.loads(machine.sh(f"wifimgrctl --json status SIM-CAM-{number}")) for number in (1, 2)],
            json.loads(machine.sh("wifimgrctl --json history")),
            {file: kept for kept, file in (line.rsplit(" ", 1) for line in listed.splitlines())},
            {unit: machine.sh(f"systemctl is-enabled {unit} || true").strip() for unit in UNITS},
        )


def used(machine: Machine) -> Hub:
    """A hub as it is after some time: cameras that are wanted and not, settings and units of its owner."""
    hub = Hub(machine)
    hub.configure("90-here", f"{SIMULATED}[link]\ngrace_s = 12\n[http]\nlisten = \"127.0.0.1:8088\"\n"
                  'token_file = "/etc/wifimgrd/token"\n')  # fmt: skip
    machine.write("/etc/wifimgrd/token", f"{TOKEN}\n")
    port = "[Socket]\nListenStream=\nListenStream=127.0.0.1:8088\n"
    hub.override(port, "wifimgrd-http.socket")
    machine.sh(
        "chown root:wifimgrd-http /etc/wifimgrd/token; chmod 640 /etc/wifimgrd/token; "
        "useradd --groups wifimgrd pilot; systemctl disable --quiet --now wifimgrd-mqtt; "
        f"systemctl restart wifimgrd-http.socket {UNIT}"
    )
    hub.add(1)
    hub.add(2)
    machine.sh(
        "wifimgrctl set SIM-CAM-1 --priority 7; wifimgrctl disconnect SIM-CAM-2; "
        "wifimgrctl connect SIM-CAM-2; wifimgrctl disconnect SIM-CAM-2"
    )
    return hub


UPGRADES: Final = [
    (suite, version)
    for suite in SUITES
    for version in {"bookworm": [*COMMITS], "trixie": [FIRST]}[suite]  # each takes half a minute
]


@pytest.fixture(scope="module")
def upgraded(
    earlier: str, bare: list[Path], packages: Path, repository: Path, lines: list[str]
) -> Iterator[Upgraded]:
    """As the page says it: nobody is there to answer a question."""
    with Machine(bare, packages) as machine:
        serve(repository, machine)
        wanted = " ".join(f"{name}={earlier}" for name in ("wifimgrd", "wifimgrd-http", "wifimgrd-mqtt"))
        machine.sh(f"{lines[0]}; {APT} update; {APT} install --no-install-recommends {wanted}")
        hub = used(machine)
        before = Kept.of(machine)
        said = machine.sh(f"{UPGRADE} 2>&1")
        machine.wait_until(lambda: hub.show("ExecMainStatus") == "78", "the hub has no simulator")
        machine.sh(f"{APT} install wifimgrd-simulator; systemctl restart {UNIT}")
        yield Upgraded(hub, before, said)


each_upgrade = pytest.mark.parametrize(("suite", "earlier"), UPGRADES, indirect=["suite"], scope="module")


@each_upgrade
def test_an_upgrade_asks_nothing_and_all_processes_are_of_the_new_version(upgraded: Upgraded) -> None:
    machine, hub = upgraded.hub.machine, upgraded.hub
    assert version(machine) == __version__
    assert "onfiguration file" not in upgraded.said
    assert machine.sh("find /etc -name '*.dpkg-*'") == ""
    assert "in the package wifimgrd-simulator, which is not installed" in hub.journal()
    assert hub.show("ActiveState") == "active"
    assert hub.property("/org/wifimgrd1", "Manager", "Version") == __version__


@each_upgrade
def test_an_upgrade_keeps_cameras_links_and_history(upgraded: Upgraded) -> None:
    now, before = Kept.of(upgraded.hub.machine), upgraded.before
    states = [one["connection_status"] for one in now.devices]
    assert states == ["connected", "disconnected"]
    assert [row["kind"] for row in before.history] == ["session"] * 3
    for is_now, was in ((now.devices, before.devices), (now.history, before.history)):
        for one, kept in zip(is_now, was, strict=True):
            assert {key: one[key] for key in kept} == kept


@each_upgrade
def test_an_upgrade_keeps_what_the_owner_has_set(upgraded: Upgraded) -> None:
    machine = upgraded.hub.machine
    now, before = Kept.of(machine), upgraded.before
    assert now.units == before.units
    assert now.units["wifimgrd-mqtt.service"] == "disabled"
    assert upgraded.hub.show("ActiveState", BRIDGE) == "inactive"
    assert {file: now.files.get(file) for file in before.files} == before.files
    assert {"/etc/wifimgrd/token", "/var/lib/wifimgrd/wifimgrd.db"} <= before.files.keys()
    assert "wifimgrd" in machine.sh("id --name --groups pilot").split()
    assert "SIM-CAM-1" in machine.sh(f"curl -fsH 'Authorization: Bearer {TOKEN}' {DEVICES}")
    assert machine.sh("systemctl --failed --no-legend --plain") == ""
    assert "Traceback" not in upgraded.hub.journal()


@pytest.mark.parametrize(
    ("suite", "earlier"), [(one, FIRST) for one in SUITES], indirect=["suite"], scope="module"
)
def test_a_downgrade_keeps_the_state_for_the_next_upgrade_and_a_purge_takes_it(
    upgraded: Upgraded, earlier: str
) -> None:
    machine, hub = upgraded.hub.machine, upgraded.hub
    downgrade = f"{APT} install wifimgrd={earlier} wifimgrd-http={earlier} wifimgrd-mqtt={earlier}"
    refused = machine.run("bash", "-c", downgrade, check=False)
    assert "Packages were downgraded and -y was used without --allow-downgrades" in refused.stderr
    machine.sh(f"{downgrade} --allow-downgrades")
    assert version(machine) == earlier
    assert "the state was written by a newer version of the daemon" in hub.journal()
    machine.sh(f"{UPGRADE}; {APT} install wifimgrd-simulator; systemctl restart {UNIT}")
    assert [one["name"] for one in Kept.of(machine).devices] == ["SIM-CAM-1", "SIM-CAM-2"]

    machine.sh(
        f"rm {' '.join(sorted(upgraded.before.files.keys() & OWN))} {SOURCES}; "
        f"{APT} purge 'wifimgrd*'; {APT} clean"
    )
    left = machine.sh("find / -xdev -name '*wifimgr*' -not -path '/tmp/*' -not -path '/run/*'")
    assert left == ""
