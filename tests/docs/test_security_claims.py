"""Each line of docs/security.md about who owns a process has a test, and each test that is named is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.system.claims import CAN, CANNOT, Claims

CHECKOUT = Path(__file__).parents[2]
HEADER = "| process, user | has | can | cannot |"
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def table(column: int) -> dict[str, list[str]]:
    """The lines of a column, for each process."""
    _, _, text = (CHECKOUT / "docs" / "security.md").read_text(encoding="utf-8").partition(HEADER)
    found = {}
    for row in text.splitlines()[2:]:
        if not row.startswith("|"):
            break
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        plain = LINK.sub(r"\1", cells[column]).replace("**", "")
        found[cells[0]] = [line.strip() for line in plain.split(";") if line.strip()]
    return found


def test_each_cannot_has_a_test() -> None:
    assert {process: list(claims) for process, claims in CANNOT.items()} == table(3)


def test_each_can_that_is_tested_is_in_the_table() -> None:
    written = table(2)
    for process, claims in CAN.items():
        assert set(claims) <= set(written[process])


@pytest.mark.parametrize("claims", [CANNOT, CAN], ids=["cannot", "can"])
def test_each_test_that_is_named_is_there(claims: Claims) -> None:
    for of_process in claims.values():
        for tests in of_process.values():
            assert tests
            for test in tests:
                file, _, name = test.partition("::")
                assert re.search(rf"^(async )?def {name}\(", (CHECKOUT / file).read_text(), re.MULTILINE), (
                    test
                )
