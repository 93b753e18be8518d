"""The documents as a site, which `tools/build_site.py` builds: only files that are in it can be asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from wifimgrd.http.page.files import File

_PAGE: Final = "index.html"


class DocumentSite:
    """The built site, each file of it read at the first request."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self._folder = folder or resources.files(__package__) / "site"
        self._found: dict[str, Traversable] = {}
        self._read: dict[str, File] = {}

    async def file(self, path: str) -> File | None:
        """The file at a path, or the page of a folder; None if there is none."""
        name = path + _PAGE if _is_folder(path) else path
        if name not in self._read:
            found = self._files.get(name)
            if found is None:
                return None
            self._read[name] = await asyncio.to_thread(_made_ready, found)
        return self._read[name]

    def is_page(self, folder: str) -> bool:
        """Whether a folder, `""` or with a slash at its end, has a page."""
        return folder + _PAGE in self._files

    @property
    def _files(self) -> dict[str, Traversable]:
        if not self._found and self._folder.is_dir():  # it may be built while the hub runs
            self._found = dict(_within(self._folder, ""))
        return self._found


def _is_folder(path: str) -> bool:
    return not path or path.endswith("/")


def _within(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for one in folder.iterdir():
        if one.name.startswith("."):
            continue
        if one.is_dir():
            yield from _within(one, f"{path}{one.name}/")
        else:
            yield path + one.name, one


def _made_ready(found: Traversable) -> File:
    """Read and compress it: the index of the search takes a tenth of a second on a small computer."""
    file = File(found.read_bytes(), found.name.rpartition(".")[2])
    _ = file.tag, file.compressed
    return file
