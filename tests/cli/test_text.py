"""No name can do anything to a terminal but be shown on it, and columns line up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.cli._table import Cell, Column, fields, table
from wifimgrd.cli._text import Style, safe, shortened, styled, width, wrapped

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
        [Column("ID"), Column("NAME"), Column("STATE"), Column("ERROR", is_optional=True)],
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
    lines = table(
        [Column("A"), Column("B", is_optional=True)], [(1, None), (2, "x")], columns=None, colour=False
    )
    assert lines == ["A  B", "1  -", "2  x"]


def test_colours_do_not_shift_columns() -> None:
    heads, rows = (Column("A"), Column("B")), [(Cell("x", Style.BAD), "y"), ("long", "z")]
    plain = table(heads, rows, columns=None, colour=False)
    colourful = table(heads, rows, columns=None, colour=True)
    assert plain[1] == "x     y"
    assert colourful[1] == "\x1b[31mx\x1b[0m     y"


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT), min_size=1, max_size=5), st.integers(44, 100))
def test_a_table_fits_the_terminal(rows: list[tuple[str, str, str]], columns: int) -> None:
    heads = (Column("ONE", least=12), Column("TWO"), Column("THREE", rank=1, goes_below=True))
    lines = table(heads, rows, columns=columns, colour=False)
    for line in lines:
        assert width(line) <= columns
        assert line.isprintable()
    said = "".join("".join(lines).split())
    for row in rows:
        assert all(character in said for cell in row for character in cell and safe(cell) if character != " ")


HEADS = (
    Column("NAME", least=12),
    Column("ADDRESS"),
    Column("SIGNAL", rank=2),
    Column("NETWORK", rank=3),
    Column("WHY", rank=1, is_optional=True, goes_below=True),
)
ROWS = [
    ("Front of the boat", "10.77.0.1", "70 %", "X3", None),
    ("Tail", "10.77.0.2", None, "Tail", "it is off"),
]


def test_columns_go_by_their_ranks_and_what_is_needed_goes_below() -> None:
    def shown(columns: int) -> list[str]:
        return table(HEADS, ROWS, columns=columns, colour=False)

    assert shown(60)[0].split() == ["NAME", "ADDRESS", "SIGNAL", "NETWORK", "WHY"]
    assert shown(50)[0].split() == ["NAME", "ADDRESS", "SIGNAL", "WHY"]
    assert shown(40)[0].split() == ["NAME", "ADDRESS", "WHY"]
    assert shown(38) == [
        "NAME               ADDRESS    SIGNAL",
        "Front of the boat  10.77.0.1  70 %",
        "Tail               10.77.0.2  -",
        "    Why: it is off",
    ]
    assert shown(24) == [
        "NAME           ADDRESS",
        "Front of the   10.77.0.1",
        "boat",
        "Tail           10.77.0.2",
        "    Why: it is off",
    ]


def test_nothing_is_marked_where_there_is_nothing() -> None:
    rows = [(Cell(None, Style.BAD), Cell("x", Style.BAD))]
    assert table((Column("A"), Column("B")), rows, columns=None, colour=True)[1] == "-  \x1b[31mx\x1b[0m"


@given(st.lists(st.text("ab 前\u0301", max_size=30)), st.integers(4, 30), st.integers(0, 8))
def test_wrapped_text_fits_and_is_whole(words: list[str], columns: int, indent: int) -> None:
    text = " ".join(words)
    lines = wrapped(text, columns, indent)
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_lines_are_broken_at_blanks_and_styles_take_no_columns() -> None:
    assert wrapped("one two three", 7, 2) == ["one two", "  three"]
    styles = styled("one two", Style.BAD, colour=True)
    assert wrapped(f"{styles} three", 7, 2) == [styles, "  three"]


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=5))
def test_columns_line_up(rows: list[tuple[str, str]]) -> None:
    heads = (Column("ONE"), Column("TWO", is_optional=True), Column("LAST"))
    lines = table(heads, [(*row, "end") for row in rows], columns=None, colour=False)
    starts = {width(line[: line.rindex("end")]) for line in lines[1:]}
    assert len(starts) == 1


def test_fields() -> None:
    pairs = [("A", 1), ("Longer", Cell("x\n", Style.BAD)), ("B", "one two three")]
    lines = ["  A       1", r"  Longer  x\n"]
    assert fields(pairs, columns=None, colour=False) == [*lines, "  B       one two three"]
    assert fields(pairs, columns=22, colour=False) == [*lines, "  B       one two", "          three"]


@pytest.mark.parametrize(
    ("row_columns", "heads"),
    [(None, ["A", "B", "C", "REASON"]), (30, ["A", "B", "REASON"]), (5, ["A", "REASON"])],
)
def test_in_a_pipe_each_row_is_one_line_with_what_fits_and_the_reason_at_its_end(
    row_columns: int | None, heads: list[str]
) -> None:
    columns = (
        Column("A"),
        Column("B", rank=1),
        Column("C", rank=2),
        Column("REASON", rank=3, goes_below=True),
    )
    rows = [("a", "b" * 10, "c" * 30, "because of this, " * 5)]
    lines = table(columns, rows, columns=None, row_columns=row_columns, colour=False)
    assert lines[0].split() == heads
    assert len(lines) == 2
    assert lines[1].endswith("because of this,")
