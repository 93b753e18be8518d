"""Guests side by side share one list of tests: each runs the next one that no other guest has claimed.

A claim is a folder that all guests see: only one of them succeeds in making it. The longest files come
first, so that the guests finish together. What was to run and what has run is noted for `suite_in_guests.py`.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

CLAIMS = Path("/run/claims")
OUT = Path("/out")
DURATIONS = Path(__file__).parents[1] / "durations.json"
UNKNOWN_DURATION_S = 30.0


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Put the longest files first; note what is left after -k and the like."""
    known: dict[str, float] = json.loads(DURATIONS.read_text())

    def duration_s(item: pytest.Item) -> float:
        return known.get(f"tests/lab/{item.path.relative_to(DURATIONS.parent)}", UNKNOWN_DURATION_S)

    items.sort(key=lambda item: -duration_s(item))
    yield
    (OUT / "tests_to_run").write_text("".join(f"{item.nodeid}\n" for item in items))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run what nobody else runs; as pytest's own loop in all else."""
    if session.testsfailed or session.config.option.collectonly:
        return None
    for item in session.items:
        if not _claimed(item):
            continue
        # No next item, since another guest may claim that: fixtures end with each test.
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        with (OUT / "tests_run").open("a") as file:
            file.write(f"{item.nodeid}\n")
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return True


def _claimed(item: pytest.Item) -> bool:
    try:
        (CLAIMS / hashlib.sha256(item.nodeid.encode()).hexdigest()).mkdir()
    except FileExistsError:
        return False
    return True
