"""Fixtures of tests/system: Debian 12 and 13 with the package installed by apt, booted for each test file."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.released_packages import COMMITS, released_packages
from tests.signing_keys import with_secret_keys
from tests.system.hub import Hub
from tests.system.machine import Machine, image_of

CHECKOUT = Path(__file__).parents[2]

PACKAGES = os.environ.get("SYSTEM_PACKAGES")
SUITES = os.environ.get("SYSTEM_SUITES", "bookworm trixie").split()
APT_INSTALL = (
    "DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 install --quiet -y --no-install-recommends"
)
BUS_UNITS = {"dbus-daemon": "dbus.service", "dbus-broker": "dbus-broker.service"}
KEY, OTHER_KEY = "packages of a test", "somebody else"
MESSAGE_BUS = os.environ.get("SYSTEM_BUS", "dbus-daemon")
collect_ignore_glob = (
    [] if PACKAGES else ["test_*"]
)  # tests/system/run sets it; plain `pytest tests` passes by
collect_ignore = (
    [] if "bookworm" in SUITES and MESSAGE_BUS == "dbus-daemon" else ["test_documents.py", "test_usb_host.py"]
)


@pytest.fixture(scope="session", params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    """Which Debian."""
    return str(request.param)


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder with the packages of this checkout."""
    assert PACKAGES
    return Path(PACKAGES)


@pytest.fixture(scope="session")
def gnupg(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a gpg that has a key of its own, and another one."""
    return with_secret_keys(tmp_path_factory.mktemp("gnupg"), KEY, OTHER_KEY)


@pytest.fixture(scope="session")
def repository(packages: Path, gnupg: dict[str, str]) -> Path:
    """With the released versions and the packages of this checkout; machines see it as /host/repository."""
    folder = packages / "repository"
    pool = folder / "pool" / "main" / "w" / "wifimgrd"
    pool.mkdir(parents=True)
    for package in (one for version in COMMITS for one in released_packages(version)):
        shutil.copy(package, pool)
    publish: list[str | Path] = [CHECKOUT / "packaging" / "build_repository", KEY, packages, folder]
    subprocess.run(publish, check=True, env=gnupg, stdout=subprocess.DEVNULL)
    return folder


def serve(repository: Path, machine: Machine) -> None:
    """Serve the repository where its page says. apt reaches nothing else: it has Debian's lists, and in its
    cache the packages that ours need."""
    server = f"python3 -m http.server --bind 127.0.0.1 --directory /host/{repository.name} 8000"
    machine.sh(f"systemd-run --quiet --unit=repository {server}")
    machine.write("/etc/apt/apt.conf.d/90test", 'APT::Get::Assume-Yes "true";\nAcquire::Retries "0";\n')
    machine.wait_until(
        lambda: machine.run("curl", "-fs", "http://127.0.0.1:8000/", check=False).returncode == 0,
        "the repository is served",
    )


@pytest.fixture(scope="session")
def message_bus() -> str:
    """Which message bus it runs."""
    return MESSAGE_BUS


@pytest.fixture(scope="session")
def bare(suite: str, message_bus: str, packages: Path) -> Iterator[list[Path]]:
    """Layers of a machine without wifimgrd, on that message bus."""
    image = image_of(suite)
    if message_bus == "dbus-daemon":
        yield [image]
        return
    with Machine([image], packages) as machine:
        machine.sh(f"{APT_INSTALL} {message_bus}")  # it takes over at the next boot
        machine.power_off()
        yield [machine.written, image]


@pytest.fixture(scope="session")
def installed(bare: list[Path], packages: Path) -> Iterator[list[Path]]:
    """Layers of a machine on which `apt install` was run, and nothing else: there is no NetworkManager."""
    with Machine(bare, packages) as machine:
        machine.sh(f"{APT_INSTALL} /host/wifimgrd_*.deb /host/wifimgrd-http_*.deb")
        machine.power_off()
        yield [machine.written, *bare]


@pytest.fixture(scope="session")
def installed_with_networkmanager(installed: list[Path], packages: Path) -> Iterator[list[Path]]:
    """The same with NetworkManager, as most hosts have it, the simulator, and programs for its tables."""
    with Machine(installed, packages) as machine:
        machine.sh(f"{APT_INSTALL} network-manager iproute2 nftables /host/wifimgrd-simulator_*.deb")
        machine.power_off()
        yield [machine.written, *installed]


@pytest.fixture(scope="module")
def machine(installed_with_networkmanager: list[Path], message_bus: str, packages: Path) -> Iterator[Machine]:
    """A machine with wifimgrd installed, booted for this file of tests."""
    with Machine(installed_with_networkmanager, packages) as machine:
        bus = machine.run("systemctl", "show", "--value", "--property=Id", "dbus.service").stdout.strip()
        assert bus == BUS_UNITS[message_bus]
        yield machine


@pytest.fixture
def hub(machine: Machine) -> Iterator[Hub]:
    """The service as it was installed, but with adapters and cameras that are simulated; started."""
    hub = Hub(machine)
    hub.reset()
    hub.configure("simulated", '[backend]\nname = "simulated"\n')
    hub.start()
    yield hub
    assert "Traceback" not in hub.journal(), "the daemon's journal holds a traceback"
