"""The code of the documentation: fenced blocks with their language and where they run, and code in lines.

The info string of a fence is the language, then one word: of commands (`sh`, `console`) one of `PLACES`, else
the name of the file that a reader saves the block as, if any.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *(str(path.relative_to(CHECKOUT)) for path in sorted(CHECKOUT.glob("docs/*.md"))),
    "tests/lab/README.md",
)
HISTORY: Final = "CHANGELOG.md"
"""What it names was there when that was written."""
COMMANDS: Final = ("sh", "console")
"""Languages of commands: a script that succeeds, and a terminal session with `$ ` and what is printed."""
PLACES: Final = {
    "fresh-machine": "a Debian on which nothing is installed; on_bare_debian.py",
    "make-run": "a second terminal in the checkout, beside `make run`; test_commands.py",
    "checkout": "the checkout: make's targets and scripts, which tests of their own run; test_commands.py",
    "broker": "an MQTT broker's host; tests/mqtt/test_fleet_document.py",
    "vehicle": "a vehicle's host with a broker of its own; tests/mqtt/test_fleet_document.py",
    "installed": "a Debian with the packages; tests/system/test_documents.py",
    "lab": "a hub with real cameras; tests/lab/test_documents.py",
    "other-host": "another host of the hub's network; tests/lab/test_documents.py",
}
_FENCE: Final = re.compile(r"```(?P<info>.*)")
_CODE_IN_LINE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PROMPT: Final = "$ "


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a terminal session, and what it prints."""

    command: str
    printed: str


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced block."""

    document: str
    line: int
    language: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def steps(self) -> list[Step]:
        """The commands of a terminal session."""
        steps: list[Step] = []
        command, printed = "", ""
        for line in self.text.splitlines(keepends=True):
            if command and not printed and _goes_on(command):
                command += line
            elif line.startswith(_PROMPT):
                if command:
                    steps.append(Step(command, printed))
                command, printed = line.removeprefix(_PROMPT), ""
            else:
                assert command, f"{self}: a session begins with {_PROMPT!r}"
                printed += line
        return [*steps, Step(command, printed)]

    @property
    def commands(self) -> list[str]:
        """The commands, one by one, without comments."""
        if self.language == "console":
            return [step.command.strip() for step in self.steps]
        lines, command = [], ""
        for line in self.text.splitlines(keepends=True):
            command += line
            if not _goes_on(command):
                lines.append(" ".join(shlex.split(command, comments=True)))
                command = ""
        return [line for line in lines if line]


def _goes_on(command: str) -> bool:
    """Whether the next line belongs to a command, too."""
    if command.endswith("\\\n"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:  # an open quotation
        return True
    return False


def code_blocks(document: str) -> list[CodeBlock]:
    """The fenced blocks of a document, in order."""
    return list(_parse(document, (CHECKOUT / document).read_text(encoding="utf-8")))


def _parse(document: str, text: str) -> Iterator[CodeBlock]:
    info, first, inside = "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            inside.append(line)
        elif first:
            assert not fence["info"], f"{document}:{number}: a block within a block"
            language, _, where = info.partition(" ")
            yield CodeBlock(document, first, language, where, "".join(f"{one}\n" for one in inside))
            first = 0
        else:
            info, first, inside = fence["info"], number + 1, []
    assert not first, f"{document}:{first}: a block without an end"


def prose(document: str) -> list[tuple[int, str]]:
    """The lines outside of fenced blocks, with their numbers."""
    lines, outside = [], True
    for number, line in enumerate((CHECKOUT / document).read_text(encoding="utf-8").splitlines(), 1):
        if _FENCE.fullmatch(line):
            outside = not outside
        elif outside:
            lines.append((number, line))
    return lines


def code_in_lines(document: str) -> list[tuple[int, str]]:
    """What stands between backticks in the text of a document, with the numbers of lines."""
    return [(number, code) for number, line in prose(document) for code in _CODE_IN_LINE.findall(line)]


def blocks_at(place: str) -> dict[str, list[CodeBlock]]:
    """The commands that run somewhere, by document."""
    found = {
        document: [block for block in code_blocks(document) if block.where == place] for document in DOCUMENTS
    }
    return {document: blocks for document, blocks in found.items() if blocks}
