"""Reads a password from a prompt, a file or stdin; never from an argument."""

from __future__ import annotations

import argparse
import getpass
import sys
import warnings
from pathlib import Path
from typing import Final

from wifimgrd.cli.text import safe
from wifimgrd.domain.errors import InvalidRequest

_LONGEST: Final = 4096
"""More octets than that are no password but a mistaken file."""


class UsageError(Exception):
    """The command line cannot be obeyed as it stands."""


def read_password(arguments: argparse.Namespace, network: str) -> str:
    """The password for a network, from where the command line says; "" for an open one.

    Raises UsageError where nobody is there to be asked, InvalidRequest where nothing was given.
    """
    if arguments.open:
        return ""
    if arguments.password_file is not None:
        password = _of_file(arguments.password_file)
    elif arguments.password_stdin:
        password = _text(sys.stdin.buffer.read(_LONGEST + 1), "stdin")
    else:
        password = _asked(network)
    if not password:
        raise InvalidRequest("the password is empty; use --open for an open network")
    return password


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return _text(file.read(_LONGEST + 1), str(path))
    except OSError as error:
        raise InvalidRequest(f"the password file cannot be read: {error}") from None


def _text(octets: bytes, source: str) -> str:
    if len(octets) > _LONGEST:
        raise InvalidRequest(f"there is more than a password in {source}")
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(f"the password in {source} is not text") from None
    return text.removesuffix("\n").removesuffix("\r")


def _asked(network: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"Password of {safe(network)}: ")
        except (getpass.GetPassWarning, EOFError):
            raise UsageError(
                "nobody is there to be asked for a password; use --password-file, --password-stdin or --open"
            ) from None
