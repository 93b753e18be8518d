"""A kernel for the lab that somebody hands over is used only where it has what the lab needs."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

LAB = Path(__file__).parent / "lab"
SETTINGS = LAB.joinpath("image", "uml.frag").read_text()


def handed_over(folder: Path, settings: str) -> Path:
    """A tarball with a program that answers as a kernel does that was built with these settings."""
    kernel = folder / "linux-uml"
    kernel.write_text(f"#!/bin/sh\ncat <<'END'\n{settings}END\n")
    kernel.chmod(0o755)
    with tarfile.open(folder / "uml.tar.xz", "w:xz") as tarball:
        tarball.add(kernel, "linux-uml")
    return folder / "uml.tar.xz"


def checked(kernel: Path) -> subprocess.CompletedProcess[str]:
    script = LAB / "image" / "check_uml_kernel.sh"
    return subprocess.run([script, kernel], check=False, capture_output=True, text=True)


def test_a_kernel_with_all_settings_is_taken(tmp_path: Path) -> None:
    handed_over(
        tmp_path, SETTINGS.replace("CONFIG_BRIDGE_NF_EBTABLES=n", "# CONFIG_BRIDGE_NF_EBTABLES is not set")
    )
    assert checked(tmp_path / "linux-uml").returncode == 0


@pytest.mark.parametrize("missing", ["CONFIG_NF_CONNTRACK_ZONES=y\n", "CONFIG_BT=m\n"])
def test_what_a_kernel_lacks_is_said(tmp_path: Path, missing: str) -> None:
    handed_over(tmp_path, SETTINGS.replace(missing, ""))
    done = checked(tmp_path / "linux-uml")
    assert (done.returncode, done.stderr.splitlines()[1:]) == (1, [f"  {missing.strip()}"])


def test_the_build_refuses_it_and_leaves_nothing(tmp_path: Path) -> None:
    kernel = handed_over(tmp_path, SETTINGS.replace("CONFIG_NFT_LIMIT=y\n", ""))
    cache = tmp_path / "cache"
    done = subprocess.run(
        [LAB / "build.sh", "uml"],
        env={**os.environ, "LAB_CACHE": str(cache), "LAB_KERNEL": str(kernel)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "CONFIG_NFT_LIMIT=y" in done.stderr
    assert f"LAB_KERNEL={kernel} is refused" in done.stderr
    assert not [part for part in cache.glob("uml-*") if not part.name.endswith(".new")]
