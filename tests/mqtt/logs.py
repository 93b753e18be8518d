"""The log files of the processes in these tests."""

from __future__ import annotations

import asyncio
from pathlib import Path


async def lines_with(file: Path, text: str, timeout_s: float, times: int = 1) -> list[str]:
    """Wait until so many lines of a file contain a text; returns them."""
    async with asyncio.timeout(timeout_s):
        while True:
            if len(found := _found(file, text)) >= times:
                return found
            await asyncio.sleep(0.05)  # a file: there is no event to wait for


def _found(file: Path, text: str) -> list[str]:
    return [line for line in file.read_text().splitlines() if text in line]
