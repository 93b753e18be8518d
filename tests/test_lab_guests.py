"""Guests of the lab side by side run each test once, and one that none has run is a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import suite_in_guests

CHECKOUT = Path(__file__).parents[1]
GUEST = """
import sys
from pathlib import Path
import pytest
from tests.lab.guest import claims
claims.CLAIMS, claims.OUT, claims.DURATIONS = map(Path, sys.argv[1:4])
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[4:]], plugins=[claims]))
"""
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(20))
def test_one(number, tmp_path):
    assert number != {fails}
"""


def guests(tmp_path: Path, *options: str) -> list[subprocess.Popen[bytes]]:
    """Two that run the tests in a folder."""
    (tmp_path / "claims").mkdir()
    (tmp_path / "tests" / "durations.json").write_text('{"tests/lab/test_long.py": 50}')
    started = []
    for number in (1, 2):
        out = tmp_path / str(number)
        out.mkdir()
        words = (
            tmp_path / "claims",
            out,
            tmp_path / "tests" / "durations.json",
            *options,
            "test_a.py",
            "test_long.py",
        )
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", GUEST, *map(str, words)],
                cwd=tmp_path / "tests",
                env={"PYTHONPATH": str(CHECKOUT)},
                stdout=subprocess.DEVNULL,
            )
        )
    return started


def noted(tmp_path: Path, name: str) -> list[list[str]]:
    files = [tmp_path / number / name for number in ("1", "2")]
    return [file.read_text().splitlines() if file.exists() else [] for file in files]


def with_tests(tmp_path: Path, fails: int) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(TESTS.format(fails=fails))
    (tmp_path / "tests" / "test_long.py").write_text(TESTS.format(fails=-1))


@pytest.mark.parametrize(("fails", "statuses"), [(-1, [0, 0]), (7, [0, 1])])
def test_each_test_is_run_by_one_guest_the_longest_file_first(
    tmp_path: Path, fails: int, statuses: list[int]
) -> None:
    with_tests(tmp_path, fails)
    running = guests(tmp_path)
    assert sorted(one.wait(60) for one in running) == statuses
    first, second = noted(tmp_path, "tests_to_run")
    assert first == second
    assert len(first) == 40
    assert first[0] == "test_long.py::test_one[0]"
    run, also_run = noted(tmp_path, "tests_run")
    assert sorted(run + also_run) == sorted(first)


def test_what_was_not_chosen_is_not_missed(tmp_path: Path) -> None:
    with_tests(tmp_path, -1)
    assert [one.wait(60) for one in guests(tmp_path, "-k", "7")] == [0, 0]
    assert {len(one) for one in noted(tmp_path, "tests_to_run")} == {4}
    assert sum(map(len, noted(tmp_path, "tests_run"))) == 4


def test_a_test_that_no_guest_has_run_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for number in (1, 2):
        guest = suite_in_guests.Guest(number, tmp_path / str(number), tmp_path, status=0, boots=1)
        guest.out.mkdir()
        (guest.out / "tests_to_run").write_text("one\ntwo\nthree\n")
        found.append(guest)
    (found[0].out / "tests_run").write_text("one\nthree\n")
    summary = suite_in_guests._summary
    assert summary(found, 1) == 1
    assert "two: it was not run" in capsys.readouterr().out
    (found[1].out / "tests_run").write_text("two\n")
    assert summary(found, 1) == 0
