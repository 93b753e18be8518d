"""The comments in the introspection XML, in the form that gdbus-codegen reads: a line `Member:`, lines
`@argument: text`, an empty line, and the description."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

_ARGUMENT = re.compile(r"@(\w+): (.*)")


@dataclass(frozen=True, slots=True)
class Comment:
    """What is said of an interface or of a member."""

    lines: tuple[str, ...]
    """The description, with empty lines between paragraphs."""
    arguments: tuple[tuple[str, str], ...]
    """The arguments that are described apart, each with a text; also `since`."""


@dataclass(frozen=True, slots=True)
class Member:
    """A method, signal or property."""

    element: ElementTree.Element
    comment: Comment

    @property
    def signature(self) -> str:
        """Its notation in documents."""
        name = str(self.element.get("name"))
        if self.element.tag == "property":
            return f"{name} {self.element.get('type')}"
        arguments = [
            (one.get("direction", "in"), f"{one.get('type')} {one.get('name')}")
            for one in self.element.findall("arg")
        ]
        answers = ", ".join(text for direction, text in arguments if direction == "out")
        kind = "signal " if self.element.tag == "signal" else ""
        asked = ", ".join(text for direction, text in arguments if direction != "out")
        return f"{kind}{name}({asked})" + (f" -> {answers}" if answers else "")


def interface_of(file: Path) -> tuple[Comment, list[Member]]:
    """What is said of the interface that a file defines, and its members."""
    builder = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))  # noqa: S314
    node = ElementTree.fromstring(file.read_text(encoding="utf-8"), builder)  # noqa: S314 - our own file
    [face] = node.findall("interface")
    [about] = (one for one in node if not isinstance(one.tag, str))
    return _parsed(about), list(_members(face))


def _members(face: ElementTree.Element) -> Iterator[Member]:
    comment = Comment((), ())
    for one in face:
        if not isinstance(one.tag, str):  # a comment
            comment = _parsed(one)
        else:
            yield Member(one, comment)


def _parsed(element: ElementTree.Element) -> Comment:
    _, _, text = str(element.text).strip().partition(":")
    lines = [line.strip() for line in text.strip().splitlines()]
    arguments = [found for line in lines if (found := _ARGUMENT.fullmatch(line))]
    described = "\n".join(line for line in lines if not _ARGUMENT.fullmatch(line)).strip()
    return Comment(tuple(described.splitlines()), tuple((one[1], one[2]) for one in arguments))
