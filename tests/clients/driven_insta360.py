"""The published client of an Insta360, as a process that is told what to do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = Path(__file__).with_name("with_insta360.py")


class Insta360:
    """The client, command by command; its program has an input and an output in text."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Returns once it is connected to the camera."""
        self._process = process
        assert self._answer() is True

    def ask(self, command: str) -> Any:
        """Have it carry out a command that the program knows, and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())
