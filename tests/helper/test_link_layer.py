"""The filters beside IPv4: an interface that the kernel refuses costs the others nothing."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address

import pytest

from wifimgrd.helper._kernel_state import KernelState
from wifimgrd.helper._plan import Camera, Plan
from wifimgrd.helper._tables import Tables
from wifimgrd.kernel.nftables import NftablesError


class Kernel:
    """nftables as the kernels of Debian have it: a chain needs its device; the table netdev, as applied."""

    def __init__(self, *devices: str) -> None:
        self.devices = set(devices)
        self.has_netdev = True
        self.table: list[str] = []
        self.on_trial: list[str] = []
        """The devices that go after they were tried."""
        self.transactions: list[str] = []
        """Those that were carried out, but for trials."""
        self.listing = ""
        self.others = 0
        """The transactions of other programs."""

    def generation(self) -> int:
        return len(self.transactions) + self.others

    def run(self, commands: str) -> str:
        if commands.startswith("list"):
            return self.listing
        chains = re.findall(r'device "([^"]+)"', commands)
        if not self.has_netdev or not self.devices.issuperset(chains):
            raise NftablesError("No such file or directory")
        if "-trial" in commands:
            self.devices.difference_update(self.on_trial)
        else:
            if "netdev" in commands:
                self.table = chains
            self.transactions.append(commands)
        return ""


def plan(*interfaces: str) -> Plan:
    own = IPv4Address("192.168.42.1")
    return Plan(
        None, tuple(Camera(number, name, number + 2, None, own) for number, name in enumerate(interfaces))
    )


@pytest.fixture
def kernel() -> Kernel:
    return Kernel("wlan0", "wlan1", "wlan2")


@pytest.fixture
def tables(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tables]:
    tables = Tables()
    real = tables._nftables
    monkeypatch.setattr(tables, "_nftables", kernel)
    yield tables
    real.close()


@pytest.fixture
def state(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelState]:
    state = KernelState()
    real = state._tables
    monkeypatch.setattr(state, "_tables", tables)
    yield state
    real.close()


def test_an_interface_that_is_gone_leaves_the_others_their_filter(kernel: Kernel, tables: Tables) -> None:
    tables._limit_link_layer(plan("wlan0", "wlan9", "wlan2").cameras)
    assert kernel.table == ["wlan0", "wlan2"]
    kernel.devices.add("wlan9")
    tables._limit_link_layer(plan("wlan0", "wlan9", "wlan2").cameras)
    assert kernel.table == ["wlan0", "wlan9", "wlan2"]


def test_one_that_goes_at_that_moment_leaves_the_filter_that_there_is(kernel: Kernel, tables: Tables) -> None:
    tables._limit_link_layer(plan("wlan0", "wlan2").cameras)
    kernel.on_trial = ["wlan1"]
    tables._limit_link_layer(plan("wlan0", "wlan1", "wlan2", "wlan9").cameras)
    assert kernel.table == ["wlan0", "wlan2"]
    kernel.devices.add("wlan1")
    kernel.on_trial = []
    tables._limit_link_layer(plan("wlan0", "wlan1", "wlan2", "wlan9").cameras)
    assert kernel.table == ["wlan0", "wlan1", "wlan2"]


def test_a_kernel_without_such_tables_is_not_asked_again(kernel: Kernel, tables: Tables) -> None:
    kernel.has_netdev = False
    tables._limit_link_layer(plan("wlan0").cameras)
    kernel.has_netdev = True
    tables._limit_link_layer(plan("wlan0", "wlan1").cameras)
    assert kernel.table == []


def test_what_is_restored_leaves_out_an_interface_that_has_gone(
    state: KernelState, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored: list[Plan] = []
    indices = {"wlan0": 2, "wlan1": 9, "wlan2": 4}
    monkeypatch.setattr(socket, "if_nametoindex", indices.__getitem__)
    monkeypatch.setattr(state, "_prepare_network", lambda _: None)
    monkeypatch.setattr(state, "_change", restored.append)
    monkeypatch.setattr(state, "settle", lambda: None)
    monkeypatch.setattr(state, "_plan", plan("wlan0", "wlan1", "wlan2"))
    state.restore()
    assert [one.interface for one in restored[0].cameras] == ["wlan0", "wlan2"]


def test_both_tables_are_changed_in_one_transaction(kernel: Kernel, tables: Tables) -> None:
    tables.change(plan("wlan0").cameras, "add table ip wifimgrd")
    [transaction] = kernel.transactions
    assert transaction.startswith("add table ip wifimgrd\n")
    assert kernel.table == ["wlan0"]
    tables.change(plan("wlan0").cameras, "add set ip wifimgrd x")
    assert kernel.transactions[1:] == ["add set ip wifimgrd x"]


def test_a_filter_that_the_kernel_refuses_does_not_keep_the_table_of_addresses_from_changing(
    kernel: Kernel, tables: Tables
) -> None:
    tables.change(plan("wlan0", "wlan9").cameras, "add table ip wifimgrd")
    assert kernel.transactions[0] == "add table ip wifimgrd"
    assert kernel.table == ["wlan0"]


def test_what_is_read_back_is_not_the_work_of_another_program(
    kernel: Kernel, state: KernelState, tables: Tables
) -> None:
    state._plan = state._wanted = plan("wlan0")
    tables.change(state._plan.cameras, "add table ip wifimgrd")
    kernel.listing = "it"
    state.read_back()
    state.read_back()
    assert (tables._listing, len(kernel.transactions)) == ("itit", 1)

    tables.change(state._plan.cameras, "add table ip wifimgrd")
    kernel.others += 1
    state.read_back()
    assert (tables._listing, len(kernel.transactions)) == ("itit", 3)
    assert "delete table ip wifimgrd" in kernel.transactions[-1]
    assert "table netdev wifimgrd" in kernel.transactions[-1]


def test_tables_that_cannot_be_read_back_count_as_changed(
    kernel: Kernel, state: KernelState, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(100))
    monkeypatch.setattr(kernel, "generation", lambda: next(numbers))
    state._plan = plan("wlan0")
    tables.change(state._plan.cameras, "add table ip wifimgrd")
    state.read_back()
    assert tables._listing == ""
