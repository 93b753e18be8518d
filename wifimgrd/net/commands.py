"""Programs that the helper runs: to their end, and what they printed.

Each call waits for its process, some milliseconds: the helper has nothing else to do meanwhile, and a
process that asyncio starts takes three times as long.
"""

from __future__ import annotations

import subprocess
from subprocess import PIPE
from typing import Final

_TIMEOUT_S: Final = 5.0


class CommandError(Exception):
    """A command that failed, with what it said."""


def run(*words: str, stdin: str = "") -> str:
    """Run a command and return what it printed; raises CommandError."""
    return finish(start(*words), stdin)


def start(*words: str) -> subprocess.Popen[str]:
    """Have a command wait for its input; raises CommandError."""
    try:
        return subprocess.Popen(  # noqa: S603 - our own words; interfaces' names are the kernel's
            words,  # PATH is the service manager's
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise CommandError(f"{' '.join(words)}: {error}") from None


def finish(process: subprocess.Popen[str], stdin: str = "") -> str:
    """Give a command its input and return what it printed; raises CommandError."""
    try:
        printed, said = process.communicate(stdin, _TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise CommandError(f"{process.args!r} did not end within {_TIMEOUT_S:g} s") from None
    if process.returncode:
        raise CommandError(said.strip() or f"{process.args!r} ended with {process.returncode}")
    return printed
