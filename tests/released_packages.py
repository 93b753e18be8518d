"""The packages of earlier versions, from which hubs are upgraded."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.bare_roots import made_once

COMMITS: Final = {"0.1.0": "b22c93f", "0.2.0": "0f54596"}
"""Their tags, such as v0.1.0, are not in each clone. A version is added with the next one: until then, the
packages of the checkout have its number."""
FIRST: Final = "0.1.0"
LAST: Final = max(COMMITS, key=lambda version: [int(number) for number in version.split(".")])


def released_packages(version: str) -> list[Path]:
    """As the checkout of that version builds them; kept, since that takes a while."""

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as checkout:
            archive = ["git", "-C", str(Path(__file__).parents[1]), "archive", COMMITS[version]]
            files = subprocess.run(archive, check=True, stdout=subprocess.PIPE).stdout
            subprocess.run(["tar", "-x", "-C", checkout], check=True, input=files)
            build = [f"{checkout}/packaging/build_deb", str(folder)]
            subprocess.run(build, check=True, stdout=subprocess.DEVNULL)

    return sorted(made_once(f"packages-{version}", make).glob("*.deb"))
