"""The packages of 0.1.0, from which hubs are upgraded."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.bare_roots import made_once

VERSION: Final = "0.1.0"
_COMMIT: Final = "b22c93f"
"""It has the tag v0.1.0, which is not in each clone."""


def first_packages() -> list[Path]:
    """As the checkout of that version builds them; kept, since that takes a while."""

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as checkout:
            archive = ["git", "-C", str(Path(__file__).parents[1]), "archive", _COMMIT]
            files = subprocess.run(archive, check=True, stdout=subprocess.PIPE).stdout
            subprocess.run(["tar", "-x", "-C", checkout], check=True, input=files)
            build = [f"{checkout}/packaging/build_deb", str(folder)]
            subprocess.run(build, check=True, stdout=subprocess.DEVNULL)

    return sorted(made_once(f"packages-{VERSION}", make).glob("*.deb"))
