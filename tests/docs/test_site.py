"""The documents as a site: it is built strictly, says what the documents say, and is the same each time."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from markdown_it import MarkdownIt

from tests.docs.code_blocks import CHECKOUT, DOCUMENTS
from tools.build_site import build
from tools.document_site import check
from tools.document_site.pages import documents, slug
from tools.document_site.search import INDEX

PICTURES: Final = {".png", ".svg"}
MOST_BYTES: Final = 3_000_000
"""Without the pictures."""
STRUCTURE: Final = frozenset(
    [
        "h1",
        "h2",
        "h3",
        "h4",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "th",
        "td",
        "pre",
        "code",
        "blockquote",
        "strong",
    ]
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It, as `make site` builds it."""
    folder = tmp_path_factory.mktemp("site") / "site"
    assert build(folder) == []
    return folder


def files(site: Path) -> dict[str, bytes]:
    return {
        one.relative_to(site).as_posix(): one.read_bytes() for one in sorted(site.rglob("*")) if one.is_file()
    }


def test_the_same_documents_make_the_same_files_without_a_date(site: Path, tmp_path: Path) -> None:
    assert build(tmp_path / "site") == []
    assert files(tmp_path / "site") == files(site)
    assert not [name for name in files(site) if "sitemap" in name]


def test_it_is_small_and_has_each_picture_once(site: Path) -> None:
    found = files(site)
    pictures = [data for name, data in found.items() if Path(name).suffix in PICTURES]
    assert sum(map(len, found.values())) - sum(map(len, pictures)) < MOST_BYTES
    assert len({*pictures}) == len(pictures) > len(list(CHECKOUT.glob("docs/images/*")))


class Shown(HTMLParser):
    """The words of a page's own part, and their structure."""

    def __init__(self, within: str = "") -> None:
        super().__init__()
        self.shown: list[str] = []
        self._within = within
        self._is_in = not within
        self._aside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each element."""
        self._is_in |= tag == self._within
        self._aside += tag == "details"
        if self._is_in and not self._aside and tag in STRUCTURE:
            self.shown.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        """Called for the end of each."""
        self._is_in &= tag != self._within
        self._aside -= tag == "details"

    def handle_data(self, data: str) -> None:
        """Called for text."""
        if self._is_in and not self._aside:
            self.shown.append(data)


def shown(text: str, within: str = "") -> list[str]:
    reader = Shown(within)
    reader.feed(text)
    return re.findall(r"<\w+>|[^\s<>]+|[<>]", "".join(reader.shown))


def page_of(site: Path, document: str) -> str:
    name = documents()[document].removesuffix(".md")
    return (site / ("" if name == "index" else name) / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", documents())
def test_a_page_shows_what_the_document_shows(site: Path, document: str) -> None:
    """MkDocs reads another Markdown than the one that the documents are written in."""
    text = (CHECKOUT / document).read_text(encoding="utf-8")
    expected = MarkdownIt("commonmark").enable("table").render(text)
    # A header without words is none for a screen reader.
    expected = expected.replace("<th></th>", "<td></td>")
    assert shown(page_of(site, document), "main") == shown(expected)


def test_each_document_is_a_page_and_in_the_list_of_pages(site: Path) -> None:
    assert {*DOCUMENTS} < {*documents()}
    listed = re.findall(
        r'href="([^"]+)"', page_of(site, "README.md").partition("<nav")[2].partition("</nav>")[0]
    )
    assert len(listed) == len(documents())
    assert {one.removeprefix("./").rstrip("/") or "index" for one in listed} - {"."} | {"index"} == {
        name.removesuffix(".md") for name in documents().values()
    }


def test_the_search_knows_each_section_once(site: Path) -> None:
    entries = json.loads((site / INDEX).read_text(encoding="utf-8"))["docs"]
    places = [one["location"] for one in entries]
    assert len({*places}) == len(places) > 300
    [errors] = [one for one in entries if one["location"] == "http/#errors"]
    assert errors["title"].endswith(": Errors")
    assert "no-interface-available" in errors["text"]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("A tour", "a-tour"),
        ("`GET P/wifi/`, and more", "get-pwifi-and-more"),
        ("[Linked](http.md#errors) here", "linked-here"),
        ("Nose - tail", "nose---tail"),
    ],
)
def test_an_anchor_is_named_as_github_names_it(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<a href="../there/#part">', None),
        ('<a href="../there/">', None),
        ('<a href="#here"><p id="here">', None),
        ('<a href="https://example.org/nowhere#x">', None),
        ('<a href="../there/#nowhere">', "no such anchor"),
        ('<a href="#nowhere">', "no such anchor"),
        ('<a href="../nowhere/">', "not there"),
        ('<a href="../there">', "not there"),
        ('<img src="no.png">', "not there"),
        ('<p id="a"><p id="a">', "two elements"),
        ("<script>1</script>", "inline script"),
        ("<style>p {}</style>", "inline style"),
        ('<p style="color: red">', "style inline"),
        ('<p onclick="go()">', "onclick inline"),
    ],
)
def test_what_is_broken_or_inline_is_found(tmp_path: Path, text: str, fault: str | None) -> None:
    for name, content in (("here", text), ("there", '<h2 id="part">')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(content)
    found = check.faults(tmp_path)
    assert (fault is None and found == []) or (fault is not None and len(found) == 1 and fault in found[0])


def test_headings_go_down_one_level_at_a_time(site: Path) -> None:
    """By which a screen reader finds its way."""
    for name, data in files(site).items():
        if name.endswith(".html"):
            main = data.decode().partition("<main")[2]
            levels = [int(one) for one in re.findall(r"<h([1-6])", main)]
            assert levels[0] == 1, name
            assert all(after <= before + 1 for before, after in pairwise(levels)), name
