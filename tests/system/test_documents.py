"""The commands that documents print for a Debian with the packages, typed by a person who may use sudo."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.code_blocks import DOCUMENTS, CodeBlock, blocks_at, code_in_lines
from tests.docs.terminal import Terminal
from tests.system.conftest import APT_INSTALL, serve
from tests.system.hub import Hub
from tests.system.machine import Machine, image_of

README = "README.md"
PERSON = "maria"
BLOCKS = blocks_at("installed")
TOOLS = {"systemctl": 2, "journalctl": 1}
"""Programs whose commands stand in lines, too, and how many arguments make one that can be typed."""


@pytest.fixture(scope="module")
def machine(packages: Path, repository: Path) -> Iterator[Machine]:
    """Debian 12 as the README begins with it: without wifimgrd, whose packages are served, and in `dist`."""
    with Machine([image_of("bookworm")], packages) as machine:
        machine.sh(f"useradd --create-home --shell /bin/bash {PERSON}; ln -s /host /home/{PERSON}/dist")
        machine.write("/etc/sudoers.d/person", f"{PERSON} ALL=(ALL) NOPASSWD: ALL\n")
        serve(repository, machine)
        yield machine


@pytest.fixture(scope="module")
def hub(machine: Machine) -> Hub:
    """Installed as the README does it; then with adapters and cameras, one of them with a wrong password."""
    with Terminal(machine.login(PERSON)) as terminal:
        for block in BLOCKS[README]:
            terminal.run(block)
    # Some of the commands are for hosts with NetworkManager, Bluetooth, the bridges, or a broker.
    machine.sh(
        f"{APT_INSTALL} network-manager bluez mosquitto "
        "/host/wifimgrd-mqtt_*.deb /host/wifimgrd-mavlink_*.deb /host/wifimgrd-simulator_*.deb"
    )
    hub = Hub(machine)
    hub.configure("simulated", '[backend]\nname = "simulated"\n')
    machine.run("systemctl", "restart", "wifimgrd")
    for number, password, state in (
        (1, "camera-pass-1", "connected"),
        (2, "no-such-password", "disconnected"),
        (3, "camera-pass-3", "connected"),
    ):
        add = f"wifimgrctl add --ssid SIM-CAM-{number} --password-stdin"
        # Members of the group may give commands.
        machine.run(*shlex.split(add), user=PERSON, stdin=f"{password}\n")
        hub.until(number, state)
    return hub


def test_the_readme_installs_it(hub: Hub) -> None:
    assert hub.show("UnitFileState") == "enabled"


@pytest.mark.parametrize("document", [one for one in BLOCKS if one != README])
def test_commands_in_blocks(hub: Hub, document: str) -> None:
    with Terminal(hub.machine.login(PERSON)) as terminal:
        for block in BLOCKS[document]:
            terminal.run(block)


def commands_in_lines() -> list[str]:
    found = {code for document in DOCUMENTS for _, code in code_in_lines(document)}
    return sorted(
        code for code in found if (words := code.split())[0] in TOOLS and len(words) > TOOLS[words[0]]
    )


@pytest.mark.parametrize("command", commands_in_lines())
def test_commands_in_lines(hub: Hub, command: str) -> None:
    as_root = f"sudo SYSTEMD_EDITOR=true {command.removeprefix('sudo ')}\n"
    with Terminal(hub.machine.login(PERSON)) as terminal:
        terminal.run(CodeBlock("a line", 1, "sh", "installed", as_root))
