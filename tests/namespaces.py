"""Network and mount namespaces of a test's own, kept by a process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_READY_AND_KEPT = """
echo ready
read -r _    # until the test is over, or has died
"""


@contextmanager
def namespaces(set_up: str, *arguments: str) -> Iterator[int]:
    """The id of a process in namespaces of its own, after this shell script has set them up, until the end of
    the test; root alone can make them."""
    with subprocess.Popen(
        ["unshare", "--net", "--mount", "bash", "-euc", set_up + _READY_AND_KEPT, "bash", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as keeper:
        assert keeper.stdout is not None
        assert keeper.stderr is not None
        assert keeper.stdout.readline() == "ready\n", keeper.stderr.read()
        yield keeper.pid
        keeper.communicate("\n")
