"""A network namespace for each test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def host() -> Iterator[Callable[..., str]]:
    """Runs commands in the namespace."""
    name = f"wr{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)

    def run(*command: str) -> str:
        whole = ["ip", "netns", "exec", name, *command]
        return subprocess.run(whole, check=True, capture_output=True, text=True).stdout

    yield run
    subprocess.run(["ip", "netns", "del", name], check=True)
