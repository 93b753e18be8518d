"""`wifimgrctl` with standard streams that are closed or full: a status, never a traceback."""

from __future__ import annotations

import asyncio

import pytest

from tests.processes import Hub
from tests.programs import program


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("devices >&-", 0, ""),
        ("devices 2>&-", 0, ""),
        ("devices >/dev/full", 1, "wifimgrctl: cannot write the results: No space left on device\n"),
        (
            "--json devices >/dev/full",
            1,
            "wifimgrctl: cannot write the results: No space left on device\n",
        ),
        ("add --ssid X --password-stdin <&-", 1, None),
    ],
)
async def test_a_stream_that_cannot_be_used(hub: Hub, line: str, status: int, said: str | None) -> None:
    await hub.create(1)
    process = await asyncio.create_subprocess_shell(
        f"{program('wifimgrctl')} --bus '{hub.address}' {line}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, error = await process.communicate()
    assert b"Traceback" not in error
    assert process.returncode == status
    assert said is None or error.decode() == said
