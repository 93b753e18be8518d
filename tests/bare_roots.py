"""Small Debians of the tests' own: made once, and kept beside the machines of the system tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

AUTHORITIES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
"""The host's, which may have one more, of a proxy."""
PROXIES: Final = tuple(
    f"{name}={value}" for name, value in os.environ.items() if name.lower().endswith("_proxy")
)
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wifimgrd-system"


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The root of this name; `make` is called with the folder to make it in, where there is none yet."""
    root = _CACHE / name
    if not root.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        making = root.with_suffix(".new")
        subprocess.run(["rm", "-rf", making], check=True)
        make(making)
        making.rename(root)
    root.touch()
    return root
