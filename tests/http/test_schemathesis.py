"""Schemathesis finds nothing: every answer is as described, and what is described as right is taken."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from tests.http.served import Served
from tests.programs import program
from tests.soak import IS_SOAK

HERE = Path(__file__).parent / "schemathesis"
PATIENCE_S = 400.0


@pytest.mark.slow
async def test_schemathesis_finds_nothing(shim: Served) -> None:
    process = await asyncio.create_subprocess_exec(
        program("schemathesis"),
        "--config-file",
        str(HERE / "schemathesis.toml"),
        "run",
        shim.url + "/openapi.json",
        f"--url={shim.url}",
        "--phases=examples,coverage,fuzzing,stateful",
        *(["--max-examples=300"] if IS_SOAK else ["--max-examples=10", "--generation-deterministic"]),
        "--exclude-path=/ws/management/",  # what is said there is no HTTP
        "--exclude-path=/ws/squawk/",
        "--exclude-path-regex=^/events/?$",  # an answer that never ends
        "--request-timeout=30",
        "--no-color",
        stdout=PIPE,
        stderr=STDOUT,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.http.schemathesis.formats", "PYTHONPATH": "."},
    )
    try:
        async with asyncio.timeout(PATIENCE_S * 20 if IS_SOAK else PATIENCE_S):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode()
