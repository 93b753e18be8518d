"""The page's files as they are sent: with a tag each, and compressed where that helps."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_COMPRESSED: Final = frozenset({"css", "html", "js", "svg", "txt"})


@dataclass(frozen=True)
class File:
    """One file."""

    octets: bytes
    ending: str

    @property
    def content_type(self) -> str:
        """What it is."""
        return _TYPES[self.ending]

    @cached_property
    def tag(self) -> str:
        """Another one for another content."""
        return hashlib.sha256(self.octets).hexdigest()[:16]

    @cached_property
    def compressed(self) -> bytes | None:
        """By gzip; None where that saves nothing."""
        if self.ending not in _COMPRESSED:
            return None
        octets = gzip.compress(self.octets, 9, mtime=0)
        return octets if len(octets) < len(self.octets) else None


class Files:
    """What was built, read when it is first asked for."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self._folder = folder or resources.files(__package__) / "built"
        self._icons = resources.files(__package__) / "icons"
        self._read: dict[str, File] = {}

    def document(self, name: str) -> str | None:
        """The text of a document; None where nothing was built."""
        found = self._folder / name
        return found.read_text("utf-8") if found.is_file() else None

    def asset(self, name: str) -> File | None:
        """A file that a document names; None where there is none."""
        return self._file(self._folder / "assets", name)

    def icon(self, name: str) -> File | None:
        """A picture of a kind of camera; None where there is none."""
        return self._file(self._icons, name)

    def _file(self, folder: Traversable, name: str) -> File | None:
        if name not in self._read:
            found = folder / name
            ending = name.rpartition(".")[2]
            if "/" in name or name.startswith(".") or ending not in _TYPES or not found.is_file():
                return None
            self._read[name] = File(found.read_bytes(), ending)
        return self._read[name]
