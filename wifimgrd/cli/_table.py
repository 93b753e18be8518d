"""Tables with aligned columns, which fit a terminal without losing what is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from wifimgrd.cli._text import Style, safe, styled, width, wrapped

_GAP: Final = "  "
_NARROWEST: Final = 12
"""No column is narrowed below this many columns in a terminal that is too narrow for everything else."""
_BELOW: Final = 4
"""By how much what stands below a row is indented."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and what becomes of it in a terminal that is too narrow for all of them."""

    head: str
    rank: int = 0
    """Columns of rank 0 are always shown. The others are shown in the order of their ranks as long as they
    fit."""
    is_optional: bool = False
    """It is left out if there is nothing in it."""
    least: int | None = None
    """Down to how many columns its text can be wrapped; None: not at all."""
    goes_below: bool = False
    """If it does not fit, its text stands below each row."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; its text may be anything."""

    content: object
    style: Style = Style.PLAIN

    @property
    def is_empty(self) -> bool:
        """Whether it is shown as absent, and so in no style."""
        return self.content is None or self.content == ""


Row = Sequence[Cell | object]


def table(
    heads: Sequence[Column],
    rows: Sequence[Row],
    *,
    columns: int | None,
    row_columns: int | None = None,
    colour: bool,
) -> list[str]:
    """The lines of a table; `columns` is the terminal's width, None if each row is to be one line. Then
    everything stands in it, or with `row_columns` what fits so many, with the text of what else would stand
    below at its end."""
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    used = [
        index
        for index, head in enumerate(heads)
        if not head.is_optional or any(not row[index].is_empty for row in cells)
    ]
    widths = {
        index: max(width(heads[index].head), *(width(safe(row[index].content)) for row in cells), 0)
        for index in used
    }
    room = row_columns if columns is None else columns
    shown = used if room is None else _shown(heads, widths, room)
    if columns is None and room is not None:
        shown += [index for index in used if index not in shown and heads[index].goes_below]
    below = [index for index in used if index not in shown and heads[index].goes_below]
    widths = {index: widths[index] for index in shown}
    if columns is not None:
        least = {index: heads[index].least for index in shown}
        widths = _narrowed(widths, columns, {index: one for index, one in least.items() if one is not None})
        widths = _narrowed(widths, columns, dict.fromkeys(shown, _NARROWEST))
    lines = _lines([Cell(heads[index].head, Style.STRONG) for index in shown], widths, colour=colour)
    for row in cells:
        lines += _lines([row[index] for index in shown], widths, colour=colour)
        for index in below:
            if not row[index].is_empty:
                label = heads[index].head.capitalize()
                lines += _below(
                    f"{label}: {safe(row[index].content)}", row[index].style, columns, colour=colour
                )
    return lines


def fields(pairs: Sequence[tuple[str, Cell | object]], *, columns: int | None, colour: bool) -> list[str]:
    """Lines of names and values, the values aligned, on as many lines as they need."""
    longest = max(width(name) for name, _ in pairs)
    lines = []
    for name, value in pairs:
        cell = value if isinstance(value, Cell) else Cell(value)
        widths = {0: longest, 1: width(safe(cell.content))}
        if columns is not None:
            widths[1] = min(widths[1], max(_NARROWEST, columns - longest - 2 * len(_GAP)))
        lines += [_GAP + line for line in _lines([Cell(name), cell], widths, colour=colour)]
    return lines


def _shown(heads: Sequence[Column], widths: Mapping[int, int], columns: int) -> list[int]:
    """Which of some columns a terminal has room for, each in full width."""
    chosen: list[int] = []
    for index in sorted(widths, key=lambda index: heads[index].rank):
        if heads[index].rank == 0 or _total([widths[one] for one in [*chosen, index]]) <= columns:
            chosen.append(index)
    return sorted(chosen)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _narrowed(widths: Mapping[int, int], columns: int, least: Mapping[int, int]) -> dict[int, int]:
    """Narrow the widest of some columns until the line fits, none of them below its least width."""
    narrowed = dict(widths)
    excess = _total(list(narrowed.values())) - columns
    while excess > 0 and (some := [one for one in least if narrowed[one] > least[one]]):
        narrowed[max(some, key=narrowed.__getitem__)] -= 1
        excess -= 1
    return narrowed


def _lines(cells: Sequence[Cell], widths: Mapping[int, int], *, colour: bool) -> list[str]:
    """A row, on more than one line if a cell needs it."""
    wide = list(widths.values())
    texts = [wrapped(safe(cell.content), space) for cell, space in zip(cells, wide, strict=True)]
    styles = [Style.PLAIN if cell.is_empty else cell.style for cell in cells]
    lines = []
    for pieces in zip_longest(*texts, fillvalue=""):
        padded = (
            (styled(piece, style, colour=colour) if piece else "") + " " * (space - width(piece))
            for piece, style, space in zip(pieces, styles, wide, strict=True)
        )
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _below(text: str, style: Style, columns: int | None, *, colour: bool) -> list[str]:
    indent = " " * _BELOW
    pieces = [text] if columns is None else wrapped(text, max(_NARROWEST, columns - _BELOW), len(_GAP))
    return [indent + styled(piece, style, colour=colour) for piece in pieces]
