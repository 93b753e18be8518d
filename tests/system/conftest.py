"""Fixtures of tests/system: Debian 12 and 13 with the package installed by apt, booted for each test file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.hub import Hub
from tests.system.machine import Machine, image_of

PACKAGES = os.environ.get("SYSTEM_PACKAGES")
SUITES = os.environ.get("SYSTEM_SUITES", "bookworm trixie").split()
collect_ignore_glob = (
    [] if PACKAGES else ["test_*"]
)  # tests/system/run sets it; plain `pytest tests` passes by
collect_ignore = [] if "bookworm" in SUITES else ["test_documents.py"]


@pytest.fixture(scope="session", params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    """Which Debian."""
    return str(request.param)


@pytest.fixture(scope="session")
def image(suite: str) -> Path:
    """Its root file system, without wifimgrd."""
    return image_of(suite)


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder with the packages of this checkout."""
    assert PACKAGES
    return Path(PACKAGES)


@pytest.fixture(scope="session")
def installed(image: Path, packages: Path) -> Iterator[list[Path]]:
    """Layers of a machine on which `apt install` was run, and nothing else."""
    with Machine([image], packages) as machine:
        machine.sh(
            "DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 install --quiet -y "
            "--no-install-recommends /host/wifimgrd_*.deb /host/wifimgrd-http_*.deb"
        )
        machine.power_off()
        yield [machine.written, image]


@pytest.fixture(scope="module")
def machine(installed: list[Path], packages: Path) -> Iterator[Machine]:
    """A machine with wifimgrd installed, booted for this file of tests."""
    with Machine(installed, packages) as machine:
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
