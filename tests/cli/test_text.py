"""No name can do anything to a terminal but be shown on it, and columns line up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.cli._table import Cell, fields, table
from wifimgrd.cli._text import Style, safe, shortened, styled, width

ANY_TEXT = st.text(st.characters(), max_size=40)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Front", "Front"),
        ("前門", "前門"),
        (None, "-"),
        ("", "-"),
        (0, "0"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\u202eevil", r"\u202eevil"),
        ("\x9b31m", r"\x9b31m"),
        ("\ud800", r"\ud800"),
    ],
)
def test_hostile_text_is_escaped(text: object, shown: str) -> None:
    assert safe(text) == shown


@given(ANY_TEXT)
def test_whatever_is_shown_is_printable(text: str) -> None:
    assert safe(text).isprintable()
    assert safe(safe(text)) == safe(text)


def test_width_is_counted_in_columns() -> None:
    assert width("abc") == 3
    assert width("前門") == 4
    assert width("e\u0301") == 1


@given(ANY_TEXT, st.integers(1, 30))
def test_shortened_text_fits(text: str, columns: int) -> None:
    cut = shortened(safe(text), columns)
    assert width(cut) <= columns
    assert cut == safe(text) or cut.endswith("…")


def test_colour_is_asked_for() -> None:
    assert styled("x", Style.BAD, colour=True) == "\x1b[31mx\x1b[0m"
    assert styled("x", Style.BAD, colour=False) == "x"
    assert styled("x", Style.PLAIN, colour=True) == "x"


def test_a_table() -> None:
    lines = table(
        ["ID", "NAME", "STATE", "(ERROR)"],
        [(1, "前門", Cell("connected", Style.GOOD), None), (20, "a\x1bb", "off", "")],
        columns=None,
        colour=False,
    )
    assert lines == [
        "ID  NAME    STATE",
        "1   前門    connected",
        r"20  a\x1bb  off",
    ]


def test_an_optional_column_stays_where_something_is_in_it() -> None:
    lines = table(["A", "(B)"], [(1, None), (2, "x")], columns=None, colour=False)
    assert lines == ["A  B", "1  -", "2  x"]


def test_colours_do_not_shift_columns() -> None:
    plain = table(["A", "B"], [(Cell("x", Style.BAD), "y"), ("long", "z")], columns=None, colour=False)
    colourful = table(["A", "B"], [(Cell("x", Style.BAD), "y"), ("long", "z")], columns=None, colour=True)
    assert plain[1] == "x     y"
    assert colourful[1] == "\x1b[31mx\x1b[0m     y"


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT), min_size=1, max_size=5), st.integers(44, 100))
def test_a_table_fits_the_terminal(rows: list[tuple[str, str, str]], columns: int) -> None:
    for line in table(["ONE", "TWO", "THREE"], rows, columns=columns, colour=False):
        assert width(line) <= columns
        assert line.isprintable()


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=5))
def test_columns_line_up(rows: list[tuple[str, str]]) -> None:
    lines = table(["ONE", "(TWO)", "LAST"], [(*row, "end") for row in rows], columns=None, colour=False)
    starts = {width(line[: line.rindex("end")]) for line in lines[1:]}
    assert len(starts) == 1


def test_fields() -> None:
    assert fields([("A", 1), ("Longer", Cell("x\n", Style.BAD))], colour=False) == [
        "  A       1",
        r"  Longer  x\n",
    ]
