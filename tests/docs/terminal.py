"""An interactive shell on a pseudo-terminal, in which a document's commands are typed as a person does."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import re
import select
import shlex
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from tests.docs.code_blocks import CodeBlock, Step

PATIENCE_S: Final = 60.0
_SHELL: Final = ("setsid", "--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i")
_CTRL_C: Final = "^C"
_SIZE: Final = struct.pack("HHHH", 50, 200, 0, 0)
_PROMPT: Final = re.compile(r"<<prompt (\d+)>>\r?\n?")
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-B0-2]|\x1b[=>]|\r")
_SHOWS: Final = re.compile(
    r"(sudo )?(wifimgrctl( (devices|interfaces|networks|status)\b.*)?|(journalctl|mosquitto_sub) .*)\n"
)
"""Commands that only show something: a person types them again until what was begun has happened."""
_VARIABLE: Final = re.compile(
    r"(?P<anything>\.\.\.)"
    r"|(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"
    r"|(?P<entry>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ (?=[\w.-]+\[))"
    r"|(?P<process>\[\d+\]:)"
    r"|(?P<clock>(?<![\w:])\d\d:\d\d:\d\d(?:\.\d+)?(?![\w:]))"
    r"|(?P<scratch>/tmp/wifimgrd-\w+)"
    r"|(?P<guid>guid=[0-9a-f]+)"
    r"|(?P<job>\[\d+\] \d+)"
)
_PATTERNS: Final = {
    "anything": ".*",
    "moment": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
    "entry": r"[A-Z][a-z]{2}\d{1,2}\d\d:\d\d:\d\d[\w.-]+?",
    "process": r"\[\d+\]:",
    "clock": r"\d\d:\d\d:\d\d(\.\d+)?",
    "scratch": r"/tmp/wifimgrd-\w+",
    "guid": "guid=[0-9a-f]+",
    "job": r"\[\d+\]\d+",
}


def pattern_of(printed: str) -> re.Pattern[str]:
    """What output without white space has to be: as printed, but for `...`, times, and random names."""
    pattern, end = "", 0
    for variable in _VARIABLE.finditer(printed):
        pattern += re.escape("".join(printed[end : variable.start()].split()))
        pattern += _PATTERNS[str(variable.lastgroup)]
        end = variable.end()
    return re.compile(pattern + re.escape("".join(printed[end:].split())), re.DOTALL)


def is_as_printed(printed: str, output: str) -> bool:
    """Whether a command's output is what a document prints."""
    return pattern_of(printed).fullmatch("".join(output.split())) is not None


class Terminal:
    """An interactive bash; commands and output as a person has them."""

    def __init__(self, place: Sequence[str] = ()) -> None:
        """`place` is a command that runs the one behind it where documents' commands are to run."""
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, _SIZE)
        settings = termios.tcgetattr(slave)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        self._shell = subprocess.Popen(
            [*place, "env", "TERM=dumb", *_SHELL],
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._read = ""
        self._type("HISTFILE= PS2= PS1='<<prompt $?>>\\n'\n")
        self._until_prompt(self._deadline())
        self._shells_group = os.tcgetpgrp(self._master)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        # Closing the terminal sends SIGHUP to the shell and to what it has started.
        os.close(self._master)
        self._shell.wait(PATIENCE_S)

    def run(self, block: CodeBlock, replacements: Mapping[str, str] | None = None) -> None:
        """Type a document's block; fails where it does not do what the document says.

        `replacements` are texts in commands and what stands for them here.
        """

        def here(command: str) -> str:
            for text, instead in (replacements or {}).items():
                command = command.replace(text, instead)
            return command

        if block.language == "console":
            for step in block.steps:
                self._step(Step(here(step.command), step.printed), str(block))
        else:
            self._script(here(block.text), str(block))

    def _script(self, text: str, name: str) -> None:
        """Every command of it has to succeed."""
        deadline = self._deadline()
        script = shlex.quote(f"set -euo pipefail\n{text}set +euo pipefail")
        self._type(f"eval {script}\n")
        output, status = self._until_prompt(deadline, name)
        assert status == 0, f"{name}: status {status}:\n{output}"

    def _step(self, step: Step, name: str) -> None:
        """What a command prints has to be what the document prints; what runs beside it may be late."""
        deadline = self._deadline()
        printed, interrupted, after = step.printed.partition(f"{_CTRL_C}\n")
        assert not after, f"{name}: nothing may be printed behind {_CTRL_C}"
        while True:
            self._type(step.command)
            output, status = ("", 0) if interrupted else self._until_prompt(self._deadline(), name)
            assert printed or status == 0, f"{name}: {step.command}status {status}:\n{output}"
            if not _SHOWS.fullmatch(step.command) or is_as_printed(printed, output):
                break
            assert time.monotonic() < deadline, _difference(name, step.command, printed, output)
        while not is_as_printed(printed, output):
            try:
                output += self._more(deadline)
            except (TimeoutError, EOFError):
                raise AssertionError(_difference(name, step.command, printed, output)) from None
        if interrupted:
            self._until_command_has_terminal(deadline, name)
            self._type("\x03")
            self._until_prompt(deadline, name)

    def _until_command_has_terminal(self, deadline: float, name: str) -> None:
        """Ctrl-C reaches it from then on; `fg` prints the command before that."""
        while os.tcgetpgrp(self._master) == self._shells_group:
            assert time.monotonic() < deadline, f"{name}: nothing to interrupt"
            time.sleep(0.01)

    def _type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def _until_prompt(self, deadline: float, name: str = "bash") -> tuple[str, int]:
        """What is printed until the shell takes the next command, and the status of the last one."""
        while (prompt := _PROMPT.search(self._read)) is None:
            try:
                self._read += self._receive(deadline)
            except (TimeoutError, EOFError) as error:
                raise AssertionError(f"{name}: {type(error).__name__} after:\n{self._read}") from None
        output, self._read = self._read[: prompt.start()], self._read[prompt.end() :]
        return _clean(output), int(prompt[1])

    def _more(self, deadline: float) -> str:
        """What is printed next."""
        output, self._read = self._read or self._receive(deadline), ""
        return _clean(output)

    def _receive(self, deadline: float) -> str:
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        with contextlib.suppress(OSError):  # EIO: the shell has ended
            if data := os.read(self._master, 65536):
                return self._decoder.decode(data)
        raise EOFError

    @staticmethod
    def _deadline() -> float:
        return time.monotonic() + PATIENCE_S


def _clean(output: str) -> str:
    """Text without what only a terminal understands."""
    return _ESCAPES.sub("", output)


def _difference(name: str, command: str, printed: str, output: str) -> str:
    return f"{name}: {command.strip()}\nprints:\n{output}\nthe document prints:\n{printed}"
