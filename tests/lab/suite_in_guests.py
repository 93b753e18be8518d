"""Build the lab, boot one or more guests, run the suite in them side by side, and add up what came of it.

Settings come as environment variables, see README.md; arguments are pytest's. The exit status is pytest's own
with one guest, with several 0 only where every guest ran tests and all of them passed.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.released_packages import FIRST, LAST, released_packages

LAB = Path(__file__).resolve().parent
CHECKOUT = LAB.parent.parent
ENGINE = os.environ.get("LAB_ENGINE", "uml")
DURATIONS = LAB / "durations.json"  # seconds per test file, as `make test-all` takes them
MEASURED = LAB / "out" / "durations.json"  # as the last run took them, of which DURATIONS is a copy

# A boot takes 2 s (tcg: 15 s); a guest that takes this long is given up, and booted once more.
BOOT_S = {"uml": 60, "tcg": 240}
SUITE_S = int(os.environ.get("LAB_TIMEOUT", "3600"))
OUT_OF_TIME, GUEST_DIED = 124, 125  # boot.sh
NO_TESTS_COLLECTED = 5  # pytest
FOR_THE_GUEST = ("WIFIMGRD_SOAK", "WIFIMGRD_SEED", "WIFIMGRD_JOINS")  # variables that its tests look at
_REASON = 300  # characters of why a test failed
OUTCOMES = ("failed", "passed", "skipped", "error")  # in the order of pytest's closing line


@dataclass
class Guest:
    """One guest, and what came of the tests that it has run."""

    number: int
    out: Path
    claims: Path | None
    prefix: str = ""
    status: int = GUEST_DIED
    boots: int = 0

    def run(self, arguments: list[str]) -> None:
        """Boot, and run the suite; boot again where the guest was lost before pytest began."""
        command = [str(LAB / "boot.sh"), "-e", ENGINE, "-o", str(self.out), "-s", str(CHECKOUT)]
        command += ["-b", str(BOOT_S[ENGINE]), "-t", str(SUITE_S), "--"]
        command += [f"{name}={_quoted(os.environ[name])}" for name in FOR_THE_GUEST if name in os.environ]
        command += [f"LAB_CLAIMS={_quoted(str(self.claims))}"] if self.claims else []
        command += ["tests/lab/guest/run_suite.sh"]
        command += [_quoted(argument) for argument in arguments]
        for self.boots in (1, 2):
            self.out.mkdir(parents=True, exist_ok=True)
            for name in ("suite_started", "junit.xml", "tests_to_run", "tests_run"):
                (self.out / name).unlink(missing_ok=True)
            self.status = self._boot(command)
            if self.status not in (OUT_OF_TIME, GUEST_DIED) or (self.out / "suite_started").exists():
                return
            console = self.out / "console"
            if console.exists():
                console.rename(self.out / f"console-of-boot-{self.boots}")

    def _boot(self, command: list[str]) -> int:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as boot:
            _BOOTS.append(boot)
            for line in boot.stdout or ():
                _say(f"{self.prefix}{line.rstrip()}")
        return boot.returncode

    def listed(self, name: str) -> list[str]:
        """Read the tests that `claims.py` has noted: those to run, or those that this guest has run."""
        with contextlib.suppress(FileNotFoundError):
            return (self.out / name).read_text().splitlines()
        return []

    def cases(self) -> list[ElementTree.Element]:
        """Read the results of its tests, one element each."""
        try:
            return list(ElementTree.parse(self.out / "junit.xml").iter("testcase"))
        except (OSError, ElementTree.ParseError):
            return []


_BOOTS: list[subprocess.Popen[str]] = []


def main(arguments: list[str]) -> int:
    """Run the suite."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if ENGINE not in BOOT_S:
        sys.exit(f"LAB_ENGINE={ENGINE}: the suite runs on {' or '.join(BOOT_S)}")
    started = time.monotonic()
    subprocess.run((LAB / "build.sh", ENGINE), check=True)
    subprocess.run(
        (CHECKOUT / "packaging" / "build_deb", LAB / "out" / "packages"),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    paths = [argument for argument in arguments if _is_test_path(argument)]
    options = [argument for argument in arguments if argument not in paths]
    files = paths or [str(path.relative_to(CHECKOUT)) for path in sorted(LAB.rglob("test_*.py"))]
    jobs = int(
        os.environ.get("LAB_JOBS") or (1 if options or ENGINE != "uml" else min(2, os.cpu_count() or 1))
    )
    if jobs > 1 and ENGINE != "uml":
        sys.exit(f"LAB_JOBS={jobs}: guests side by side are for LAB_ENGINE=uml")
    if any(path.endswith("/test_package.py") for path in files):
        for name, version in (("first", FIRST), ("last", LAST)):
            released = LAB / "out" / f"{name}-packages"
            shutil.rmtree(released, ignore_errors=True)
            released.mkdir()
            for package in released_packages(version):
                shutil.copy(package, released)
    out = LAB / "out" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    claims = Path(tempfile.mkdtemp(prefix="wifimgrd-lab-claims.")) if jobs > 1 else None
    guests = [
        Guest(number, out / f"guest-{number}", claims, f"[{number}] " if claims else "")
        for number in range(1, jobs + 1)
    ]
    threads = [threading.Thread(target=guest.run, args=([*files, *options],)) for guest in guests]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for boot in _BOOTS:
            if boot.poll() is None:
                boot.terminate()
        if claims:
            shutil.rmtree(claims, ignore_errors=True)
    status = _summary(guests, time.monotonic() - started)
    _write_durations(guests)
    if status == 0 and "LAB_KEEP" not in os.environ:
        subprocess.run(("rm", "-rf", out), check=True)
    else:
        _say(f"logs, consoles and journals: {out.relative_to(CHECKOUT)}")
    return status


def _summary(guests: list[Guest], seconds: float) -> int:
    """Print the closing line, from what each guest's pytest has written, and give the exit status."""
    outcomes = Counter(_outcome(case) for guest in guests for case in guest.cases())
    for guest in guests:
        if guest.status != 0:
            _say(f"guest {guest.number}: {_meaning(guest)}")
        for case in guest.cases():
            if reason := _failure(case):
                _say(f"  {case.get('classname')}::{case.get('name')}: {reason}")
    missing = _not_run(guests)
    for test in missing:
        _say(f"  {test}: it was not run")
    _say(f"guests: {len(guests)} on {ENGINE}, boots retried: {sum(guest.boots - 1 for guest in guests)}")
    words = ", ".join(f"{outcomes[what]} {what}" for what in OUTCOMES if outcomes[what]) or "no tests ran"
    _say(f" {words} in {seconds:.0f}s ".center(80, "="))
    statuses = {guest.status for guest in guests}
    if statuses == {0} and missing:
        return 1
    return statuses.pop() if len(statuses) == 1 else 1


def _outcome(case: ElementTree.Element) -> str:
    children = {child.tag for child in case}
    for tag, outcome in (("error", "error"), ("failure", "failed"), ("skipped", "skipped")):
        if tag in children:
            return outcome
    return "passed"


def _failure(case: ElementTree.Element) -> str:
    """The first line of why a test failed; empty where it did not."""
    found = next((child for child in case if child.tag in ("error", "failure")), None)
    if found is None:
        return ""
    return next(iter(found.get("message", "").splitlines()), "")[:_REASON] or found.tag


def _meaning(guest: Guest) -> str:
    began = (guest.out / "suite_started").exists()
    statuses = {OUT_OF_TIME: "out of time", GUEST_DIED: "died", NO_TESTS_COLLECTED: "no test was for it"}
    when = "" if began else ", before the suite"
    return statuses.get(guest.status, f"status {guest.status}") + when


def _not_run(guests: list[Guest]) -> list[str]:
    """The tests that some guest was to run, and none has."""
    wanted = {test: None for guest in guests for test in guest.listed("tests_to_run")}
    return list(wanted.keys() - {test for guest in guests for test in guest.listed("tests_run")})


def _durations() -> dict[str, float]:
    known: dict[str, float] = json.loads(DURATIONS.read_text())
    return known


def _write_durations(guests: list[Guest]) -> None:
    measured: dict[str, float] = {}
    for case in (case for guest in guests for case in guest.cases()):
        # classname: the file's path below tests/lab with dots, and the class where there is one
        words = case.get("classname", "").split(".")
        for end in range(len(words), 0, -1):
            path = LAB.joinpath(*words[:end]).with_suffix(".py")
            if path.exists():
                file = str(path.relative_to(CHECKOUT))
                measured[file] = measured.get(file, 0.0) + float(case.get("time", 0))
                break
    durations = {file: round(seconds) for file, seconds in (_durations() | measured).items()}
    MEASURED.write_text(json.dumps(durations, indent=1, sort_keys=True) + "\n")


def _is_test_path(argument: str) -> bool:
    return not argument.startswith("-") and (CHECKOUT / argument.partition("::")[0]).exists()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _quoted(argument: str) -> str:
    return "'" + argument.replace("'", "'\\''") + "'"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
