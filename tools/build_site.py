#!/usr/bin/env python3
"""build_site.py FOLDER|--sources: build the documents as a site, by MkDocs (the program `mkdocs`), into
FOLDER; or print a sum of all that it is built of.

It fails if MkDocs warns of something, if a link, an anchor or a picture is not there, or if a page has a
script or a style inline, which no page of the hub may have. The same documents make the same files, whenever
they are built.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from tools.document_site import check, pages, search  # noqa: E402
from tools.document_site.colours import colours  # noqa: E402

_HERE: Final = CHECKOUT / "tools" / "document_site"
_PAGE: Final = CHECKOUT / "frontend" / "src"
_DATED: Final = ("sitemap.xml", "sitemap.xml.gz")
_UNUSED: Final = ("search/main.js",)
"""The theme has a script of its own, which needs nothing inline."""
_LICENSES: Final = {"mkdocs": "search/license-mkdocs.txt", "libjs-lunr": "search/license-lunr.txt"}
"""Of what is part of the site, by the packages that it comes from."""


@contextmanager
def _staged() -> Iterator[Path]:
    """What MkDocs reads, in a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        stage = Path(scratch)
        (stage / "pages").mkdir()
        pages.write_pages(stage / "pages")
        shutil.copy(_HERE / "mkdocs.yml", stage)
        shutil.copytree(_HERE / "theme", stage / "theme")
        shutil.copy(_PAGE / "icon.svg", stage / "theme")
        sheet = stage / "theme" / "site.css"
        sheet.write_text(colours(_PAGE / "style.css") + sheet.read_text("utf-8"), "utf-8")
        yield stage


def sources() -> str:
    """A sum of all that the site is built of, this program included."""
    made = hashlib.sha256()
    with _staged() as stage:
        staged = sorted(one for one in stage.rglob("*") if one.is_file())
        for file in (Path(__file__), *sorted(_HERE.glob("*.py")), *staged):
            made.update(file.name.encode() + file.read_bytes())
    return made.hexdigest()


def build(folder: Path) -> list[str]:
    """Build it; returns what is wrong, in sentences."""
    with _staged() as stage:
        site = stage / "site"
        done = subprocess.run(
            ["mkdocs", "build", "--strict", "--site-dir", site],
            cwd=stage,
            env=os.environ | {"SOURCE_DATE_EPOCH": "0"},
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            return [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
        for name in (*_DATED, *_UNUSED):
            (site / name).unlink()
        for package, name in _LICENSES.items():
            shutil.copy(f"/usr/share/doc/{package}/copyright", site / name)
        search.shorten(site)
        found = check.faults(site)
        if not found:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(site, folder)
        return found


def main() -> None:
    """Build it, or say why not."""
    [folder] = sys.argv[1:]
    try:
        if folder == "--sources":
            print(sources())
            return
        found = build(Path(folder))
    except pages.BrokenLink as error:
        found = [str(error)]
    if found:
        sys.exit("\n".join(f"build_site: {one}" for one in found))


if __name__ == "__main__":
    main()
