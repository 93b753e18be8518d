"""The filters beside IPv4: an interface that the kernel refuses costs the others nothing."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import cast

import pytest

from wifimgrd.helper._contents import Contents
from wifimgrd.helper._plan import Camera, Plan
from wifimgrd.helper._tables import Tables
from wifimgrd.kernel.nftables import Nftables, NftablesError


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
        self.lists = 0
        """How often a table was listed."""
        self.others = 0
        """The transactions of other programs."""

    def generation(self) -> int:
        return len(self.transactions) + self.others

    def run(self, commands: str) -> str:
        if commands.startswith("list"):
            self.lists += 1
            return self.listing
        chains = re.findall(r'device "([^"]+)"', commands)
        if ("netdev" in commands and not self.has_netdev) or not self.devices.issuperset(chains):
            raise NftablesError("No such file or directory")
        if "-trial" in commands:
            self.devices.difference_update(self.on_trial)
        else:
            if "delete table netdev" in commands:
                self.table = []
            self.table += chains
            self.transactions.append(commands)
        return ""


def plan(*interfaces: str) -> Plan:
    own = IPv4Address("192.168.42.1")
    return Plan(
        None, tuple(Camera(number, name, number + 2, None, own) for number, name in enumerate(interfaces))
    )


def contents(*interfaces: str) -> Contents:
    return Contents.of(plan(*interfaces))


@pytest.fixture
def kernel() -> Kernel:
    return Kernel("wlan0", "wlan1", "wlan2")


@pytest.fixture
def tables(kernel: Kernel) -> Tables:
    return Tables(cast("Nftables", kernel))


def test_an_interface_that_is_gone_leaves_the_others_their_filter(kernel: Kernel, tables: Tables) -> None:
    tables.change(contents("wlan0", "wlan9", "wlan2"))
    assert kernel.table == ["wlan0", "wlan2"]
    kernel.devices.add("wlan9")
    tables.change(contents("wlan0", "wlan9", "wlan2"))
    assert sorted(kernel.table) == ["wlan0", "wlan2", "wlan9"]


def test_one_that_goes_at_that_moment_leaves_the_filter_that_there_is(kernel: Kernel, tables: Tables) -> None:
    tables.change(contents("wlan0", "wlan2"))
    kernel.on_trial = ["wlan1"]
    tables.change(contents("wlan0", "wlan2", "wlan1", "wlan9"))
    assert kernel.table == ["wlan0", "wlan2"]
    kernel.devices.add("wlan1")
    kernel.on_trial = []
    tables.change(contents("wlan0", "wlan2", "wlan1", "wlan9"))
    assert kernel.table == ["wlan0", "wlan2", "wlan1"]


def test_a_kernel_without_such_tables_is_not_asked_again(kernel: Kernel, tables: Tables) -> None:
    kernel.has_netdev = False
    tables.change(contents("wlan0"))
    kernel.has_netdev = True
    tables.change(contents("wlan0", "wlan1"))
    assert kernel.table == []
    assert "jump zone3" in kernel.transactions[-1]


def test_both_tables_are_changed_in_one_transaction(kernel: Kernel, tables: Tables) -> None:
    tables.change(contents("wlan0"))
    [transaction] = kernel.transactions
    assert "table ip wifimgrd {" in transaction
    assert kernel.table == ["wlan0"]
    tables.change(contents("wlan0", "wlan1"))
    [_, transaction] = kernel.transactions
    assert "table ip" not in transaction
    assert kernel.table == ["wlan0", "wlan1"]


def test_a_plan_that_is_there_is_not_written_again(kernel: Kernel, tables: Tables) -> None:
    for _ in range(2):
        tables.change(contents("wlan0"))
    assert len(kernel.transactions) == 1


def test_a_filter_that_the_kernel_refuses_does_not_keep_the_table_of_addresses_from_changing(
    kernel: Kernel, tables: Tables
) -> None:
    tables.change(contents("wlan0", "wlan9"))
    assert "netdev" not in kernel.transactions[0]
    assert kernel.table == ["wlan0"]


def test_after_a_transaction_that_was_refused_all_is_written_and_read_back(
    kernel: Kernel, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.change(contents("wlan0"))
    refused: list[str] = []
    real = kernel.run

    def run(commands: str) -> str:
        if not refused and not commands.startswith("list"):
            refused.append(commands)
            raise NftablesError("Device or resource busy")
        return real(commands)

    monkeypatch.setattr(kernel, "run", run)
    tables.change(contents("wlan0", "wlan1"))
    assert "delete table" not in refused[0]
    assert all(f"delete table {family} wifimgrd" in kernel.transactions[-1] for family in ("ip", "netdev"))
    kernel.listing = "it"
    assert not tables.are_as_written(), "nobody has read them back yet"
    tables.read_back(lambda: contents("wlan0", "wlan1"))
    assert tables.are_as_written()


def test_what_another_program_may_have_changed_is_written_in_full(kernel: Kernel, tables: Tables) -> None:
    tables.change(contents("wlan0"))
    kernel.others += 1
    tables.change(contents("wlan0", "wlan1"))
    assert "delete table ip wifimgrd" in kernel.transactions[-1]


def test_changes_of_other_tables_leave_the_differences_enough(kernel: Kernel, tables: Tables) -> None:
    tables.change(contents("wlan0"))
    kernel.listing = "it"
    tables.read_back(lambda: contents("wlan0"))
    kernel.others += 1
    tables.change(contents("wlan0", "wlan1"))
    assert "delete table" not in kernel.transactions[-1]


def test_what_another_program_changes_beside_a_change_is_not_taken_for_it(
    kernel: Kernel, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.change(contents("wlan0"))
    real = kernel.run

    def run(commands: str) -> str:
        kernel.others += 1
        return real(commands)

    with monkeypatch.context() as during:
        during.setattr(kernel, "run", run)
        tables.change(contents("wlan0", "wlan1"))
    kernel.listing = "it"
    tables.read_back(lambda: contents("wlan0", "wlan1"))
    assert "delete table ip wifimgrd" in kernel.transactions[-1]


def test_what_is_read_back_is_not_the_work_of_another_program(kernel: Kernel, tables: Tables) -> None:
    tables.change(contents("wlan0"))
    kernel.listing = "it"
    for _ in range(2):
        tables.read_back(lambda: contents("wlan0"))
    assert (kernel.lists, len(kernel.transactions)) == (2, 1), "each table was read once"
    assert tables.are_as_written()

    tables.change(contents("wlan0", "wlan1"))
    kernel.others += 1
    tables.read_back(lambda: contents("wlan0", "wlan1"))
    assert len(kernel.transactions) == 3
    assert tables.are_as_written()
    assert "delete table ip wifimgrd" in kernel.transactions[-1]
    assert "table netdev wifimgrd" in kernel.transactions[-1]


def test_tables_that_cannot_be_read_back_count_as_changed(
    kernel: Kernel, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(0, 1000, 10))
    monkeypatch.setattr(kernel, "generation", lambda: next(numbers))
    kernel.listing = "it"
    tables.change(contents("wlan0"))
    tables.read_back(lambda: contents("wlan0"))
    assert not tables.are_as_written()


def test_tables_are_read_again_after_a_transaction_or_a_doubt_alone(
    kernel: Kernel, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.change(contents("wlan0"))
    kernel.listing = "it"
    tables.read_back(lambda: contents("wlan0"))
    kernel.listing = "the chain is gone"
    assert tables.are_as_written()
    tables.doubt()
    assert not tables.are_as_written()
    kernel.listing = "it"
    assert tables.are_as_written()
    kernel.listing = "another"
    kernel.others += 1
    assert not tables.are_as_written()


def test_after_a_transaction_of_another_program_tables_are_read_once(
    kernel: Kernel, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.change(contents("wlan0"))
    kernel.listing = "it"
    tables.read_back(lambda: contents("wlan0"))
    kernel.others += 1
    assert tables.are_as_written()
    lists = kernel.lists
    assert tables.are_as_written()
    assert kernel.lists == lists, "it is not read again"
    real = kernel.run

    def run(commands: str) -> str:
        """Another program changes the tables right after both were read."""
        listing = real(commands)
        if commands.startswith("list table netdev"):
            kernel.others += 1
            kernel.listing = "another"
        return listing

    kernel.others += 1
    with monkeypatch.context() as during:
        during.setattr(kernel, "run", run)
        assert tables.are_as_written()
    assert not tables.are_as_written()


def test_a_change_that_was_not_carried_out_is_not_taken_for_done(
    kernel: Kernel, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.change(contents("wlan0"))
    kernel.listing = "it"

    def refuse(_: str) -> str:
        raise NftablesError("No buffer space")

    with monkeypatch.context() as during:
        during.setattr(kernel, "run", refuse)
        with pytest.raises(NftablesError):
            tables.change(contents("wlan0", "wlan1"))
    tables.read_back(lambda: contents("wlan0", "wlan1"))
    assert len(kernel.transactions) == 2
    assert kernel.table == ["wlan0", "wlan1"]
