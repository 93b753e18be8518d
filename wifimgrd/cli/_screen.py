"""The output of the command: text for people or JSON on stdout, everything else on stderr."""

from __future__ import annotations

import asyncio
import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TextIO

from wifimgrd.cli._table import Cell, Column, Row, fields, table
from wifimgrd.cli._text import Style, safe, shortened, styled, wrapped
from wifimgrd.domain.errors import InvalidRequest, WifimgrdError

_INDENT: Final = 4
"""By how much the lines behind the first one of a sentence are indented."""
_COLUMNS: Final = 80
"""The width of a terminal that does not say its own."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The destination and the format of the output."""

    json: bool
    out: TextIO
    err: TextIO
    colour: bool = False
    columns: int | None = None
    """Width of the terminal; None if stdout is not one."""
    row_columns: int | None = None
    """Of a table in a pipe, whose rows stay on one line each: the width of the terminal of whoever reads what
    comes out of that; None if nobody does."""
    err_columns: int | None = None
    """The same of stderr."""
    lively: bool = False
    """Progress is shown: stderr is a terminal, and the output is not JSON."""

    @classmethod
    def of_process(cls, *, json: bool) -> Screen:
        """The process's own stdout and stderr."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        terminal = sys.stdout.isatty()
        dumb = os.environ.get("TERM") == "dumb"
        return cls(
            json=json,
            out=sys.stdout,
            err=sys.stderr,
            colour=terminal and not dumb and not os.environ.get("NO_COLOR"),
            columns=columns_of(sys.stdout),
            row_columns=columns_of(sys.stderr) if _is_pipe(sys.stdout) else None,
            err_columns=columns_of(sys.stderr),
            lively=sys.stderr.isatty() and not dumb and not json,
        )

    def show(self, value: Any, lines: Iterable[str], *, as_is: bool = False) -> None:
        """Print a result: as a JSON value, or as lines for people, which are wrapped unless they are to stay
        `as_is`."""
        if self.json:
            write_line(self.out, json.dumps(value, indent=2))
        else:
            for line in lines:
                write_line(self.out, line, None if as_is else self.columns)

    def show_one(self, value: Any, line: str, indent: int = _INDENT) -> None:
        """Print one of many results, from a line of its own on, at once."""
        if self.json:
            write_line(self.out, json.dumps(value))
        else:
            write_line(self.out, line, self.columns, indent)
        self.out.flush()

    def table(self, heads: Sequence[Column], rows: Sequence[Row]) -> list[str]:
        """The lines of a table that fits this screen."""
        return table(heads, rows, columns=self.columns, row_columns=self.row_columns, colour=self.colour)

    def fields(self, pairs: Sequence[tuple[str, Cell | object]]) -> list[str]:
        """Lines of names and values that fit this screen."""
        return fields(pairs, columns=self.columns, colour=self.colour)

    def styled(self, text: str, style: Style) -> str:
        """Text in a style, if this screen has colour."""
        return styled(text, style, colour=self.colour)

    def hint(self, line: str) -> None:
        """Print a note that is not a result."""
        if not self.json:
            write_line(self.err, line, self.err_columns)

    @property
    def can_ask(self) -> bool:
        """Whether somebody is at a terminal, who can be asked."""
        return not self.json and sys.stdin.isatty() and self.err_columns is not None

    async def ask(self, question: str) -> str:
        """A line that is typed at the terminal, "" at its end; Ctrl-C ends the wait."""
        write_line(self.err, question, self.err_columns, end=" ")
        self.err.flush()
        loop, typed = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(sys.stdin.fileno(), typed.set)
        try:
            await typed.wait()
        finally:
            loop.remove_reader(sys.stdin.fileno())
        return sys.stdin.readline().strip()

    def progress(self, line: str) -> None:
        """Show a temporary state in place of the last one; the empty line erases it."""
        if self.lively:
            # The cursor cannot go back to a line before the one that it is on.
            fitted = line if self.err_columns is None else shortened(line, max(2, self.err_columns - 1))
            self.err.write(f"\r\x1b[K{fitted}")
            self.err.flush()

    def fail(self, code: str, message: str, fields: Any = None) -> None:
        """Print why the command failed: with JSON it is the value on stdout, so that a script reads
        one stream and checks the exit status."""
        if self.json:
            error = {"code": code, "message": message} | ({"fields": fields} if fields else {})
            self.show_one({"error": error}, "")
        else:
            write_line(self.err, f"wifimgrctl: {safe(message)} ({code})", self.err_columns)

    def fail_with(self, error: WifimgrdError) -> None:
        """Print why the command failed."""
        faults = dict(error.fields) if isinstance(error, InvalidRequest) else None
        self.fail(error.code, error.message, faults)


def _is_pipe(stream: TextIO) -> bool:
    """Whether another program reads a stream."""
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def columns_of(stream: TextIO) -> int | None:
    """The width of the terminal that a stream is; None if it is not one."""
    if not stream.isatty():
        return None
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdecimal() and int(said[:5]) > 0:
        return int(said[:5])
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except OSError:
        return _COLUMNS


def write_line(
    stream: TextIO, line: str, columns: int | None = None, indent: int = _INDENT, end: str = "\n"
) -> None:
    """Print a line, on several ones if it does not fit: those are indented further than it begins."""
    if columns is not None:
        indent += len(line) - len(line.lstrip(" "))
        line = "\n".join(wrapped(line, columns, indent))
    stream.write(line + end)
