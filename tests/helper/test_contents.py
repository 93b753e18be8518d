"""Differences of the nftables tables: they come to the same as all of it, and cost what one camera costs."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.namespaces import in_network, namespaces
from wifimgrd.domain.addresses import AcceptedPort, SocketKind
from wifimgrd.helper._contents import Contents, transaction
from wifimgrd.helper._kernel_state import KernelState
from wifimgrd.helper._plan import Camera, Plan
from wifimgrd.helper._tables import Tables
from wifimgrd.kernel._messages import messages
from wifimgrd.kernel.links import index_of
from wifimgrd.kernel.nftables import Nftables

NETWORK: Final = IPv4Network("10.77.0.0/24")
PORT: Final = AcceptedPort(SocketKind.UDP, 8554)
INTERFACES: Final = """
ip link set lo up
for ((number = 1; number <= $1; number++)); do
    echo "link add w$number type bridge"
    echo "link set w$number up"
done | ip -batch -
"""


def camera(number: int, device: int = 0, *, linked: bool = True, index: int = 0, **given: bool) -> Camera:
    """The camera at wN; without an index, N is that of its interface."""
    device = device or number
    address = IPv4Address(f"10.77.0.{device}") if given.get("addressed", True) else None
    own = IPv4Address(f"192.168.{device % 2}.1") if linked else None
    return Camera(
        device, f"w{number}", index or number, address, own, (PORT,) if given.get("accepts") else ()
    )


# -- as a model


class Model:
    """Tables that take the commands, as strictly as the kernel."""

    def __init__(self) -> None:
        self.elements: dict[tuple[str, str], str] = {}
        self.chains: dict[tuple[str, str], tuple[str, list[str]]] = {}
        self.frame = ""

    def take(self, commands: str) -> None:
        for line in commands.splitlines():
            match line.split(maxsplit=4):
                case ["delete", "table", family, *_]:
                    self._clear(family)
                case ["add" | "delete" as verb, "element", _, _, rest]:
                    owner, _, listed = rest.partition(" ")
                    for element in listed.strip("{} ").split(", "):
                        self._change(verb, owner, *element.partition(" : ")[::2])
                case ["add", "rule", family, _, rest]:
                    name, _, rule = rest.partition(" ")
                    self.chains[family, name][1].append(rule)
                case ["add", "chain", family, _, rest]:
                    name, _, base = rest.partition(" ")
                    self.chains.setdefault((family, name), (base, []))
                case ["flush", "chain", family, _, name]:
                    self.chains[family, name][1].clear()
                case ["delete", "chain", family, _, name]:
                    assert f"jump {name}" not in self.elements.values()
                    del self.chains[family, name]
                case [*_] if "chain" in line or "type" in line:
                    self.frame += line

    def _clear(self, family: str) -> None:
        self.chains = {key: one for key, one in self.chains.items() if key[0] != family}
        if family == "ip":
            self.elements, self.frame = {}, ""

    def _change(self, verb: str, owner: str, key: str, value: str) -> None:
        if verb == "delete":
            assert not value
            del self.elements[owner, key]
        else:
            assert (owner, key) not in self.elements
            if value.startswith("jump "):
                assert ("ip", value.removeprefix("jump ")) in self.chains
            self.elements[owner, key] = value

    @property
    def state(self) -> object:
        return self.elements, self.chains, self.frame


@st.composite
def contents(draw: st.DrawFn) -> Contents:
    some = st.integers(1, 5)
    interfaces = draw(st.lists(some, unique=True, max_size=4))
    devices = draw(st.permutations(range(1, 6)))
    flags = st.booleans()
    cameras = [
        camera(number, device, linked=draw(flags), addressed=draw(flags), accepts=draw(flags))
        for number, device in zip(interfaces, devices, strict=False)
    ]
    shared = (IPv4Network("192.168.8.0/24"),) if draw(st.integers(0, 9)) == 0 else ()
    opened = draw(st.frozensets(some)) if shared else frozenset[int]()
    filtered = draw(st.sets(st.sampled_from(cameras))) if cameras else set[Camera]()
    return Contents(Plan(NETWORK, tuple(cameras), shared), opened, tuple(filtered))


@given(st.lists(contents(), min_size=2, max_size=6))
def test_differences_come_to_the_same_as_all_of_it(wanted: list[Contents]) -> None:
    changed, there = Model(), None
    for one in wanted:
        whole = Model()
        whole.take(transaction(None, one))
        changed.take(transaction(there, one))
        assert changed.state == whole.state
        there = one


@given(contents())
def test_nothing_is_sent_where_nothing_differs(one: Contents) -> None:
    assert transaction(one, one).strip() == ""


# -- on the kernel


@contextmanager
def host(interfaces: int) -> Iterator[Path]:
    """A network namespace with interfaces w1 and so on."""
    with namespaces(INTERFACES, str(interfaces)) as pid:
        yield Path(f"/proc/{pid}/ns/net")


class Watched(Nftables):
    """nftables, with a record of its transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.full_writes = 0
        """How many of them have replaced a table."""
        self.unnoticed = 0
        """How many transactions of others it does not count, as if they had not been noticed."""

    def run(self, commands: str) -> str:
        self.full_writes += "delete table" in commands
        return super().run(commands)

    def generation(self) -> int:
        return super().generation() - self.unnoticed


class WatchedTables(Tables):
    """Tables, with the transactions that change them."""

    def __init__(self) -> None:
        self.nftables = Watched()
        super().__init__(self.nftables)


@contextmanager
def tables(network: Path) -> Iterator[WatchedTables]:
    with in_network(network):
        some = WatchedTables()
    try:
        yield some
    finally:
        some.close()


def listed(network: Path, *options: str) -> list[str]:
    """Both tables, in the order of names: chains stand in the order of their making."""
    with in_network(network):
        whole = subprocess.run(
            ["nft", "-s", *options, "list", "ruleset"], check=True, capture_output=True, text=True
        )
    return sorted(re.split(r"\n\n|\n}\n|(?<={)\n(?=\t\w)", whole.stdout))


def random_plan(random: Random, indices: dict[int, int]) -> Plan:
    """Some cameras at some of these interfaces."""
    chosen = random.sample(sorted(indices), random.randrange(len(indices)))
    devices = random.sample(range(1, 9), len(chosen))
    return Plan(
        NETWORK,
        tuple(
            camera(
                number,
                device,
                index=indices[number],
                **{flag: random.random() < 0.7 for flag in ("linked", "addressed", "accepts")},
            )
            for number, device in zip(chosen, devices, strict=True)
        ),
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_kernel_lists_the_same_after_differences(seed: int) -> None:
    random = Random(seed)
    with host(6) as here, host(6) as there, tables(here) as changed, tables(there) as whole:
        with in_network(here):
            indices = {number: index_of(f"w{number}") for number in range(1, 7)}
        for _ in range(25):
            wanted = Contents.of(random_plan(random, indices))
            with in_network(here):
                changed.change(wanted)
            with in_network(there):
                whole.forget()
                whole.change(wanted)
            assert listed(here) == listed(there)
        assert changed.nftables.full_writes == 1


@contextmanager
def sent(network: Path) -> Iterator[list[int]]:
    """The kinds of the objects that transactions contain, as the kernel reports them."""
    found: list[int] = []
    with in_network(network):
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 12)
        netlink.bind((0, 1 << 6))
    with netlink:
        yield found
        while True:
            try:
                found += [one.kind for one in messages(netlink.recv(1 << 16))]
            except BlockingIOError:
                return


def plan(indices: Sequence[int], *, linked: bool = True) -> Plan:
    """Cameras at these interfaces, the last of them with a link or without."""
    count = len(indices)
    return Plan(
        NETWORK,
        tuple(
            camera(number, index=index, linked=linked or number < count)
            for number, index in enumerate(indices, 1)
        ),
    )


def test_a_change_of_one_camera_sends_as_much_beside_many_others() -> None:
    counts: dict[int, tuple[list[int], list[int]]] = {}
    for others in (0, 15, 63):
        with host(others + 1) as network, tables(network) as some:
            with in_network(network):
                indices = [index_of(f"w{number}") for number in range(1, others + 2)]
            some.change(Contents.of(plan(indices, linked=False)))
            with sent(network) as coming:
                some.change(Contents.of(plan(indices)))
            with sent(network) as leaving:
                some.change(Contents.of(plan(indices, linked=False)))
            counts[others] = coming, leaving
    assert counts[0] == counts[15] == counts[63]
    assert all(0 < len(objects) < 25 for objects in counts[0])


def test_the_limits_of_other_cameras_are_not_touched() -> None:
    with host(2) as network, tables(network) as some:
        with in_network(network):
            indices = [index_of(f"w{number}") for number in (1, 2)]
        some.change(Contents.of(plan(indices, linked=False)))

        def limits() -> list[str]:
            """With the handles of rules: one that is written again has another."""
            return [one for one in listed(network, "-a") if re.search(rf"chain (flood|i){indices[0]} ", one)]

        before = limits()
        assert len(before) == 2
        some.change(Contents.of(plan(indices)))
        some.change(Contents.of(plan(indices[:1])))
        assert limits() == before


def test_a_transaction_that_fails_is_followed_by_all_of_it() -> None:
    with host(3) as network, tables(network) as some, in_network(network):
        indices = [index_of(f"w{number}") for number in (1, 2, 3)]
        first, second = Contents.of(plan(indices)), Contents.of(plan(indices[:2]))
        some.change(second)
        right = listed(network)
        some.change(first)
        some.read_back(lambda: first)
        subprocess.run(["nft", "delete element ip wifimgrd closed { w3 }"], check=True)
        some.nftables.unnoticed, before = 1, some.nftables.full_writes
        some.change(second)
        assert some.nftables.full_writes == before + 1
        assert listed(network) == right
        some.read_back(lambda: second)
        assert some.are_as_written()


def test_what_another_program_breaks_between_is_put_right_by_the_next_change() -> None:
    with host(2) as network, tables(network) as some, in_network(network):
        indices = [index_of(f"w{number}") for number in (1, 2)]
        wanted = Contents.of(plan(indices))
        some.change(wanted)
        right = listed(network)
        some.change(Contents.of(plan(indices, linked=False)))
        subprocess.run(["nft", "flush chain ip wifimgrd admitted"], check=True)
        some.change(wanted)
        assert listed(network) == right


def test_the_chain_of_an_interface_that_is_gone_is_no_obstacle() -> None:
    with host(2) as network, tables(network) as some, in_network(network):
        indices = [index_of(f"w{number}") for number in (1, 2)]
        some.change(Contents.of(plan(indices)))
        subprocess.run(["ip", "link", "del", "w2"], check=True)
        before = some.nftables.full_writes
        some.change(Contents.of(plan(indices[:1])))
        assert some.nftables.full_writes == before


# -- what else belongs to a camera


@contextmanager
def kernel_state(network: Path) -> Iterator[KernelState]:
    """The state in a namespace, where this thread is meanwhile."""
    with in_network(network):
        state = KernelState()
        try:
            yield state
        finally:
            state.close()


def test_settings_are_made_for_new_and_changed_cameras_alone() -> None:
    def setting(number: int) -> Path:
        return Path(f"/proc/sys/net/ipv4/conf/w{number}/rp_filter")

    with host(3) as network, kernel_state(network) as state:
        indices = [index_of(f"w{number}") for number in (1, 2, 3)]
        state.apply(plan(indices[:2]))
        assert [setting(number).read_text() for number in (1, 2)] == ["2\n", "2\n"]
        for number in (1, 2, 3):
            setting(number).write_text("1")
        state.apply(plan(indices))
        assert [setting(number).read_text() for number in (1, 2, 3)] == ["1\n", "1\n", "2\n"]


def test_what_is_restored_leaves_out_an_interface_that_has_gone() -> None:
    """One of them has its name by then."""
    with host(3) as network, kernel_state(network) as state:
        indices = [index_of(f"w{number}") for number in (1, 2, 3)]
        state.apply(plan(indices))
        subprocess.run(["ip", "link", "del", "w2"], check=True)
        subprocess.run(["ip", "link", "add", "w2", "type", "bridge"], check=True)
        state.restore()
        [closed] = [one for one in listed(network) if "set closed" in one]
        assert re.findall(r'"(w\d)"', closed) == ["w1", "w3"]
        assert state.changed() == ""


def test_what_the_helper_has_yet_to_do_is_no_change_by_another_program() -> None:
    with host(2) as network, kernel_state(network) as state:
        indices = [index_of(f"w{number}") for number in (1, 2)]
        state.apply(plan(indices[:1]))
        for some in (indices, indices[:1], indices):
            state.apply(plan(some))
            assert state.changed() == ""


@pytest.mark.parametrize("seed", range(2))
def test_routes_rules_and_settings_are_complete_after_each_plan(seed: int) -> None:
    random = Random(seed)
    with host(6) as network, kernel_state(network) as state:
        indices = {number: index_of(f"w{number}") for number in range(1, 7)}
        for _ in range(25):
            state.apply(random_plan(random, indices))
            assert state.changed() == ""
        state.clear()
        left = subprocess.run(["ip", "-4", "rule"], check=True, capture_output=True, text=True).stdout
        assert "fwmark" not in left
        assert listed(network) == [""]
