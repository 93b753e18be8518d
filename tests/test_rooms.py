"""Each room says what it holds, who uses it and what it imports; architecture.md has the tables of layers."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).parents[1]
PACKAGE: Final = CHECKOUT / "wifimgrd"
PROCESSES: Final = ("daemon", "http")
"""The rooms that have rooms of their own in a table of layers."""
MODULES: Final = {
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
ROOMS: Final = [
    str(path.parent.relative_to(PACKAGE))
    for path in sorted(PACKAGE.rglob("__init__.py"))
    if path.parent.parent == PACKAGE
    or (path.parent.parent.name in PROCESSES and path.parent.parent.parent == PACKAGE)
]


def room_of(module: str) -> str:
    """The room that a module is in, such as `daemon/manager`; of a process's own modules, its folder."""
    _, *parts = module.split(".")
    inner = "/".join(parts[:2])
    return inner if inner in ROOMS else parts[0]


def imported(path: Path) -> Iterator[str]:
    """The modules of the hub that a module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


def seen_from(room: str, other: str, module: str) -> str:
    """What a room calls another one: by its process, and inside the same process by its room or module."""
    process = other.split("/", maxsplit=1)[0]
    if room.split("/", maxsplit=1)[0] == process and "/" not in other:
        return module.removeprefix("wifimgrd.").replace(".", "/")
    return other if process in PROCESSES and "/" in other else process


@cache
def neighbours() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Who uses each room, and what it imports."""
    users, imports = defaultdict(set), defaultdict(set)
    for module, path in MODULES.items():
        if module == "wifimgrd":
            continue
        room = room_of(module)
        for name in imported(path):
            if name == "wifimgrd" or (other := room_of(name)) == room:
                continue
            if other.split("/")[0] != room:  # a process has its own rooms
                imports[room].add(seen_from(room, other, name))
            if room.split("/")[0] != other:
                inside = room.split("/")[0] == other.split("/")[0]
                users[other].add(room if inside else room.split("/")[0])
    return users, imports


def sentence(word: str, names: set[str], none: str) -> str:
    return f"{word}: {', '.join(f'`{name}`' for name in sorted(names)) or none}."


def expected(room: str) -> tuple[str, str]:
    """The two sentences at the end of a room's docstring."""
    users, imports = neighbours()
    return (
        sentence("Used by", users[room], "no other room"),
        sentence("Imports", imports[room], "nothing of the hub"),
    )


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_holds_who_uses_it_and_what_it_imports(room: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text()))
    assert text is not None
    *holds, last = text.split("\n\n")
    assert len(holds) >= 2, "a line, and a paragraph"
    assert " ".join(last.split()) == " ".join(expected(room))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_only_modules_that_it_has(room: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or ""
    places = (PACKAGE / room, PACKAGE, CHECKOUT)
    named = re.findall(r"`([\w/]+\.py)`", text)
    assert not [name for name in named if not any((place / name).exists() for place in places)]


def layers(container: str) -> str:
    """A table of layers as `setup.cfg` has it."""
    return "\n".join(_rules()[f"importlinter:contract:{container}"]["layers"].strip().splitlines())


def contracts() -> str:
    """The names of the contracts beside the tables, as a list."""
    rules = (section for section in _rules().values() if section.get("type") not in (None, "layers"))
    return "\n".join(f"- {section['name']}." for section in rules)


def _rules() -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.read(CHECKOUT / "setup.cfg")
    return parser


@pytest.mark.parametrize("container", ["layers", *PROCESSES])
def test_the_architecture_has_the_tables_of_layers(container: str) -> None:
    document = (CHECKOUT / "docs/architecture.md").read_text()
    assert f"```text\n{layers(container)}\n```" in document


def test_the_architecture_has_the_contracts_beside_the_tables() -> None:
    assert contracts() in (CHECKOUT / "docs/architecture.md").read_text()
