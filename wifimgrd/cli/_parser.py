"""The parser of a command's line, and the options that commands share."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NoReturn

from wifimgrd.cli._finding import meant
from wifimgrd.cli._screen import columns_of, write_line
from wifimgrd.cli._text import safe

_NO_SUCH_CHOICE: Final = re.compile(
    r"argument (?:COMMAND|ACTION): invalid choice: '(.*)' \(choose from (.*)\)"
)


_REQUIRED: Final = re.compile(
    r"(?:one of the arguments|the following arguments are required:) (.*?)( is required)?"
)
_SEVERAL: Final = {"CAMERA": "name cameras"}
_ONE: Final = {
    "CAMERA": "name a camera",
    "ACTION": "name an action",
    "ADAPTER": "name an adapter",
    "FILE": "name a file",
    "KIND": "name a kind of fault",
    "what": "name what to list: devices, interfaces, codenames or groups",
}
"""Requests for arguments that are missing."""


class Words(StrEnum):
    """Words that `completions` prints, since only the running service or the catalog knows them."""

    DEVICES = "devices"
    INTERFACES = "interfaces"
    CODENAMES = "codenames"
    GROUPS = "groups"


class Parser(argparse.ArgumentParser):
    """A parser that suggests commands and options for one that does not exist, and shows the usage of the
    command that is wrong."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """See ArgumentParser; but there must be no argument that is not known, since the parser of a command
        would pass it to the one of all commands, which has another usage."""
        self._given = list(args or ())
        arguments, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
            if not options:
                self.error(f'unexpected argument "{safe(unknown[0])}"')
            # Without what follows: it may be a password.
            known = [one for one in self._option_string_actions if one.startswith("--")]
            self.error(f'unknown option "{safe(options[0])}"{meant(options[0], known)}')
        return arguments, unknown

    def _unknown_option(self) -> str:
        """That an option does not exist, before others are asked for; empty if all do."""
        known = [one for one in self._option_string_actions if one.startswith("--")]
        typed = (word.partition("=")[0] for word in self._given if word.startswith("--"))
        wrong = next((one for one in typed if one not in (*known, "--")), None)
        return "" if wrong is None else f'unknown option "{safe(wrong)}"{meant(wrong, known)}'

    def error(self, message: str) -> NoReturn:
        """See ArgumentParser."""
        found = _NO_SUCH_CHOICE.fullmatch(message)
        if found:
            known = [one.strip("' ") for one in found[2].split(",")]
            message = f'unknown command "{found[1]}"{meant(found[1], known)}'
        elif (lacking := _REQUIRED.fullmatch(message)) is not None:
            message = self._unknown_option() or _lacking(lacking[1], of_several=bool(lacking[2]))
        text = f"{self.prog}: {message}. See `{self.prog} --help`.".replace("?.", "?")
        for line in (*self.format_usage().splitlines(), text):
            write_line(sys.stderr, line, columns_of(sys.stderr))
        self.exit(2)


def _lacking(names: str, *, of_several: bool) -> str:
    """A request for arguments that are missing, or for one of them."""
    if of_several:
        return ", or ".join(_SEVERAL.get(name, name) for name in names.split())
    return ", and ".join(_ONE.get(name, f"name {name}") for name in names.split(", "))


def everywhere() -> Parser:
    """The options that may come before or after a command. Each parser needs its own: a default set
    on the outer one would be the inner one's, too, and overwrite the options before the command."""
    shared = Parser(add_help=False)
    shared.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print JSON (ASCII only) instead of text",
    )
    shared.add_argument(
        "--bus",
        metavar="session|system|ADDRESS",
        default=argparse.SUPPRESS,
        help="the message bus (default: $WIFIMGRD_BUS, else system)",
    )
    return shared


def device(command: argparse.ArgumentParser) -> None:
    """The device that a command is for."""
    action = command.add_argument("device", metavar="CAMERA", help="the id or the name of a camera")
    completed(action, Words.DEVICES)


def completed(action: argparse.Action, words: Words | tuple[str, ...]) -> None:
    """Let shells complete an argument with such words, or with these: packaging/make_completions reads the
    attribute."""
    action.complete = words  # type: ignore[attr-defined]
