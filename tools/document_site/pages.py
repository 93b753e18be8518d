"""The pages of the site: which document each one is, and its Markdown as MkDocs takes it.

The documents are written as GitHub shows them. Python-Markdown, which MkDocs uses, differs in what `_Page`
changes: the names of anchors, lists, and what stands behind the language of a block.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
_ELSEWHERE: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "vulnerabilities.md",
    "tests/lab/README.md": "lab.md",
}
"""Documents that are not in `docs/`, and the names of their pages."""
_LINK: Final = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_REMOTE: Final = re.compile(r"[a-z]+:")
_BLOCK: Final = re.compile(r"^(```.*?^```\n)", re.MULTILINE | re.DOTALL)
_INFO: Final = re.compile(r"\A```(\w*).*\n")
_HEADING: Final = re.compile(r"#+ (?P<text>.+)")
_ITEM: Final = re.compile(r"(?P<indent> *)(?P<mark>[-*]|\d+\.) ")
_LINK_OR_CODE: Final = re.compile(rf"{_LINK.pattern}|`[^`]*`")


class BrokenLink(ValueError):
    """A document links to what the checkout does not have."""


def documents() -> dict[str, str]:
    """The documents, by their paths in the checkout, and the names of their pages."""
    inside = {f"docs/{one.name}": one.name for one in sorted(CHECKOUT.glob("docs/*.md"))}
    return {**_ELSEWHERE, **inside}


def write_pages(folder: Path) -> None:
    """Write what MkDocs reads: the pages, and the pictures and other files that they link to. Raises
    BrokenLink."""
    names = documents()
    for path, name in names.items():
        page = _Page(path, names)
        text = (CHECKOUT / path).read_text(encoding="utf-8")
        (folder / name).write_text(page.translated(text), encoding="utf-8")
        for source in page.sources:
            copy = folder / "source" / f"{source}.txt"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(CHECKOUT / source, copy)
    for beside in sorted(one for one in (CHECKOUT / "docs").iterdir() if one.is_dir()):
        shutil.copytree(beside, folder / beside.name)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub names it."""
    shown = _LINK.sub(lambda link: link["text"], heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


class _Page:
    """Translates one document, line by line."""

    def __init__(self, path: str, names: Mapping[str, str]) -> None:
        self._path = path
        self._names = names
        self._anchors: dict[str, int] = {}
        self.sources: set[str] = set()
        """The other files of the checkout that it links to."""
        self._depth = -1
        """Of the item that the line before belongs to; -1 outside of lists."""
        self._in_paragraph = False
        """Whether the line before is of a paragraph, which has to end before an item begins."""
        self._after_nothing = True

    def translated(self, text: str) -> str:
        """The document for MkDocs."""
        # Every second part is a block of code.
        parts = _BLOCK.split(text)
        return "".join(
            _INFO.sub(r"```\1\n", part) if number % 2 else self._prose(part)
            for number, part in enumerate(parts)
        )

    def _prose(self, text: str) -> str:
        self._depth, self._in_paragraph, self._after_nothing = -1, False, True
        return "".join(f"{line}\n" for line in self._lines(self._linked(text)))

    def _lines(self, text: str) -> Iterator[str]:
        for line in text.splitlines():
            if heading := _HEADING.fullmatch(line):
                self._depth, self._in_paragraph = -1, False
                yield f"{line} {{#{self._anchor(heading['text'])}}}"
            else:
                yield from self._in_lists(line)

    def _anchor(self, heading: str) -> str:
        name = slug(heading)
        count = self._anchors[name] = self._anchors.get(name, -1) + 1
        return f"{name}-{count}" if count else name

    def _in_lists(self, line: str) -> Iterator[str]:
        """A list begins after an empty line, as does an item after a paragraph of the one before, and four
        blanks lead one level deeper."""
        text = line.lstrip(" ")
        if item := _ITEM.match(line):
            if self._in_paragraph:
                yield ""
            self._depth = (len(item["indent"]) + 1) // 2
            self._in_paragraph = False
            yield "    " * self._depth + text
        elif text and self._depth >= 0 and line.startswith(" "):
            self._in_paragraph |= self._after_nothing
            yield "    " * (self._depth + 1) + text
        else:
            if text:
                self._depth = -1
            self._in_paragraph = bool(text)
            yield line
        self._after_nothing = not text

    def _linked(self, text: str) -> str:
        """The text with the links of the site, but for what stands in code."""
        return _LINK_OR_CODE.sub(lambda found: self._link(found) if found["target"] else found[0], text)

    def _link(self, link: re.Match[str]) -> str:
        target, hash_mark, anchor = link["target"].partition("#")
        if not target or _REMOTE.match(target):
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self._path), target))
        if path in self._names:
            return f"[{link['text']}]({self._names[path]}{hash_mark}{anchor})"
        if path.startswith("docs/"):
            return f"[{link['text']}]({path.removeprefix('docs/')})"
        if not (CHECKOUT / path).is_file():
            raise BrokenLink(f"{self._path}: links to {target}, which is not there")
        self.sources.add(path)
        return f"[{link['text']}](source/{path}.txt{hash_mark}{anchor})"
