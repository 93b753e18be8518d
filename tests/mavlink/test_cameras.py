"""Which camera is which component, whatever happens to the devices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.mavlink.scripted_hub import device
from tests.soak import examples
from wifimgrd.mavlink._cameras import COMPONENTS, Memory, assigned, wanted
from wifimgrd.mavlink._frames import LARGEST


class Fleet(RuleBasedStateMachine):
    """Devices come, get a driver or lose it, and go; the process is started anew.

    Invariants:

    - a component belongs to one device, and a device has one at most;
    - a wanted device keeps its component while it is wanted;
    - a device that is registered keeps its component while no wanted one needs it;
    - nobody who is wanted waits while a component is free, or is one's who is not wanted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.last = 0
        self.registered: set[int] = set()
        self.wanted: set[int] = set()
        self.components: dict[int, int] = {}

    def assign(self) -> None:
        before = self.components
        self.components = assigned(before, self.registered, sorted(self.wanted))
        kept = {one: device for one, device in before.items() if device in self.registered}
        for one, number in kept.items():
            if self.components[one] != number:
                assert number not in self.wanted
                assert len(kept) == len(COMPONENTS)
                assert self.components[one] in self.wanted

    @rule(is_wanted=st.booleans())
    def register(self, is_wanted: bool) -> None:
        self.last += 1
        self.registered.add(self.last)
        if is_wanted:
            self.wanted.add(self.last)
        self.assign()

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.registered:
            gone = data.draw(st.sampled_from(sorted(self.registered)))
            self.registered.discard(gone)
            self.wanted.discard(gone)
            self.assign()

    @rule(data=st.data())
    def turn(self, data: st.DataObject) -> None:
        if self.registered:
            self.wanted ^= {data.draw(st.sampled_from(sorted(self.registered)))}
            self.assign()

    @rule()
    def restart(self) -> None:
        self.components = {int(one): of for one, of in json.loads(json.dumps(self.components)).items()}
        self.assign()

    @invariant()
    def nobody_shares(self) -> None:
        devices = list(self.components.values())
        assert len(devices) == len(set(devices))
        assert self.components.keys() <= set(COMPONENTS)
        assert set(devices) <= self.registered

    @invariant()
    def nobody_waits_in_vain(self) -> None:
        if self.wanted - set(self.components.values()):
            assert set(self.components.values()) <= self.wanted
            assert len(self.components) == len(COMPONENTS)


TestFleet = Fleet.TestCase
TestFleet.settings = settings(max_examples=examples(50))


def test_of_seven_cameras_the_last_one_waits_until_a_component_is_free() -> None:
    seven = list(range(1, 8))
    first = assigned({}, seven, seven)
    assert first == dict(zip(COMPONENTS, seven[:6], strict=True))
    rest = [one for one in seven if one != 2]
    assert assigned(first, rest, rest) == {**first, 101: 7}


ONE, TWO, THREE = device(1, "Nose"), device(2, "3"), device(3, "Tail")
DUMB = device(4, "Dumb", camera=None)
DEVICES = {one.id: one for one in (THREE, ONE, TWO, DUMB)}


@pytest.mark.parametrize(
    ("named", "found", "unknown"),
    [
        ((), [1, 2, 3], []),
        (("Tail", "Nose"), [1, 3], []),
        ((1,), [1], []),
        ((3,), [3], []),
        (("3",), [2], []),  # a name, though a camera has that id
        ((1, "Nose"), [1], []),
        (("Noes", 9, "1"), [], ["Noes", 9, "1"]),
        (("Dumb", 4, "Nose"), [1], ["Dumb", 4]),
        (("nose",), [], ["nose"]),
    ],
)
def test_cameras_are_named_by_id_or_name(
    named: tuple[int | str, ...], found: list[int], unknown: list[int | str]
) -> None:
    assert wanted(DEVICES, named) == (found, unknown)


def test_what_is_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    Memory(str(tmp_path)).write({100: 7, 103: 2}, 5)
    again = Memory(str(tmp_path))
    assert (again.components, again.last_signed) == ({100: 7, 103: 2}, 5)
    assert [one.name for one in tmp_path.iterdir()] == ["components.json"]


def test_what_has_not_changed_is_not_written(tmp_path: Path) -> None:
    memory = Memory(str(tmp_path))
    memory.write({100: 7}, 0)
    (tmp_path / "components.json").unlink()
    memory.write({100: 7}, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"components": [1]}',
        b'{"components": {"x": 1}}',
        b'{"components": {"100": null}}',
        b'{"components": {"1": 1, "300": 2, "-1": 3}}',
        b"\xff\xfe",
        b'{"last_signed": "soon"}',
        b'{"last_signed": -7}',
        b'{"last_signed": 1e999}',
        b'{"components": {"100": 1e999}}',
        b"[" * 100_000,
    ],
)
def test_a_broken_file_is_as_none_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "components.json").write_bytes(content)
    memory = Memory(str(tmp_path))
    assert (memory.components, memory.last_signed) == ({}, 0)
    memory.write({100: 1}, 0)
    assert Memory(str(tmp_path)).components == {100: 1}


def test_a_device_in_the_file_has_one_component(tmp_path: Path) -> None:
    (tmp_path / "components.json").write_text('{"components": {"100": 1, "101": 1, "102": 2}}')
    components = Memory(str(tmp_path)).components
    assert sorted(components.values()) == [1, 2]


def test_what_could_not_be_written_is_written_with_the_next_change(tmp_path: Path) -> None:
    memory = Memory(str(tmp_path / "late"))
    memory.write({100: 1}, 0)
    (tmp_path / "late").mkdir()
    memory.write({100: 1}, 0)
    assert Memory(str(tmp_path / "late")).components == {100: 1}


def test_a_timestamp_in_the_file_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "components.json").write_text(f'{{"last_signed": {2**70}}}')
    assert Memory(str(tmp_path)).last_signed == LARGEST


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    memory = Memory(str(tmp_path / "missing"))
    memory.write({100: 1}, 0)
    assert memory.components == {100: 1}


def test_without_a_folder_nothing_is_kept() -> None:
    memory = Memory(None)
    memory.write({100: 1}, 0)
    assert memory.components == {100: 1}
