"""One row per measurement, and the table that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Final, Literal, Self

_HEADINGS: Final = ("what", "ours", "the other side", "ratio", "target", "")


@dataclass(frozen=True, slots=True)
class Target:
    """What the row should reach: at most so much, as the ratio to the other side, in itself, or more than the
    other side."""

    of: Literal["ratio", "ours", "over"]
    at_most: float


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement of both sides, in one unit; samples are medians where there are several."""

    part: str
    what: str
    unit: str
    ours: Sequence[float]
    other: Sequence[float] = ()
    other_is: str = ""
    """Who the other side is."""
    target: Target | None = None
    in_turns: bool = False
    """Each sample of ours was taken beside the one of the other side: their ratios make a range."""
    note: str = ""
    """What a reader must know to make sense of it; goes to the JSON copy."""
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Self:
        """Read a row that another machine wrote."""
        target = Target(**value["target"]) if value["target"] else None
        known = {name: value[name] for name in cls.__slots__ if name != "target"}
        return cls(**known, target=target)

    def as_json(self) -> dict[str, Any]:
        """The row with what follows from it."""
        return {**asdict(self), "ratio": self.ratio, "range": self.range, "verdict": self.verdict}

    @property
    def ratio(self) -> float | None:
        """Ours against theirs; less is better."""
        if not self.other or not median(self.other):
            return None
        return median(self.ours) / median(self.other)

    @property
    def range(self) -> tuple[float, float] | None:
        """The lowest and the highest ratio of one turn; None where the sides did not take turns."""
        if not self.in_turns:
            return None
        ratios = [one / other for one, other in zip(self.ours, self.other, strict=True)]
        return min(ratios), max(ratios)

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, or nothing where there is no target."""
        if self.target is None:
            return ""
        match self.target.of:
            case "ratio":
                reached = self.ratio
            case "over":
                reached = median(self.ours) - median(self.other)
            case "ours":
                reached = median(self.ours)
        return "ok" if reached is not None and reached <= self.target.at_most else "MISSED"

    def cells(self) -> tuple[str, ...]:
        """The row as it is printed."""
        theirs = f"{_number(median(self.other), self.unit)}  {self.other_is}" if self.other else ""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        if self.range is not None:
            ratio += " ({:.2f} to {:.2f})".format(*self.range)
        return (self.what, _number(median(self.ours), self.unit), theirs, ratio, self._aim(), self.verdict)

    def _aim(self) -> str:
        match self.target:
            case Target("ratio", limit):
                return f"<= {limit:g}x"
            case Target("over", limit):
                return f"<= +{_number(limit, self.unit)}"
            case Target("ours", limit):
                return f"<= {_number(limit, self.unit)}"
        return ""


def rendered(rows: Sequence[Row]) -> str:
    """The table, a heading for each part."""
    cells = [row.cells() for row in rows]
    widths = [max(len(line[column]) for line in (_HEADINGS, *cells)) for column in range(len(_HEADINGS))]
    lines = [_line(_HEADINGS, widths), _line(["-" * width for width in widths], widths)]
    part = ""
    for row, line in zip(rows, cells, strict=True):
        if row.part != part:
            part = row.part
            lines += ["", part.upper()]
        lines.append(_line(line, widths))
    missed = sum(row.verdict == "MISSED" for row in rows)
    judged = sum(bool(row.verdict) for row in rows)
    return "\n".join([*lines, "", f"{judged - missed} of {judged} targets reached"])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    padded[1] = cells[1].rjust(widths[1])
    return "  ".join(padded).rstrip()


def _number(value: float, unit: str) -> str:
    """Three digits that count, as people write them."""
    digits = 0 if not value or abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    if 0 < abs(value) < 0.1:
        digits = 3
    return f"{value:.{digits}f} {unit}".rstrip()
