"""The log on a terminal: with colours, unless the user or the terminal has none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

LOGS = """
import structlog
from wifimgrd.runtime import logging
logging.configure()
try:
    raise RuntimeError("on purpose")
except RuntimeError:
    structlog.get_logger().exception("task_crashed", task="x")
"""


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=str,
)
def test_the_log_has_colours_where_they_are_wanted(variables: dict[str, str], coloured: bool) -> None:
    ours, theirs = os.openpty()
    own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    with subprocess.Popen([sys.executable, "-c", LOGS], stderr=theirs, env=own | variables):
        os.close(theirs)
        said = b""
        try:
            while read := os.read(ours, 65536):
                said += read
        except OSError:  # Linux says EIO once the other end is closed
            os.close(ours)
    assert b"task_crashed" in said
    assert b"RuntimeError" in said
    assert (b"\x1b[" in said) == coloured
