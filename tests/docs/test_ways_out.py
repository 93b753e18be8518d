"""Each `wifimgrctl` command that the catalog, documents on errors, advice and errors name exists."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from wifimgrd.cli._arguments import parser

ROOT = Path(__file__).parents[2]
SOURCES = (
    ROOT / "systemd/wifimgrd.catalog",
    ROOT / "docs/operating.md",
    ROOT / "docs/failures.md",
    ROOT / "docs/configuration.md",
    ROOT / "frontend/src/messages.ts",
    *sorted((ROOT / "frontend/src/messages").glob("*.ts")),
    *sorted((ROOT / "wifimgrd").rglob("*.py")),
)
WORDS = re.compile(r"`(wifimgrctl [^`]+)`|(wifimgrctl (?:set|add) [^\"'`,.;)\n]+)")
"""In backquotes, or as the last part of a sentence of an error or advice."""
PLACEHOLDERS = {"...": "x", "--ssid-hex": "--ssid-hex 41", "COMMAND": "connect"}


def texts_of(source: Path) -> Iterator[str]:
    """What people read of a file: of a module its strings but docstrings, with "1" for each value in them."""
    if source.suffix != ".py":
        yield source.read_text()
        return
    nodes = list(ast.walk(ast.parse(source.read_text())))
    alone = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else "1" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield node.value


def commands() -> list[tuple[str, str]]:
    found = []
    for source in SOURCES:
        for text in texts_of(source):
            for quoted, plain in WORDS.findall(text):
                command = " ".join((quoted or plain).split())
                found.append((source.name, re.sub(r"@WIFIMGRD_\w+@", "1", command)))
    return sorted(set(found))


@pytest.mark.parametrize(("source", "command"), commands())
def test_a_command_that_is_named_can_be_given(source: str, command: str) -> None:
    for placeholder, text in PLACEHOLDERS.items():
        command = command.replace(placeholder, text)
    command = command.replace("--bluetooth 1", "--bluetooth F4:DD:12:34:56:78")
    options = [] if "add --ssid-hex" not in command else ["--open"]
    words = [*shlex.split(command)[1:], *options]
    if "--help" in words:
        with pytest.raises(SystemExit, match=r"^0$"):
            parser().parse_args(words)
    else:
        parser().parse_args(words)


def test_the_ways_out_are_among_them() -> None:
    named = set(commands())
    assert ("wifimgrd.catalog", "wifimgrctl set 1 --ask-password") in named
    assert ("operating.md", "wifimgrctl set NAME --ask-password") in named
    assert ("_outcome.py", "wifimgrctl set 1 --ask-password") in named


def test_nothing_is_to_be_removed_and_added_again_or_changed_by_a_program() -> None:
    catalog = (ROOT / "systemd/wifimgrd.catalog").read_text()
    advice = (ROOT / "docs/operating.md").read_text().partition("## Troubleshooting")[2]
    for text in (catalog, advice):
        assert not re.search(r"PATCH|D-Bus \(|add it\s+again|remove the device", text)
    assert "sudo adduser NAME wifimgrd" in catalog
