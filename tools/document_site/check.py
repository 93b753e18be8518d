"""The built site as a browser takes it: each link, anchor and picture is there, and nothing is inline."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_LINKS: Final = {"href", "src", "poster", "srcset", "data"}


class _Reader(HTMLParser):
    """Collects from one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each element."""
        given = dict(attrs)
        self.links += [given[name] or "" for name in given.keys() & _LINKS]
        if (anchor := given.get("id")) is not None:
            if anchor in self.anchors:
                self.faults.append(f"has two elements with the id {anchor}")
            self.anchors.add(anchor)
        if tag == "style" or (tag == "script" and "src" not in given):
            self.faults.append(f"has an inline {tag}")
        self.faults += [
            f"has the attribute {name} inline" for name in given if name == "style" or name.startswith("on")
        ]


def faults(site: Path) -> list[str]:
    """What is wrong with the site, in sentences; none if it is right."""
    pages: dict[str, _Reader] = {}
    for file in sorted(site.rglob("*.html")):
        reader = _Reader()
        reader.feed(file.read_text(encoding="utf-8"))
        reader.close()
        pages[file.relative_to(site).as_posix()] = reader
    files = {one.relative_to(site).as_posix() for one in site.rglob("*") if one.is_file()}
    return [
        f"{page}: {fault}" for page in pages for fault in (*pages[page].faults, *_broken(page, pages, files))
    ]


def _broken(page: str, pages: dict[str, _Reader], files: set[str]) -> Iterator[str]:
    for link in dict.fromkeys(pages[page].links):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = _target(page, unquote(parts.path))
        if target not in files:
            yield f"links to {link}, which is not there"
        elif parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
            yield f"links to {link}, and there is no such anchor"


def _target(page: str, path: str) -> str:
    """The file that a path leads to from a page."""
    if not path:
        return page
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    is_folder = path.endswith("/") or posixpath.basename(path) in (".", "..")
    return posixpath.normpath(posixpath.join(target, "index.html")) if is_folder else target
