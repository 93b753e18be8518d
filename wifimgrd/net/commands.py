"""Run programs to their end, and return their output.

Each call blocks for the process, some milliseconds: the helper has nothing else to do meanwhile, and
starting a process through asyncio takes three times as long.
"""

from __future__ import annotations

import subprocess
from subprocess import PIPE
from typing import Final

_TIMEOUT_S: Final = 5.0


class CommandError(Exception):
    """A command that failed, with its error output."""


def run(*arguments: str, stdin: str = "") -> str:
    """Run a command and return its output; raises CommandError."""
    return finish(start(*arguments), stdin)


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start a command that then waits for its input; raises CommandError."""
    try:
        return subprocess.Popen(  # noqa: S603 - fixed arguments; interface names are the kernel's
            arguments,  # PATH is the service manager's
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise CommandError(f"{' '.join(arguments)}: {error}") from None


def finish(process: subprocess.Popen[str], stdin: str = "") -> str:
    """Send a command its input and return its output; raises CommandError."""
    try:
        output, errors = process.communicate(stdin, _TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise CommandError(f"{process.args!r} did not end within {_TIMEOUT_S:g} s") from None
    if process.returncode:
        raise CommandError(errors.strip() or f"{process.args!r} ended with {process.returncode}")
    return output
