"""Build the lab, boot one or more guests, run the suite in them side by side, and add up what came of it.

Settings come as environment variables, see README.md; arguments are pytest's. The exit status is pytest's own
with one guest, with several 0 only where every guest ran tests and all of them passed.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

LAB = Path(__file__).resolve().parent
CHECKOUT = LAB.parent.parent
ENGINE = os.environ.get("LAB_ENGINE", "uml")
DURATIONS = LAB / "durations.json"  # seconds per test file, as `make test-all` takes them
MEASURED = LAB / "out" / "durations.json"  # as the last run took them, of which DURATIONS is a copy
UNKNOWN_DURATION_S = 30.0

# A boot takes 2 s (tcg: 15 s); a guest that takes this long is given up, and booted once more.
BOOT_S = {"uml": 60, "tcg": 240}
SUITE_S = int(os.environ.get("LAB_TIMEOUT", "3600"))
OUT_OF_TIME, GUEST_DIED = 124, 125  # boot.sh
NO_TESTS_COLLECTED = 5  # pytest
FOR_THE_GUEST = ("WIFIMGRD_SOAK", "WIFIMGRD_SEED")  # variables that its tests look at
_REASON = 300  # characters of why a test failed
OUTCOMES = ("failed", "passed", "skipped", "error")  # in the order of pytest's closing line


@dataclass
class Guest:
    """One guest, the test files that it runs, and what came of them."""

    number: int
    paths: list[str]
    out: Path
    prefix: str = ""
    status: int = GUEST_DIED
    boots: int = 0

    def run(self, options: list[str]) -> None:
        """Boot, and run the suite; boot again where the guest was lost before pytest began."""
        command = [str(LAB / "boot.sh"), "-e", ENGINE, "-o", str(self.out), "-s", str(CHECKOUT)]
        command += ["-b", str(BOOT_S[ENGINE]), "-t", str(SUITE_S), "--"]
        command += [f"{name}={_quoted(os.environ[name])}" for name in FOR_THE_GUEST if name in os.environ]
        command += ["tests/lab/guest/run_suite.sh"]
        command += [_quoted(argument) for argument in (*self.paths, *options)]
        for self.boots in (1, 2):
            self.out.mkdir(parents=True, exist_ok=True)
            for name in ("suite_started", "junit.xml"):
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
    # Options may leave one of several guests without a test, which counts as a failure: so one by default.
    jobs = int(os.environ.get("LAB_JOBS") or (1 if options else min(2, os.cpu_count() or 1)))
    out = LAB / "out" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    shares = _shares(files, min(jobs, len(files)))
    guests = [
        Guest(number, share, out / f"guest-{number}", f"[{number}] " if len(shares) > 1 else "")
        for number, share in enumerate(shares, 1)
    ]
    threads = [threading.Thread(target=guest.run, args=(options,)) for guest in guests]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for boot in _BOOTS:
            if boot.poll() is None:
                boot.terminate()
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
            _say(f"guest {guest.number}: {_meaning(guest)} ({' '.join(guest.paths)})")
        for case in guest.cases():
            if reason := _failure(case):
                _say(f"  {case.get('classname')}::{case.get('name')}: {reason}")
    _say(f"guests: {len(guests)} on {ENGINE}, boots retried: {sum(guest.boots - 1 for guest in guests)}")
    words = ", ".join(f"{outcomes[what]} {what}" for what in OUTCOMES if outcomes[what]) or "no tests ran"
    _say(f" {words} in {seconds:.0f}s ".center(80, "="))
    statuses = {guest.status for guest in guests}
    if statuses == {0} and not all(guest.cases() for guest in guests):
        return NO_TESTS_COLLECTED
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


def _shares(files: list[str], jobs: int) -> list[list[str]]:
    """Share the files out, the longest first, each to the guest with the least to do."""
    known = _durations()
    shares: list[list[str]] = [[] for _ in range(jobs)]
    loads = [0.0] * jobs
    for file in sorted(files, key=lambda file: (-known.get(file, UNKNOWN_DURATION_S), file)):
        least = loads.index(min(loads))
        shares[least].append(file)
        loads[least] += known.get(file, UNKNOWN_DURATION_S)
    return shares


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
