"""A copy of the checkout, to which the examples of CONTRIBUTING.md are applied."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.docs.code_blocks import CHECKOUT, code_blocks
from tools.generate_records import TYPES

COPIED: Final = ("wifimgrd", "tools", "frontend/src")


def copied(folder: Path) -> Path:
    """Copy the checkout's sources into a folder."""
    for one in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "built", TYPES.name)
        shutil.copytree(CHECKOUT / one, folder / one, ignore=ignored)
    return folder


def example_patch(file: str) -> str:
    """The one example that changes a file."""
    diffs = (one.text for one in code_blocks("CONTRIBUTING.md") if one.language == "diff")
    [patch] = [one for one in diffs if f"/{file}\n" in one]
    return patch


def run(copy: Path, *command: str, given: str = "") -> str:
    """Run a command there, with the copy's modules; returns its output."""
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=copy, env=environment, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def apply(patch: str, copy: Path) -> None:
    """Apply an example to the copy."""
    done = subprocess.run(
        ["git", "apply", "-"], cwd=copy, input=patch, capture_output=True, text=True, check=False
    )
    what_to_do = "an example in CONTRIBUTING.md no longer fits the code: renew the lines around its changes"
    assert done.returncode == 0, f"{what_to_do}\n{done.stderr}"


def contents(root: Path) -> dict[str, bytes]:
    """The files of the copy."""
    files = (file for folder in COPIED for file in (root / folder).rglob("*") if file.is_file())
    return {str(file.relative_to(root)): file.read_bytes() for file in files}
