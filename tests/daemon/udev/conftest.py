"""Runs `test_*_in_testbed.py` under umockdev-wrapper, and reports each test as if it ran here.

umockdev puts itself before libc by LD_PRELOAD, which has to stand when a process starts. So the
modules are collected here, run once in a child, and what became of each test there is reported here.
A test that could not run there has failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.udev.testbed import FakeHost

REPORTS = "WIFIMGRD_TESTBED_REPORTS"
"""Names the file to which the child writes a line of JSON for each phase of each test."""
WRAPPER = "umockdev-wrapper"
TIMEOUT_S = 120


@pytest.fixture
def host() -> Iterator[FakeHost]:
    """A sysfs of the test's own, with udev's events."""
    with FakeHost() as opened:
        yield opened


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if REPORTS in os.environ or not module_path.stem.endswith("_in_testbed"):
        return None
    return ModuleElsewhere.from_parent(parent, path=module_path)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if (path := os.environ.get(REPORTS)) is None:
        return
    reported = {
        "nodeid": report.nodeid,
        "when": report.when,
        "outcome": report.outcome,
        "text": report.longreprtext,
        "sections": report.sections,
    }
    with Path(path).open("a") as file:
        file.write(json.dumps(reported) + "\n")


class ModuleElsewhere(pytest.Module):
    """A module whose tests run in the child."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        for item in super().collect():
            if isinstance(item, pytest.Item):
                yield ItemElsewhere.from_parent(self, name=item.name)


class ItemElsewhere(pytest.Item):
    """One test that runs in the child."""

    def runtest(self) -> None:
        nodeids = tuple(item.nodeid for item in self.session.items if isinstance(item, ItemElsewhere))
        reports, output = run_elsewhere(nodeids, self.config.rootpath)
        mine = [report for report in reports if report["nodeid"] == self.nodeid]
        for report in mine:
            if report["outcome"] != "passed":
                sections = [f"{title}\n{text}" for title, text in report["sections"]]
                raise FailedElsewhere("\n".join([report["text"] or report["outcome"], *sections]))
        if [report["when"] for report in mine] != ["setup", "call", "teardown"]:
            raise FailedElsewhere(f"did not run to its end under {WRAPPER}:\n{output}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, FailedElsewhere):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class FailedElsewhere(Exception):
    """The child's result of a test."""


@cache
def run_elsewhere(nodeids: tuple[str, ...], directory: Path) -> tuple[list[dict[str, Any]], str]:
    """Run the tests in the child, once for all callers."""
    with tempfile.NamedTemporaryFile() as file:
        command = [WRAPPER, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *nodeids]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, REPORTS: file.name},
                cwd=directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=TIMEOUT_S,
            )
            output = done.stdout.decode(errors="replace")
        except FileNotFoundError:
            output = f"{WRAPPER} is not installed (Debian's package umockdev)"
        except subprocess.TimeoutExpired as late:
            output = f"not done after {TIMEOUT_S} s:\n" + (late.stdout or b"").decode(errors="replace")
        return [json.loads(line) for line in file.read().decode().splitlines()], output
