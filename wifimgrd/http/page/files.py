"""The page's files as they are sent: each with an entity tag, and compressed where that makes it smaller."""

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
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
    "yml": "application/yaml",
}
LARGE: Final = "large-"
"""Before the name of an icon: the same drawing as a picture. The platform's wizard to 0.1.29 shows
the pictures of models in the size that they have."""
_ICON_SIZE: Final = b'width="24" height="24"'
_LARGE_SIZE: Final = b'width="240" height="240"'
_COMPRESSED: Final = frozenset({"css", "html", "js", "json", "svg", "txt", "yml"})


@dataclass(frozen=True)
class File:
    """One file."""

    data: bytes
    ending: str

    @property
    def content_type(self) -> str:
        """The media type."""
        return _TYPES[self.ending]

    @cached_property
    def tag(self) -> str:
        """The entity tag; it changes with the content."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    @cached_property
    def compressed(self) -> bytes | None:
        """Compressed by gzip; None if that is not smaller."""
        if self.ending not in _COMPRESSED:
            return None
        data = gzip.compress(self.data, 9, mtime=0)
        return data if len(data) < len(self.data) else None


class Files:
    """The built files, read at the first request."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self._folder = folder or resources.files(__package__) / "built"
        self._icons = resources.files(__package__) / "icons"
        self._read: dict[str, File] = {}
        self._large: dict[str, File] = {}

    def document(self, name: str) -> str | None:
        """The text of a document; None if nothing was built."""
        found = self._folder / name
        return found.read_text("utf-8") if found.is_file() else None

    def asset(self, name: str) -> File | None:
        """A file that a document refers to; None if there is none."""
        return self._file(self._folder / "assets", name)

    def icon(self, name: str) -> File | None:
        """The icon of a kind of camera, or its picture (LARGE); None if there is none."""
        icon = self._file(self._icons, name.removeprefix(LARGE))
        if icon is None or not name.startswith(LARGE):
            return icon
        if name not in self._large:
            self._large[name] = File(icon.data.replace(_ICON_SIZE, _LARGE_SIZE, 1), icon.ending)
        return self._large[name]

    def _file(self, folder: Traversable, name: str) -> File | None:
        if name not in self._read:
            found = folder / name
            ending = name.rpartition(".")[2]
            if "/" in name or name.startswith(".") or ending not in _TYPES or not found.is_file():
                return None
            self._read[name] = File(found.read_bytes(), ending)
        return self._read[name]
