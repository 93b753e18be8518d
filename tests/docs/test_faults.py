"""Each row about the broker in docs/failures.md names a test that there is."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.code_blocks import CHECKOUT, prose

ROWS = [line for _, line in prose("docs/failures.md") if re.match(r"\| .* \| .* \| `[\w.]+::\w+` \|$", line)]


def test_the_table_is_found() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_the_test_of_a_row_is_there(row: str) -> None:
    [file, test] = re.fullmatch(r".*\| `([\w.]+)::(\w+)` \|", row).groups()  # type: ignore[union-attr]
    tree = ast.parse((CHECKOUT / "tests/mqtt" / file).read_text())
    assert test in {one.name for one in tree.body if isinstance(one, ast.AsyncFunctionDef)}
