"""The settings of `make soak`: what cannot be used is refused in one sentence, before anything is started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
TIMEOUT_S = 60
OTHERS = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("MAKE", "MFLAGS", "WIFIMGRD_", "PYTEST_"))
}
"""The suite itself may run below a make."""


def soak(checkout: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    """`make soak` in a folder whose set-up says that it was started, and fails."""
    for name in ("Makefile", "tests/soak.py"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / name, checkout / name)
    (checkout / "tools").mkdir()
    set_up = checkout / "tools" / "set-up"
    set_up.write_text("#!/bin/sh\necho started\nexit 1\n")
    set_up.chmod(0o755)
    return subprocess.run(
        ["make", "soak", *settings],
        cwd=checkout,
        env=OTHERS,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("DURATION=60", 'DURATION is "60", and must be a duration with a unit, such as 30s, 2m or 6h'),
        ("DURATION=6 h", 'DURATION is "6 h", and must be a duration with a unit, such as 30s, 2m or 6h'),
        ("DURATION=h", 'DURATION is "h", and must be a duration with a unit, such as 30s, 2m or 6h'),
        ("DURATION=6d", 'DURATION is "6d", and must be a duration with a unit, such as 30s, 2m or 6h'),
        ("DURATION=0s", 'DURATION is "0s", and must be a duration with a unit, such as 30s, 2m or 6h'),
        ("DURATION=6'h", 'DURATION is "6\'h", and must be a duration with a unit, such as 30s, 2m or 6h'),
        ("FUZZ=2", 'FUZZ is "2", and must be a duration with a unit, such as 30s, 2m or 6h'),
        ("CRASHES=many", 'CRASHES is "many", and must be a number, such as 1000'),
        ("CRASHES=0", 'CRASHES is "0", and must be a number, such as 1000'),
        ("CRASHES=-1", 'CRASHES is "-1", and must be a number, such as 1000'),
        ("JOINS=few", 'JOINS is "few", and must be a number, such as 1000'),
        ("DAYS=0", 'DAYS is "0", and must be a number of days, such as 7'),
        ("DAYS=7d", 'DAYS is "7d", and must be a number of days, such as 7'),
        ("SEED=x", 'SEED is "x", and must be the number of a life, such as 7'),
        ("LAB=no", 'LAB is "no", and must be 1, for a life on real 802.11, or empty'),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_in_a_sentence(
    tmp_path: Path, setting: str, sentence: str
) -> None:
    done = soak(tmp_path, setting)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"soak: {sentence}"
    assert len(done.stderr.splitlines()) == 2, "the sentence, and make's own line"
    assert done.stdout == ""


@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["DURATION=30s"],
        ["DURATION=6h", "SEED=7", "LAB=1"],
        ["FUZZ=2m", "CRASHES=1000"],
        ["DAYS=7"],
        ["DURATION="],
    ],
)
def test_settings_that_can_be_used_start_it(tmp_path: Path, settings: list[str]) -> None:
    assert soak(tmp_path, *settings).stdout == "started\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WIFIMGRD_SOAK", "60"),
        ("WIFIMGRD_FUZZ", "x"),
        ("WIFIMGRD_CRASHES", "x"),
        ("WIFIMGRD_DAYS", "x"),
        ("WIFIMGRD_SEED", "x"),
    ],
)
def test_the_tests_alone_refuse_it_too(name: str, value: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests/test_soak.py"],
        cwd=CHECKOUT,
        env=OTHERS | {name: value},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.startswith(f'ERROR: {name} is "{value}", and must be ')
    assert len(done.stderr.strip().splitlines()) == 1
