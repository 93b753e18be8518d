#!/usr/bin/env python3
"""changelog.py [VERSION]: print the section of CHANGELOG.md that the files in changes/ make.

With a VERSION it is written into CHANGELOG.md, with today's date, the files are removed, the packages get
that version, and packaging/debian/PACKAGE.NEWS.next becomes the news of it; to commit that and to tag it is
left. A file is one change: `changes/TOPIC.KIND.md`, its text without a bullet, with links as from the root
of the checkout.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from textwrap import indent
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
KINDS: Final = ("added", "changed", "deprecated", "removed", "fixed", "security")
"""Those of Keep a Changelog, in its order."""
NAME: Final = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(KINDS)})\.md")


def joined(folder: Path) -> str:
    """The changes, by kind; raises ValueError for a file that is not one."""
    changes: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for file in sorted(folder.glob("[!.]*")):
        name = NAME.fullmatch(file.name)
        text = file.read_text(encoding="utf-8").strip()
        if not name or not text or text.startswith(("-", "#")):
            raise ValueError(f"{file}: expected TOPIC.KIND.md with a text, KIND one of {', '.join(KINDS)}")
        changes[name[2]].append("- " + text.replace("\n", "\n  ") + "\n")
    return "\n".join(
        f"### {kind.capitalize()}\n\n{''.join(texts)}" for kind, texts in changes.items() if texts
    )


def release(changelog: Path, folder: Path, version: str, day: str) -> None:
    """Move the changes into the section of a version, above those of earlier ones."""
    text = changelog.read_text(encoding="utf-8")
    place = re.search(r"^## \[[0-9]", text, re.MULTILINE)
    if place is None or f"## [{version}]" in text:
        raise ValueError(f"{changelog}: expected an earlier version, and not this one")
    section = f"## [{version}] - {day}\n\n{joined(folder)}\n"
    changelog.write_text(text[: place.start()] + section + text[place.start() :], encoding="utf-8")
    for file in folder.glob("[!.]*"):
        file.unlink()


def release_packages(checkout: Path, version: str, when: datetime) -> None:
    """Give the program and its Debian packages a version."""
    debian = checkout / "packaging" / "debian" / "changelog"
    earlier = debian.read_text(encoding="utf-8")
    maintainer = re.search(r"^ -- (.*?)  ", earlier, re.MULTILINE)
    module = checkout / "wifimgrd" / "__init__.py"
    text, found = re.subn(
        r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"', module.read_text("utf-8")
    )
    if maintainer is None or found != 1:
        raise ValueError(f"{debian}, {module}: expected an earlier version")
    head = f"wifimgrd ({version}) unstable; urgency=medium\n\n"
    end = f"\n -- {maintainer[1]}  {format_datetime(when)}\n\n"
    debian.write_text(f"{head}  * See CHANGELOG.md.\n{end}{earlier}", encoding="utf-8")
    for pending in debian.parent.glob("*.NEWS.next"):
        news, said = pending.with_suffix(""), indent(pending.read_text(encoding="utf-8"), "  ")
        news.write_text(head + said + end + news.read_text(encoding="utf-8"), encoding="utf-8")
        pending.unlink()
    module.write_text(text, encoding="utf-8")


def main() -> None:
    """See the module."""
    folder = CHECKOUT / "changes"
    if len(sys.argv) == 1:
        print(joined(folder), end="")
    elif len(sys.argv) == 2 and re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", sys.argv[1]):
        now = datetime.now(UTC)
        release(CHECKOUT / "CHANGELOG.md", folder, sys.argv[1], now.strftime("%Y-%m-%d"))
        release_packages(CHECKOUT, sys.argv[1], now)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
