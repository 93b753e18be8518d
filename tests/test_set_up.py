"""`tools/set-up` where it cannot do its work: one sentence says what to do, within half a minute."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.namespaces import namespaces

CHECKOUT = Path(__file__).parents[1]
PATIENCE_S = 60
SET_UP = """
mount -t tmpfs -o size="$2" tmpfs /srv
mkdir /srv/changes /srv/work /srv/home
mount -t overlay -o "lowerdir=$1,upperdir=/srv/changes,workdir=/srv/work" overlay "$1"
cd "$1"
eval "$3"
"""
"""The checkout, whose changes are forgotten, on a host without a network, and without caches."""


@contextmanager
def host(change: str, room: str = "2G") -> Iterator[list[str]]:
    """The beginning of commands that run in the checkout of such a host, after a change of it."""
    with namespaces(SET_UP, str(CHECKOUT), room, change) as pid:
        inside = ["nsenter", f"--target={pid}", "--net", "--mount", f"--wdns={CHECKOUT}"]
        yield [*inside, "env", "HOME=/srv/home", "PIP_NO_CACHE_DIR=1"]


def set_up(inside: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*inside, "tools/set-up", "run"], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forgotten", "sentence"),
    [
        ("frontend/node_modules", "the npm registry cannot be reached: check this machine's network"),
        (".venv", "PyPI cannot be reached: check this machine's network"),
    ],
)
def test_without_a_network_it_names_what_cannot_be_reached(forgotten: str, sentence: str) -> None:
    with host(f"rm {forgotten}/.set-up") as inside:
        done = set_up(inside)
    assert done.returncode == 1
    assert done.stderr.startswith(f"set-up: {sentence}"), done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("forgotten", ["frontend/node_modules", ".venv", "wifimgrd/http/page/built"])
def test_without_room_it_says_how_much_is_needed(forgotten: str) -> None:
    with host(f"rm {forgotten}/.set-up", "1M") as inside:
        done = set_up(inside)
    assert done.returncode == 1
    assert "MB of free space, and needs 300: make room, then run it again\n" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_set_up_and_cannot_be_written_runs() -> None:
    with host('mount -o remount,bind,ro "$1"') as inside:
        done = set_up(inside)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_not_set_up_and_cannot_be_written_is_said() -> None:
    with host('rm .venv/.set-up; mount -o remount,bind,ro "$1"') as inside:
        done = set_up(inside)
    assert done.returncode == 1
    assert done.stderr == (
        f"set-up: {CHECKOUT} cannot be written, and .venv in it is missing or out of date: "
        "run tools/set-up run there as a user who may write it\n"
    )
