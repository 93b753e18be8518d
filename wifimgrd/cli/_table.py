"""Tables with aligned columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd.cli._text import Style, safe, shortened, styled, width

_GAP: Final = "  "
_NARROWEST: Final = 12
"""No column is cut below this many columns."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; its text may be anything."""

    content: object
    style: Style = Style.PLAIN


Row = Sequence[Cell | object]


def table(
    heads: Sequence[str],
    rows: Sequence[Row],
    *,
    columns: int | None,
    colour: bool,
    whole: Collection[str] = (),
) -> list[str]:
    """The lines of a table; columns without any content are left out if their head is in
    parentheses. `columns` is the terminal's width, None if nothing is to be cut. The columns with the heads
    `whole` are cut after all others."""
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    texts = [[safe(cell.content) for cell in row] for row in cells]
    shown = [
        index
        for index, head in enumerate(heads)
        if not head.startswith("(") or any(row[index].content not in {None, ""} for row in cells)
    ]
    names = [heads[index].strip("()") for index in shown]
    texts = [[row[index] for index in shown] for row in texts]
    widths = [max(map(width, column)) for column in zip(names, *texts, strict=True)]
    if columns is not None:
        others = [index for index, name in enumerate(names) if name not in whole]
        widths = _fitted(_fitted(widths, columns, others), columns, range(len(names)))
    lines = [_line(names, [Style.STRONG] * len(names), widths, colour=colour)]
    for row, row_texts in zip(cells, texts, strict=True):
        lines.append(_line(row_texts, [row[index].style for index in shown], widths, colour=colour))
    return lines


def fields(pairs: Sequence[tuple[str, Cell | object]], *, colour: bool) -> list[str]:
    """Lines of names and values, the values aligned."""
    longest = max(width(name) for name, _ in pairs)
    lines = []
    for name, value in pairs:
        cell = value if isinstance(value, Cell) else Cell(value)
        padding = " " * (longest - width(name))
        lines.append(f"  {name}{padding}{_GAP}{styled(safe(cell.content), cell.style, colour=colour)}")
    return lines


def _line(texts: Sequence[str], styles: Sequence[Style], widths: Sequence[int], *, colour: bool) -> str:
    pieces = []
    for index, (text, style, space) in enumerate(zip(texts, styles, widths, strict=True)):
        fitted = shortened(text, space)
        padding = "" if index == len(texts) - 1 else " " * (space - width(fitted))
        pieces.append(styled(fitted, style, colour=colour) + padding)
    return _GAP.join(pieces).rstrip()


def _fitted(widths: Sequence[int], columns: int, some: Sequence[int]) -> list[int]:
    """Narrow the widest of some columns until the line fits, none of them below the narrowest."""
    fitted = list(widths)
    excess = sum(fitted) + len(_GAP) * (len(fitted) - 1) - columns
    while excess > 0 and (widest := max(some, key=fitted.__getitem__, default=None)) is not None:
        if fitted[widest] <= _NARROWEST:
            break
        fitted[widest] -= 1
        excess -= 1
    return fitted
