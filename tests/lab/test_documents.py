"""The commands that documents print for a hub with real cameras, and for other hosts of its network."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.code_blocks import blocks_at, code_blocks
from tests.docs.terminal import Terminal

from .guest import hwsim
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import NAMESPACES, Namespace, run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.whole_hub import whole_hub

ADDRESSES = "docs/addresses.md"
LAB = "tests/lab/README.md"
BACKENDS = "docs/backends.md"
"""Its commands run in test_other_owners.py and test_backend_change.py."""
BLOCKS = blocks_at("lab")
NAMES = {"Nose": "4K2P1C", "Tail": "9M5T7A"}
"""The cameras in the documents, and the serial number of each."""
INFO = '{"manufacturer": "Insta360", "model": "Insta360 X3", "serialNumber": "%s", "gps": false}\n'
FIRST_S = 30.0
"""The helper's first start on a busy machine is in it."""


@pytest.fixture
def sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest has root alone, and no sudo."""
    program = tmp_path / "sudo"
    program.write_text('#!/bin/sh\n[ "$1" != -u ] || exec runuser "$@"\nexec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.fixture
def other_host(tmp_path: Path) -> Iterator[Namespace]:
    """A machine in a network of the hub's."""
    machine = Namespace("lan", tmp_path)
    machine.create()
    run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", machine.name)
    run("ip", "address", "add", "192.168.8.10/24", "dev", "lan0")
    run("ip", "link", "set", "lan0", "up")
    machine.run("ip", "address", "add", "192.168.8.20/24", "dev", "eth0")
    machine.run("ip", "link", "set", "eth0", "up")
    yield machine
    machine.delete()


def fetched(*curl: str) -> str:
    """A camera's description, or why there is none."""
    try:
        return run(*curl, "curl", "-sS", "-m", "5", "http://10.77.0.2/osc/info")
    except RuntimeError as error:
        return str(error)


def test_each_document_with_such_commands_has_a_test() -> None:
    assert set(BLOCKS) == {ADDRESSES, BACKENDS, LAB}
    assert set(blocks_at("other-host")) == {ADDRESSES}


@pytest.mark.usefixtures("sudo")
async def test_addresses(
    nm: NetworkManager,
    adapters: Callable[..., Adapter],
    cameras: Callable[..., Camera],
    other_host: Namespace,
) -> None:
    [share] = [
        block for block in code_blocks(ADDRESSES) if block.language == "toml" and "share" in block.text
    ]
    for _ in NAMES:
        await nm.wait_for_state(adapters().interface, DeviceState.DISCONNECTED)
    async with whole_hub(share.text) as hub:
        for name, number in NAMES.items():
            camera = cameras(name, ssid=f"X3 {number}.OSC")
            camera.publish("osc/info", INFO % number)
            settings = {"ssid": camera.ssid.decode(), "password": camera.password}
            body = {"codename": "insta360-x3", "name": name, "connection_type": "wifi"}
            status, device = await hub.ask("POST", "/", json=body | {"connection_settings": settings})
            assert status == 201
            await hub.until(device["id"], "connected")
        poll_until(lambda: fetched() == INFO % NAMES["Tail"], "a camera at its address", FIRST_S)
        places = {"lab": [], "other-host": ["ip", "netns", "exec", other_host.name]}
        for block in code_blocks(ADDRESSES):
            if block.where in places:
                with Terminal(places[block.where]) as terminal:
                    await asyncio.to_thread(terminal.run, block)
        from_there = places["other-host"]
        poll_until(lambda: fetched(*from_there) == INFO % NAMES["Tail"], "a camera from another host")


def test_looking_around_in_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/host")
    try:
        with Terminal() as terminal:
            for block in BLOCKS[LAB]:
                terminal.run(block)
        assert "1.1" in hwsim.radios()
        assert [one.name for one in NAMESPACES.glob("*")] == ["cam-A"]
    finally:
        # What was typed may have failed anywhere, and its failure is the one to show.
        if Path(NAMESPACES, "cam-A").exists():
            for process in run("ip", "netns", "pids", "cam-A").split():
                run("kill", "-KILL", process)
        Camera("A").down()
        if "1.1" in hwsim.radios():
            hwsim.remove_radio("1.1")
