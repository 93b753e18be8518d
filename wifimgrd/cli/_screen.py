"""The output of the command: text for people or JSON on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from wifimgrd.cli._table import Row, table
from wifimgrd.cli._text import Style, safe, styled
from wifimgrd.domain.errors import InvalidRequest, WifimgrdError


@dataclass(frozen=True, slots=True)
class Screen:
    """The destination and the format of the output."""

    json: bool
    out: TextIO
    err: TextIO
    colour: bool = False
    columns: int | None = None
    """Width of the terminal; None if stdout is not one."""
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
            columns=shutil.get_terminal_size().columns if terminal else None,
            lively=sys.stderr.isatty() and not dumb and not json,
        )

    def show(self, value: Any, lines: Iterable[str]) -> None:
        """Print a result: as a JSON value, or as lines for people."""
        if self.json:
            self._print(self.out, json.dumps(value, indent=2))
        else:
            for line in lines:
                self._print(self.out, line)

    def show_one(self, value: Any, line: str) -> None:
        """Print one of many results, on a line of its own, at once."""
        self._print(self.out, json.dumps(value) if self.json else line)
        self.out.flush()

    def table(self, heads: Sequence[str], rows: Sequence[Row], *, whole: Collection[str] = ()) -> list[str]:
        """The lines of a table that fits this screen; the columns with the heads `whole` are cut last."""
        return table(heads, rows, columns=self.columns, colour=self.colour, whole=whole)

    def styled(self, text: str, style: Style) -> str:
        """Text in a style, if this screen has colour."""
        return styled(text, style, colour=self.colour)

    def hint(self, line: str) -> None:
        """Print a note that is not a result."""
        if not self.json:
            self._print(self.err, line)

    def progress(self, line: str) -> None:
        """Show a temporary state in place of the last one; the empty line erases it."""
        if self.lively:
            self.err.write(f"\r\x1b[K{line}")
            self.err.flush()

    def fail(self, code: str, message: str, fields: Any = None) -> None:
        """Print why the command failed: with JSON it is the value on stdout, so that a script reads
        one stream and checks the exit status."""
        if self.json:
            error = {"code": code, "message": message} | ({"fields": fields} if fields else {})
            self.show_one({"error": error}, "")
        else:
            self._print(self.err, f"wifimgrctl: {safe(message)} ({code})")

    def fail_with(self, error: WifimgrdError) -> None:
        """Print why the command failed."""
        faults = dict(error.fields) if isinstance(error, InvalidRequest) else None
        self.fail(error.code, error.message, faults)

    @staticmethod
    def _print(stream: TextIO, line: str) -> None:
        stream.write(line + "\n")
