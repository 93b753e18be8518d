"""What of the checkout is made by a command: its programs, the page, and the documents' site. A test that
lacks one says which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

_MAKES: Final = "`tools/set-up test` makes it"
_CHECKOUT: Final = Path(__file__).parents[1]
_PAGE: Final = _CHECKOUT / "wifimgrd" / "http" / "page" / "built"
_SITE: Final = _CHECKOUT / "wifimgrd" / "http" / "page" / "site"
_FRONTEND: Final = _CHECKOUT / "frontend"


def program(name: str) -> str:
    """The path of a program that is installed beside Python; raises FileNotFoundError."""
    return str(_made(Path(sys.executable).with_name(name)))


def built_page() -> Path:
    """The folder of the page as it is served; raises FileNotFoundError."""
    return _made(_PAGE)


def built_site() -> Path:
    """The folder of the documents as they are served; raises FileNotFoundError."""
    return _made(_SITE)


def axe() -> str:
    """axe-core, which checks a page for accessibility, as a script; raises FileNotFoundError."""
    return _made(_FRONTEND / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def node(script: str, *arguments: str, given: str = "") -> str:
    """The output of a script for Node.js, which may use the packages and sources of the page. It has to end
    well, and to say nothing on stderr."""
    _made(_FRONTEND / "node_modules")
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script, *arguments],
        cwd=_FRONTEND,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def _made(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: {_MAKES}")
    return path
