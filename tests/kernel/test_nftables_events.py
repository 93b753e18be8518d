"""Changes of nftables by other processes, in network namespaces of their own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.namespaces import in_network, namespaces
from wifimgrd.kernel.nftables import Nftables
from wifimgrd.kernel.nftables_events import NftablesEvents

SET_UP = """
nft 'add table ip wifimgrd; add set ip wifimgrd some { type ipv4_addr; }'
nft 'add table netdev wifimgrd; add table ip docker'
"""
ELEMENTS = 40_000
"""More than the kernel keeps messages of for one socket."""
PATIENCE_S = 20.0


@pytest.fixture
def network() -> Iterator[Path]:
    with namespaces(SET_UP) as pid:
        yield Path(f"/proc/{pid}/ns/net")


@asynccontextmanager
async def events(network: Path, own_port: int = -1) -> AsyncIterator[asyncio.Queue[str]]:
    """What is reported of the tables `wifimgrd`."""
    reported: asyncio.Queue[str] = asyncio.Queue()
    subscription = NftablesEvents(
        "wifimgrd", own_port, lambda: reported.put_nowait("change"), lambda: reported.put_nowait("overrun")
    )
    with in_network(network):
        subscription.open()
    try:
        yield reported
    finally:
        subscription.close()


async def change(network: Path, commands: str) -> None:
    """Change tables by another process."""
    with in_network(network):
        nft = await asyncio.create_subprocess_exec("nft", "-f", "-", stdin=asyncio.subprocess.PIPE)
    await nft.communicate(commands.encode())
    assert nft.returncode == 0


async def next_of(reported: asyncio.Queue[str]) -> str:
    return await asyncio.wait_for(reported.get(), PATIENCE_S)


@pytest.mark.parametrize(
    "commands",
    [
        "add element ip wifimgrd some { 10.77.0.1 }",
        "add chain netdev wifimgrd ingress",
        "delete table ip wifimgrd",
        "flush ruleset",
        "add table ip other; flush set ip wifimgrd some; add table ip another",
    ],
)
async def test_a_change_by_another_process_is_reported_once_a_transaction(
    network: Path, commands: str
) -> None:
    async with events(network) as reported:
        await change(network, "add element ip wifimgrd some { 10.77.0.9 }")
        assert await next_of(reported) == "change"
        await change(network, commands)
        assert await next_of(reported) == "change"
        assert reported.empty()


async def test_changes_of_other_tables_and_those_of_ones_own_port_are_not(network: Path) -> None:
    with in_network(network):
        own = Nftables()
    async with events(network, own.port) as reported:
        await change(network, "add set ip docker some { type ipv4_addr; }; add table ip wifimgrd2")
        with in_network(network):
            own.run("add element ip wifimgrd some { 10.77.0.2 }")
            own.run("delete table netdev wifimgrd")
            own.close()
        await change(network, "add element ip wifimgrd some { 10.77.0.1 }")
        assert await next_of(reported) == "change"
        await change(network, "add chain ip docker last; add chain ip wifimgrd last")
        assert await next_of(reported) == "change"
        assert reported.empty()


def test_ones_own_port_is_known_in_a_container() -> None:
    """Process ids are others there than in the kernel's messages."""
    test = f"{__file__}::{test_changes_of_other_tables_and_those_of_ones_own_port_are_not.__name__}"
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    done = subprocess.run(
        [*inside, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", test],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout


async def test_lost_messages_are_reported(network: Path) -> None:
    async with events(network) as reported:
        with in_network(network):
            other = Nftables()
            other.run("add set ip docker many { type ipv4_addr; }")
            addresses = ", ".join(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(ELEMENTS))
            other.run(f"add element ip docker many {{ {addresses} }}")  # nothing is read meanwhile
            other.close()
        assert await next_of(reported) == "overrun"
        await change(network, "delete table ip wifimgrd")
        assert await next_of(reported) == "change"
