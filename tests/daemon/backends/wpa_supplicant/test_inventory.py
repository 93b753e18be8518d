"""The Wi-Fi interfaces of the kernel, and their addresses by its messages, in a network namespace."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.namespaces import in_network, namespaces
from wifimgrd.daemon.backends.wpa_supplicant import _inventory as module
from wifimgrd.daemon.backends.wpa_supplicant._inventory import Inventory, WifiInterface

_SET_UP = """
ip link add wlan7 type bridge
ip address add 192.168.42.2/24 dev wlan7
"""


class Listener:
    """What was reported."""

    def __init__(self) -> None:
        self.seen: asyncio.Queue[WifiInterface] = asyncio.Queue()

    def interface_seen(self, interface: WifiInterface) -> None:
        self.seen.put_nowait(interface)

    def interface_gone(self, interface: WifiInterface) -> None:
        raise AssertionError(interface)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A namespace with an interface that has an address, and that the host takes for a wireless one."""
    (tmp_path / "wlan7" / "phy80211").mkdir(parents=True)
    monkeypatch.setattr(module, "_INTERFACES", tmp_path)
    with namespaces(_SET_UP) as keeper:
        yield Path("/proc", str(keeper), "ns", "net")


def ip(network: Path, *arguments: str) -> None:
    subprocess.run(["nsenter", f"--net={network}", "ip", *arguments], check=True)


async def test_an_interface_has_the_addresses_that_the_kernel_tells_of(network: Path) -> None:
    listener = Listener()
    inventory = Inventory(listener)
    with in_network(network):
        inventory.start()
    try:
        async with asyncio.timeout(10):
            interface = await listener.seen.get()
            assert interface.has_address
            ip(network, "address", "add", "10.0.0.2/8", "dev", "wlan7")
            ip(network, "address", "del", "192.168.42.2/24", "dev", "wlan7")
            while {str(one) for one, _ in interface.addresses or ()} != {"10.0.0.2"}:
                await listener.seen.get()
            ip(network, "address", "del", "10.0.0.2/8", "dev", "wlan7")
            while interface.has_address:
                await listener.seen.get()
    finally:
        inventory.stop()


async def test_addresses_that_cannot_be_listed_may_be_there(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError("no buffer space")

    monkeypatch.setattr(module, "list_addresses", refuse)
    listener = Listener()
    inventory = Inventory(listener)
    with in_network(network):
        inventory.start()
    inventory.stop()
    assert (await listener.seen.get()).has_address
