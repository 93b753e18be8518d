"""The results of commands, as the process `wifimgrd-camera` reports them."""

from __future__ import annotations

from typing import Final, TypedDict

from wifimgrd.domain.camera import CommandResult
from wifimgrd.domain.errors import ErrorCode, InternalError, error_of

_LONGEST_MESSAGE: Final = 300
_LONGEST_US: Final = 60_000_000


class Result(TypedDict, total=False):
    """The result of a command at one camera, as the process reports it."""

    device: int
    after: int
    code: str
    message: str


def command_result(row: Result) -> CommandResult:
    """Its values within bounds; `code` must be there."""
    after_us = min(max(0, row.get("after", 0)), _LONGEST_US)
    if not row["code"]:
        return CommandResult(after_us)
    message = "".join(letter for letter in row.get("message", "") if letter.isprintable())[:_LONGEST_MESSAGE]
    try:
        return CommandResult(after_us, error_of(ErrorCode(row["code"]), message))
    except ValueError:
        return CommandResult(after_us, InternalError(message))
