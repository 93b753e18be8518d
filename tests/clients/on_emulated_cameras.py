"""Published clients of cameras, as they are, drive the emulated ones, at the cameras' addresses and ports.

`make test-all` installs them: open-gopro and goprocam, and insta360, which needs another protobuf and is
under the GPL: it is called here, and nothing of it is part of this project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.driven_insta360 import PROGRAM, Insta360
from tests.helper.small_world import small_world
from tests.namespaces import in_network, namespaces

CHECKOUT: Final = Path(__file__).parents[2]
CLIENTS: Final = CHECKOUT / ".camera-clients"
EMULATORS: Final = "wifimgrd.simulator.emulators"
ADDRESSES: Final = ("10.5.5.9", "172.22.189.51", "192.168.42.1", "192.168.42.2")
PATIENCE: Final = ("timeout", "--kill-after=5", "60")


@pytest.fixture
def network() -> Iterator[Path]:
    """One in which cameras' addresses are this host's."""
    added = "\n".join(f"ip address add {address}/32 dev lo" for address in ADDRESSES)
    with namespaces(f"ip link set lo up\n{added}") as pid:
        yield Path(f"/proc/{pid}/ns/net")


@contextmanager
def started(network: Path, *command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with in_network(network):
        process = subprocess.Popen(
            [*PATIENCE, sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env=os.environ | environment,
        )
    with process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def camera(network: Path, *arguments: str) -> Iterator[None]:
    """An emulated camera, once it answers."""
    with started(network, "-m", EMULATORS, *arguments) as process:
        assert process.stdout is not None
        for _ in range(sum(argument.startswith("--listen") for argument in arguments)):
            assert process.stdout.readline().startswith("listening on ")
        yield


def told(network: Path, program: str, *arguments: str) -> Any:
    """What a client has printed at its end."""
    program = str(Path(__file__).parent / program)
    with started(network, program, *arguments, PYTHONPATH=str(CLIENTS / "gopro")) as process:
        output = process.communicate()[0]
        assert process.returncode == 0
    return json.loads(output)


@contextmanager
def insta360(network: Path, address: str) -> Iterator[Insta360]:
    """The client of the camera at this address."""
    with started(network, str(PROGRAM), address, PYTHONPATH=str(CLIENTS / "insta360")) as process:
        yield Insta360(process)


def test_open_gopro(network: Path) -> None:
    with camera(network, "gopro", "--listen", "172.22.189.51:8080", "--battery", "61", "--card-gb", "32"):
        found = told(network, "with_open_gopro.py", "289")
        times = found.pop("times")
        assert found == {
            "model": "HERO12 Black",
            "firmware": "H23.01.02.32.00",
            "done": [True] * 8,
            "date": "2024_07_05",
            "zone": 60,
            "battery": 61,
            "card_kb": 31_250_000,
            "encoding": [True, False],
            "files": ["100GOPRO/GX010001.MP4"],
            "last": "100GOPRO/GX010001.MP4",
        }
    assert times[0] == times[1]
    assert datetime.fromtimestamp(int(times[0]), UTC).date() == date(2024, 7, 5), "of its own clock"


async def test_open_gopro_behind_the_hub_by_the_cameras_address() -> None:
    """The package takes the address from the serial number, and the hub has it lead to a camera that is at
    10.5.5.9, as all are."""
    async with small_world() as world:
        number, _, interface, own, _ = world.add_camera(1, "10.5.5.9", "10.5.5.20")
        await world.start_helper()
        entry = (number, "172.22.189.51", interface, own, "gopro-hero12")
        assert not await world.lead_to(entry, network="172.22.189.0/24")
        place = Path("/run/netns", world.camera(1))
        with camera(place, "gopro", "--listen", "10.5.5.9:8080", "--battery", "61", "--card-gb", "32"):
            found = told(Path("/run/netns", world.host), "with_open_gopro.py", "289")
    assert (found["model"], found["battery"], found["encoding"]) == ("HERO12 Black", 61, [True, False])
    assert found["files"] == ["100GOPRO/GX010001.MP4"]


def test_goprocam_on_a_camera_from_before_open_gopro(network: Path) -> None:
    with camera(network, "gopro-gpcontrol", "--listen", "10.5.5.9:80", "--battery", "61"):
        assert told(network, "with_goprocam.py") == {
            "model": "HERO7 Black",
            "kind": "gpcontrol",
            "battery": 61,
            "recording": [0, 1, 0],
            "media": "http://10.5.5.9/videos/DCIM/100GOPRO/GX010001.MP4",
        }


def test_goprocam(network: Path) -> None:
    listen = ("--listen", "10.5.5.9:8080", "--listen-http", "10.5.5.9:80")
    with camera(network, "gopro", *listen, "--model", "HERO10 Black", "--battery", "61"):
        assert told(network, "with_goprocam.py") == {
            "model": "HERO10 Black",
            "kind": "gpcontrol",
            "battery": 61,
            "recording": [0, 1, 0],
            "media": "http://10.5.5.9/videos/DCIM/100GOPRO/GX010001.MP4",
        }


def test_insta360_on_two_cameras_at_once(network: Path) -> None:
    """They are alike but for their addresses, and each has a client of its own."""
    with ExitStack() as stack:
        clients = []
        for address in ("192.168.42.1", "192.168.42.2"):
            listen = ("--listen", f"{address}:6666", "--listen-http", f"{address}:80")
            stack.enter_context(camera(network, "insta360", *listen, "--battery", "61", "--card-gb", "128"))
            clients.append(stack.enter_context(insta360(network, address)))
        for client in clients:
            info = client.ask("info")
            assert info["cameraType"] == "Insta360 X4"
            assert info["batteryStatus"] == {"batteryLevel": 61, "batteryScale": 100}
            assert info["storageState"] == {"freeSpace": "128000000000", "totalSpace": "128000000000"}
            assert client.ask("status") == "NOT_CAPTURE"
        for client in clients:
            client.ask("start")
        assert [client.ask("status") for client in clients] == ["NORMAL_CAPTURE"] * 2
        first, second = clients
        first.ask("stop")
        assert (first.ask("status"), second.ask("status")) == ("NOT_CAPTURE", "NORMAL_CAPTURE")
        second.ask("stop")
        assert [client.ask("status") for client in clients] == ["NOT_CAPTURE"] * 2
        assert [client.ask("files") for client in clients] == [1, 1]
