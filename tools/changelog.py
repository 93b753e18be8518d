#!/usr/bin/env python3
"""changelog.py [VERSION]: print the section of CHANGELOG.md that the files in changes/ make.

With a VERSION it is written into CHANGELOG.md, with today's date, the files are removed, the packages get
that version, and packaging/debian/PACKAGE.NEWS.next becomes the news of it. As long as there is no tag
vVERSION that can be done again: what has come since then is added to the end of its lists. A file is one
change: `changes/TOPIC.KIND.md`, its text without a bullet, with links as from the root of the checkout.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from textwrap import indent
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
KINDS: Final = ("added", "changed", "deprecated", "removed", "fixed", "security")
"""Those of Keep a Changelog, in its order."""
NAME: Final = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(KINDS)})\.md")


def changes_in(folder: Path) -> dict[str, str]:
    """The lists of changes, by the heading of their kind; raises ValueError for a file that is not one."""
    changes: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for file in sorted(folder.glob("[!.]*")):
        name = NAME.fullmatch(file.name)
        text = file.read_text(encoding="utf-8").strip()
        if not name or not text or text.startswith(("-", "#")):
            raise ValueError(f"{file}: expected TOPIC.KIND.md with a text, KIND one of {', '.join(KINDS)}")
        changes[name[2]].append("- " + text.replace("\n", "\n  ") + "\n")
    return {kind.capitalize(): "".join(texts) for kind, texts in changes.items() if texts}


def joined(lists: Mapping[str, str]) -> str:
    """The text of lists below their headings: those of no kind first, then by kind."""
    order = [kind.capitalize() for kind in KINDS]
    headings = sorted(lists, key=lambda one: order.index(one) if one in order else -1)
    return "\n".join(f"### {heading}\n\n{lists[heading]}" for heading in headings)


def release(changelog: Path, folder: Path, version: str, day: str) -> None:
    """Move the changes into the section of a version: a new one above the earlier ones, or the newest."""
    text = changelog.read_text(encoding="utf-8")
    sections = list(re.finditer(r"^## \[([0-9].*?)\].*\n\n", text, re.MULTILINE))
    versions = [one[1] for one in sections]
    if not versions or version in versions[1:]:
        raise ValueError(f"{changelog}: expected an earlier version, and this one at most as the newest")
    start = end = sections[0].start()
    lists: dict[str, str] = {}
    if version == versions[0]:
        end = sections[1].start() if len(sections) > 1 else len(text)
        _, *parts = re.split(r"^### (.*)\n\n", text[sections[0].end() : end], flags=re.MULTILINE)
        lists = {heading: kept.rstrip() + "\n" for heading, kept in zip(parts[::2], parts[1::2], strict=True)}
    for heading, added in changes_in(folder).items():
        lists[heading] = lists.get(heading, "") + added
    section = f"## [{version}] - {day}\n\n{joined(lists)}\n"
    changelog.write_text(text[:start] + section + text[end:], encoding="utf-8")
    for file in folder.glob("[!.]*"):
        file.unlink()


def release_packages(checkout: Path, version: str, when: datetime) -> None:
    """Give the program and its Debian packages a version."""
    debian = checkout / "packaging" / "debian"
    module = checkout / "wifimgrd" / "__init__.py"
    text, found = re.subn(
        r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"', module.read_text("utf-8")
    )
    if found != 1:
        raise ValueError(f"{module}: expected an earlier version")
    _enter(debian / "changelog", version, when, "  * See CHANGELOG.md.\n", is_again=True)
    for pending in debian.glob("*.NEWS.next"):
        said = indent(pending.read_text(encoding="utf-8"), "  ")
        _enter(pending.with_suffix(""), version, when, said)
        pending.unlink()
    module.write_text(text, encoding="utf-8")


def _enter(file: Path, version: str, when: datetime, said: str, *, is_again: bool = False) -> None:
    """Write an entry into a changelog or news of Debian; one of this version is continued, or dated again."""
    text = file.read_text(encoding="utf-8")
    head = f"wifimgrd ({version}) unstable; urgency=medium\n\n"
    newest = re.match(r"(.*?\n\n)(.*?)\n( -- .*?  )(.*?)\n\n?", text, re.DOTALL)
    if newest is None:
        raise ValueError(f"{file}: expected an earlier version")
    maintainer = newest[3]
    if newest[1] == head:
        text = text[newest.end() :]
        said = newest[2] if is_again else f"{newest[2]}\n{said}"
    file.write_text(f"{head}{said}\n{maintainer}{format_datetime(when)}\n\n{text}", encoding="utf-8")


def is_tagged(checkout: Path, version: str) -> bool:
    """Whether a version is out, so that nothing is added to it."""
    command = ["git", "-C", str(checkout), "tag", "--list", f"v{version}"]
    return bool(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    """See the module."""
    folder = CHECKOUT / "changes"
    if len(sys.argv) == 1:
        print(joined(changes_in(folder)), end="")
    elif len(sys.argv) == 2 and re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", sys.argv[1]):
        if is_tagged(CHECKOUT, sys.argv[1]):
            raise SystemExit(f"changelog.py: v{sys.argv[1]} is tagged: give the next version")
        now = datetime.now(UTC)
        release(CHECKOUT / "CHANGELOG.md", folder, sys.argv[1], now.strftime("%Y-%m-%d"))
        release_packages(CHECKOUT, sys.argv[1], now)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
