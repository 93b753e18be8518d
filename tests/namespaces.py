"""Network and mount namespaces: new ones, kept by a process, and work in another one."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def in_network(namespace: Path | None) -> Iterator[None]:
    """Let this thread, and those that it starts, act in a network namespace (None = where it is); a socket
    stays in the one that it was made in."""
    if namespace is None:
        yield
        return
    with Path("/proc/thread-self/ns/net").open("rb") as ours, namespace.open("rb") as theirs:
        _setns(theirs.fileno())
        try:
            yield
        finally:
            _setns(ours.fileno())


def _setns(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)  # os.setns came with Python 3.12
    if libc.setns(namespace, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns: " + os.strerror(ctypes.get_errno()))
