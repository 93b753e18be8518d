"""The index of the search, as MkDocs has written it, made smaller."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any, Final

INDEX: Final = "search/search_index.json"
_NARROW: Final = re.compile(r" ([,.;:)])(?=\s|$)")
"""What MkDocs has put a blank before, where it stands behind code or a link."""


def shorten(site: Path) -> None:
    """Keep each text once: MkDocs gives it to the page and to its section. A section's title begins with
    that of its page."""
    file = site / INDEX
    index = json.loads(file.read_text(encoding="utf-8"))
    index["docs"] = list(_entries(index["docs"]))
    file.write_text(json.dumps(index, sort_keys=True, separators=(",", ":")), encoding="utf-8")


def _entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    titles = {one["location"]: html.unescape(one["title"]) for one in entries if "#" not in one["location"]}
    shortened = []
    for one in entries:
        page, _, anchor = one["location"].partition("#")
        if not anchor:
            continue
        heading = html.unescape(one["title"])
        title = heading if heading == titles[page] else f"{titles[page]}: {heading}"
        shortened.append(
            {"location": one["location"], "title": title, "text": _NARROW.sub(r"\1", one["text"])}
        )
    return shortened
