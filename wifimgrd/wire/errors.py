"""The error codes as D-Bus names, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.domain.errors import (
    CLASSES,
    BackendUnavailable,
    DialogueNeeded,
    ErrorCode,
    InvalidRequest,
    WifimgrdError,
    error_of,
)
from wifimgrd.wire.names import ERROR_PREFIX

NAME_OF: Final[Mapping[ErrorCode, str]] = MappingProxyType(
    {code: ERROR_PREFIX + (kind.dbus_name or kind.__name__) for code, kind in CLASSES.items()}
)

_BUS_ERROR: Final = "org.freedesktop.DBus.Error."
_DIALOGUE_NEEDED: Final = _BUS_ERROR + "InteractiveAuthorizationRequired"
"""The call may succeed with the flag ALLOW_INTERACTIVE_AUTHORIZATION:
https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-header"""
_CODE_OF: Final[Mapping[str, ErrorCode]] = MappingProxyType(
    {name: code for code, name in NAME_OF.items()}
    | {
        _BUS_ERROR + "UnknownObject": ErrorCode.DEVICE_NOT_FOUND,
        _BUS_ERROR + "UnknownInterface": ErrorCode.NOT_SUPPORTED,
        _BUS_ERROR + "InvalidArgs": ErrorCode.INVALID_REQUEST,
        _BUS_ERROR + "AccessDenied": ErrorCode.NOT_AUTHORIZED,
        _DIALOGUE_NEEDED: ErrorCode.NOT_AUTHORIZED,
        _BUS_ERROR + "ServiceUnknown": ErrorCode.BACKEND_UNAVAILABLE,
        _BUS_ERROR + "NameHasNoOwner": ErrorCode.BACKEND_UNAVAILABLE,
        _BUS_ERROR + "NoReply": ErrorCode.BACKEND_UNAVAILABLE,
        _BUS_ERROR + "LimitsExceeded": ErrorCode.BACKEND_UNAVAILABLE,
    }
)
FIELDS_SIGNATURE: Final = "sa{sas}"
"""InvalidArguments with details: after the message, the messages of each invalid field."""


def name_of(error: WifimgrdError) -> str:
    """The D-Bus name of an error."""
    return _DIALOGUE_NEEDED if isinstance(error, DialogueNeeded) else NAME_OF[error.code]


def error_arguments(error: WifimgrdError, *, explain: bool) -> tuple[str, Sequence[object]]:
    """The signature of an error reply and the arguments after its message.

    Only callers that set `explain` get more than the message, because GDBus shows the text of no other error.
    """
    if explain and isinstance(error, InvalidRequest) and error.fields:
        return FIELDS_SIGNATURE, [{name: list(messages) for name, messages in error.fields.items()}]
    return "s", []


def error_of_reply(reply: BusError) -> WifimgrdError:
    """The error of the tree that an error reply stands for."""
    code = _CODE_OF.get(reply.name, ErrorCode.INTERNAL)
    fields = reply.body[1] if len(reply.body) > 1 and isinstance(reply.body[1], dict) else {}
    if code is ErrorCode.INVALID_REQUEST:
        return InvalidRequest(reply.message, {name: tuple(messages) for name, messages in fields.items()})
    return error_of(code, reply.message)


@contextmanager
def with_own_errors(no_answer: str) -> Iterator[None]:
    """Convert a call's exceptions to the errors of the tree; `no_answer` is the message for a time-out."""
    try:
        yield
    except BusError as error:
        raise error_of_reply(error) from None
    except BusClosed as error:
        raise BackendUnavailable(str(error)) from None
    except TimeoutError:
        raise BackendUnavailable(no_answer) from None


@contextmanager
def in_time(no_answer: str) -> Iterator[None]:
    """Convert a call's time-out, and pass its other exceptions on; `no_answer` as above."""
    try:
        yield
    except TimeoutError:
        raise BackendUnavailable(no_answer) from None
