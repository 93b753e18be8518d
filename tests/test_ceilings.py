"""The most memory that each process may have: after its start, and as docs/benchmarks.md says it."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

from benchmarks.accounting import Account
from benchmarks.ceilings import RSS_MB, most_mb
from benchmarks.host.start import started
from tests.message_bus import MessageBusDaemon

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


@pytest.mark.parametrize(
    "name", ["wifimgrd", "wifimgrd-net", "wifimgrd-camera", "wifimgrd-http", "wifimgrd-mavlink"]
)
async def test_a_process_that_serves_is_small(name: str, tmp_path: Path) -> None:
    with MessageBusDaemon.start() as bus:
        async with started(name, bus.address, tmp_path) as process:  # the first one compiles its modules
            pass
        held_mb = []
        for _ in range(3):  # starts differ by some pages
            async with started(name, bus.address, tmp_path) as process:
                held_mb.append(Account(process.pid).memory().rss_mb)
    assert 10 < median(held_mb) <= most_mb(name)


def test_the_document_names_each_ceiling() -> None:
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| memory")]
    found = {
        name: int(ceiling)
        for line in rows
        for name in re.findall(r"`(wifimgrd[a-z-]*)`", line)
        for ceiling in re.findall(r"\b(\d+) MB \|", line)[-1:]
    }
    assert found == RSS_MB
