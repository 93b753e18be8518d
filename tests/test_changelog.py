"""CHANGELOG.md is by version with dates, and each file in changes/ is one change of the next one."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.released_packages import COMMITS
from tools.changelog import KINDS, changes_in, is_tagged, joined, release, release_packages
from wifimgrd import __version__

CHECKOUT = Path(__file__).parents[1]
CHANGELOG = CHECKOUT / "CHANGELOG.md"
HEADING = re.compile(r"## \[(Unreleased)\]|## \[([0-9]+\.[0-9]+\.[0-9]+)\] - ([0-9]{4}-[0-9]{2}-[0-9]{2})")


def test_the_versions_have_dates_newest_first() -> None:
    lines = CHANGELOG.read_text().splitlines()
    found = [HEADING.fullmatch(line) for line in lines if line.startswith("## ")]
    assert all(found)
    unreleased, *dates = [one[1] or one[3] for one in found if one]
    assert (unreleased, dates) == ("Unreleased", sorted(dates, reverse=True))


def test_the_packages_have_the_same_versions_of_the_same_days() -> None:
    found = [HEADING.fullmatch(line) for line in CHANGELOG.read_text().splitlines() if line.startswith("## ")]
    versions = [(one[2], one[3]) for one in found if one and one[2]]
    assert packaged_versions(CHECKOUT) == versions
    assert versions[0][0] == __version__


def test_the_newest_version_begins_with_what_matters_most() -> None:
    _, _, section = CHANGELOG.read_text().partition(f"## [{__version__}]")
    headings = re.findall("^### (.*)$", section.partition("\n## ")[0], re.MULTILINE)
    assert headings[0] == "Highlights", "step 2 of the release in CONTRIBUTING.md"
    assert [one.lower() for one in headings[1:]] == [one for one in KINDS if one.capitalize() in headings]


def packaged_versions(checkout: Path) -> list[tuple[str, str]]:
    """In Debian's changelog."""
    text = (checkout / "packaging" / "debian" / "changelog").read_text()
    entries = re.findall(r"^wifimgrd \((.*?)\).*?^ -- .*?  (.*?)$", text, re.MULTILINE | re.DOTALL)
    return [(version, f"{parsedate_to_datetime(when):%Y-%m-%d}") for version, when in entries]


def test_each_change_is_a_file_whose_links_lead_somewhere() -> None:
    changes = joined(changes_in(CHECKOUT / "changes")) + CHANGELOG.read_text()
    targets = [one for one in re.findall(r"\]\(([^)#]+)", changes) if "://" not in one]
    assert [one for one in targets if not (CHECKOUT / one).exists()] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [("Rooms.added.md", "x"), ("rooms.new.md", "x"), ("rooms.md", "x"), ("a.fixed.md", "- x")],
)
def test_a_file_that_is_not_a_change_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=re.escape(name)):
        changes_in(tmp_path)


def test_a_release_moves_the_changes_into_its_section(tmp_path: Path) -> None:
    changes, changelog = tmp_path / "changes", tmp_path / "CHANGELOG.md"
    changes.mkdir()
    (changes / "rooms.changed.md").write_text("One\nmore.\n")
    (changes / "b.added.md").write_text("B.\n")
    (changes / "a.added.md").write_text("A.\n")
    shutil.copy(CHANGELOG, changelog)
    release(changelog, changes, "99.0.0", "2099-01-01")
    section = "## [99.0.0] - 2099-01-01\n\n### Added\n\n- A.\n- B.\n\n### Changed\n\n- One\n  more.\n\n## ["
    assert section in changelog.read_text()
    assert list(changes.iterdir()) == []


def test_what_comes_before_the_tag_is_added_to_the_section(tmp_path: Path) -> None:
    changes, changelog = tmp_path / "changes", tmp_path / "CHANGELOG.md"
    changes.mkdir()
    head, earlier = "# Changelog\n\n## [Unreleased]\n\n", "## [1.0.0] - 2098-01-01\n\n### Added\n\n- Old.\n"
    by_hand = "### Highlights\n\nIt is fast.\n\n### Added\n\n- **A** by hand.\n\n### Fixed\n\n- F.\n\n"
    changelog.write_text(f"{head}## [1.1.0] - 2099-01-01\n\n{by_hand}{earlier}")
    (changes / "late.added.md").write_text("Late.\n")
    (changes / "other.changed.md").write_text("Other.\n")
    release(changelog, changes, "1.1.0", "2099-01-02")
    section = by_hand.replace("by hand.\n", "by hand.\n- Late.\n\n### Changed\n\n- Other.\n")
    assert changelog.read_text() == f"{head}## [1.1.0] - 2099-01-02\n\n{section}{earlier}"
    release(changelog, changes, "1.1.0", "2099-01-02")
    assert changelog.read_text() == f"{head}## [1.1.0] - 2099-01-02\n\n{section}{earlier}"
    with pytest.raises(ValueError, match="at most as the newest"):
        release(changelog, changes, "1.0.0", "2099-01-02")


def test_nothing_is_added_to_a_version_that_has_a_tag(tmp_path: Path) -> None:
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a"],
        ["tag", "v1.1.0"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert [is_tagged(tmp_path, version) for version in ("1.1.0", "1.1.1")] == [True, False]


def test_hubs_are_upgraded_from_each_earlier_version() -> None:
    versions = [version for version, _ in packaged_versions(CHECKOUT)]
    assert list(COMMITS) == versions[:0:-1], "tests/released_packages.py"


def test_a_release_gives_the_packages_its_version(tmp_path: Path) -> None:
    for name in ("packaging/debian/changelog", "wifimgrd/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(CHECKOUT / name, tmp_path / name)
    debian = tmp_path / "packaging/debian"
    shutil.copy(CHECKOUT / "packaging/debian/wifimgrd.NEWS", debian)
    (debian / "wifimgrd.NEWS.next").write_text("One,\nand more.\n")
    release_packages(tmp_path, "99.0.0", datetime(2099, 1, 1, tzinfo=UTC))
    news = (debian / "wifimgrd.NEWS").read_text()
    assert news.startswith("wifimgrd (99.0.0) unstable; urgency=medium\n\n  One,\n  and more.\n\n -- ")
    assert news.endswith((CHECKOUT / "packaging/debian/wifimgrd.NEWS").read_text())
    assert not list(debian.glob("*.next"))
    assert packaged_versions(tmp_path) == [("99.0.0", "2099-01-01"), *packaged_versions(CHECKOUT)]
    (debian / "wifimgrd.NEWS.next").write_text("Late.\n")
    release_packages(tmp_path, "99.0.0", datetime(2099, 1, 2, tzinfo=UTC))
    begin = "wifimgrd (99.0.0) unstable; urgency=medium\n\n  One,\n  and more.\n\n  Late.\n\n -- "
    assert (debian / "wifimgrd.NEWS").read_text().startswith(begin)
    assert "Fri, 02 Jan 2099" in (debian / "wifimgrd.NEWS").read_text().splitlines()[7]
    assert packaged_versions(tmp_path) == [("99.0.0", "2099-01-02"), *packaged_versions(CHECKOUT)]
    assert '__version__ = "99.0.0"\n' in (tmp_path / "wifimgrd" / "__init__.py").read_text()
