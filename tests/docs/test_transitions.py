"""The table of the promised transitions in docs/architecture.md names code, steps and tests that exist."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import pytest

from tests.docs.code_blocks import CHECKOUT
from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain.allocator import Allocator
from wifimgrd.domain.lifecycle import Phase, Step, follow

_CLASSES: Final = {one.__name__: one for one in (Connections, HubState, Allocator)}
_HEADING: Final = "## The four transitions that are promised"


def rows() -> list[list[str]]:
    text = (CHECKOUT / "docs" / "architecture.md").read_text().partition(_HEADING)[2].partition("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]


@cache
def names_of_tests() -> frozenset[str]:
    files = (CHECKOUT / "tests").rglob("test_*.py")
    return frozenset(name for one in files for name in re.findall(r"def (test_\w+)\(", one.read_text()))


def test_the_four_rows_are_there() -> None:
    assert len(rows()) == 4


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_its_steps_lead_from_where_it_begins_to_where_it_ends(row: list[str]) -> None:
    promise, steps, *_ = row
    phases = {"Connected": Phase.UP, "Disconnected": Phase.IDLE}
    begin, end = promise.partition(",")[0], promise.rpartition(": ")[2].capitalize()
    phase = phases[begin]
    for name in [] if steps == "none" else steps.split(", "):
        phase = follow(phase, Step[name])
    assert phase is phases[end]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_its_code_and_its_tests_exist(row: list[str]) -> None:
    _, _, code, more, tests = row
    methods = re.findall(r"`(\w+)\.(\w+)`", f"{code} {more}")
    assert methods
    for owner, method in methods:
        assert callable(getattr(_CLASSES[owner], method)), f"{owner}.{method}"
    named = re.findall(r"`(test_\w+)`", tests)
    assert named
    assert set(named) <= names_of_tests()
