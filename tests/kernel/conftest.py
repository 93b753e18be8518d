"""A network namespace for each test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.namespaces import in_network


@dataclass(frozen=True)
class Host:
    """A namespace, in which commands and parts of the test run."""

    name: str

    def __call__(self, *command: str) -> str:
        whole = ["ip", "netns", "exec", self.name, *command]
        return subprocess.run(whole, check=True, capture_output=True, text=True).stdout

    def inside(self) -> AbstractContextManager[None]:
        """What this thread does is done there."""
        return in_network(Path("/run/netns", self.name))


@pytest.fixture
def host() -> Iterator[Host]:
    name = f"wr{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield Host(name)
    subprocess.run(["ip", "netns", "del", name], check=True)
