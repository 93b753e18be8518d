"""Reads a password from a prompt, a file or stdin; never from an argument."""

from __future__ import annotations

import argparse
import getpass
import sys
import warnings
from pathlib import Path
from typing import Final

from wifimgrd.cli._text import safe
from wifimgrd.domain.errors import InvalidRequest

_LONGEST: Final = 4096
"""A file with more bytes is not a password but a mistake."""

_NO_TERMINAL: Final = "there is no terminal for a prompt; use --password-file, --password-stdin or --open"


class UsageError(Exception):
    """The command line cannot be carried out as it is."""


def read_password(arguments: argparse.Namespace, network: str) -> str:
    """The password for a network, from the source that the command line names; "" for an open network.

    Raises UsageError if a prompt is not possible, InvalidRequest if no password was given.
    """
    if arguments.open:
        return ""
    if arguments.password_file is not None:
        password = read_password_file(arguments.password_file)
    elif arguments.password_stdin:
        password = read_stdin("the password")
    else:
        password = prompted(f"Password for {safe(network)}", _NO_TERMINAL)
    if not password:
        raise InvalidRequest("the password is empty; use --open for an open network")
    return password


def read_password_file(path: Path) -> str:
    """The password in a file; raises InvalidRequest."""
    try:
        with path.open("rb") as file:
            return _text(file.read(_LONGEST + 1), str(path))
    except OSError as error:
        raise InvalidRequest(f"the password file cannot be read: {error}") from None


def read_stdin(what: str) -> str:
    """A password, or another short secret, from stdin; raises InvalidRequest."""
    return _text(sys.stdin.buffer.read(_LONGEST + 1), "stdin", what)


def _text(data: bytes, source: str, what: str = "the password") -> str:
    if len(data) > _LONGEST:
        raise InvalidRequest(f"{source} contains more than a password")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(f"{what} in {source} is not text") from None
    return text.removesuffix("\n").removesuffix("\r")


def prompted(prompt: str, no_terminal: str) -> str:
    """Text that is typed at a terminal and not shown; raises UsageError (`no_terminal`), InvalidRequest."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"{prompt}: ")
        except getpass.GetPassWarning:
            raise UsageError(no_terminal) from None
        except EOFError:
            raise InvalidRequest("no password was entered") from None
