"""A program of ours that has imported its modules, and then forks itself for each start that is asked for:
an import takes ten times as long as what a command does after it.

`python -m tests.warm_server MODULE MORE...`, with a socket as stdin, imports MODULE, whose `main` a start
calls, and MORE, which it imports late. A request is a message with descriptors: JSON, and stdin, stdout,
stderr and a socket for the answers: the process's id, and later its exit status.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import signal
import socket
import sys
import termios
import time
from pathlib import Path
from typing import Any, Final

_LARGEST_REQUEST: Final = 1 << 18
_DESCRIPTORS: Final = 4
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWNET: Final = 0x40000000
_MS_REC: Final = 0x4000
_MS_SLAVE: Final = 0x80000
_MNT_DETACH: Final = 2
_libc: Final = ctypes.CDLL(None, use_errno=True)


def _await_start() -> list[str]:
    """Serve requests; returns in each process that is to run the program, with its command line."""
    with socket.socket(fileno=os.dup(0)) as requests:
        while True:
            message, descriptors, _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, _DESCRIPTORS)
            if not message:
                os._exit(0)
            if os.fork() == 0:
                requests.close()
                break
            for one in descriptors:
                os.close(one)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, answers = descriptors
    if process := os.fork():
        _report(process, streams, answers)
    os.close(answers)
    return _become(json.loads(message), streams)


def _report(process: int, streams: list[int], answers: int) -> None:
    """Say who runs the program and how it ends."""
    for one in (0, 1, 2, *streams):
        os.close(one)
    os.write(answers, str(process).encode())
    _, status = os.waitpid(process, 0)
    try:
        os.write(answers, str(os.waitstatus_to_exitcode(status)).encode())
    finally:
        os._exit(0)


def _become(request: dict[str, Any], streams: list[int]) -> list[str]:
    """Take over what a new process is given: environment, folder, network, session and standard streams."""
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["folder"])
    if request["namespace"]:
        _enter(request["namespace"])
    if request["session"]:
        os.setsid()
    for number, one in enumerate(streams):
        os.dup2(one, number)
        os.close(one)
    if request["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = _text(0, "r", "strict")
    sys.stdout = _text(1, "w", "strict")
    sys.stderr = _text(2, "w", "backslashreplace")
    words: list[str] = request["words"]
    return words


def _enter(namespace: str) -> None:
    """Go to a network namespace and see its interfaces in /sys, as `ip netns exec` does."""
    with Path("/run/netns", namespace).open("rb") as network:
        _checked(_libc.setns(network.fileno(), _CLONE_NEWNET))  # os.setns came with Python 3.12
    _checked(_libc.unshare(_CLONE_NEWNS))
    _checked(_libc.mount(b"", b"/", b"none", _MS_SLAVE | _MS_REC, None))
    _checked(_libc.umount2(b"/sys", _MNT_DETACH))
    _checked(_libc.mount(namespace.encode(), b"/sys", b"sysfs", 0, None))


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _text(number: int, mode: str, errors: str) -> io.TextIOWrapper:
    """A standard stream as the interpreter makes it."""
    raw = os.fdopen(number, mode + "b", closefd=False)
    by_line = number == sys.stderr.fileno() or os.isatty(number)
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=by_line)


if __name__ == "__main__":
    program, *more = [importlib.import_module(name) for name in sys.argv[1:]]
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what it starts is nobody's to wait for
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.argv = _await_start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(program.main())
