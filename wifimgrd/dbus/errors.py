"""The one map between the error codes and their D-Bus names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.dbus.bus import BusClosed, BusError
from wifimgrd.dbus.names import ERROR_PREFIX
from wifimgrd.domain.errors import BackendUnavailable, ErrorCode, InvalidRequest, WifimgrdError, error_of

NAME_OF: Final[Mapping[ErrorCode, str]] = MappingProxyType(
    {
        code: ERROR_PREFIX + name
        for code, name in {
            ErrorCode.INVALID_REQUEST: "InvalidArguments",
            ErrorCode.CANCELLED: "Cancelled",
            ErrorCode.DEVICE_NOT_FOUND: "DeviceNotFound",
            ErrorCode.INTERFACE_NOT_FOUND: "InterfaceNotFound",
            ErrorCode.NO_INTERFACE_AVAILABLE: "NoInterfaceAvailable",
            ErrorCode.BUSY: "Busy",
            ErrorCode.DEVICE_NOT_REACHABLE: "DeviceNotReachable",
            ErrorCode.AUTHENTICATION_FAILED: "AuthenticationFailed",
            ErrorCode.ASSOCIATION_REFUSED: "AssociationRefused",
            ErrorCode.ADDRESS_FAILED: "AddressFailed",
            ErrorCode.INTERFACE_LOST: "InterfaceLost",
            ErrorCode.CONNECTION_LOST: "ConnectionLost",
            ErrorCode.BACKEND_UNAVAILABLE: "BackendUnavailable",
            ErrorCode.NOT_AUTHORIZED: "NotAuthorized",
            ErrorCode.INTERNAL: "Failed",
        }.items()
    }
)

_BUS_ERROR: Final = "org.freedesktop.DBus.Error."
_CODE_OF: Final[Mapping[str, ErrorCode]] = MappingProxyType(
    {name: code for code, name in NAME_OF.items()}
    | {
        _BUS_ERROR + "UnknownObject": ErrorCode.DEVICE_NOT_FOUND,
        _BUS_ERROR + "InvalidArgs": ErrorCode.INVALID_REQUEST,
        _BUS_ERROR + "AccessDenied": ErrorCode.NOT_AUTHORIZED,
        _BUS_ERROR + "ServiceUnknown": ErrorCode.BACKEND_UNAVAILABLE,
        _BUS_ERROR + "NameHasNoOwner": ErrorCode.BACKEND_UNAVAILABLE,
        _BUS_ERROR + "NoReply": ErrorCode.BACKEND_UNAVAILABLE,
        _BUS_ERROR + "LimitsExceeded": ErrorCode.BACKEND_UNAVAILABLE,
    }
)
FIELDS_SIGNATURE: Final = "sa{sas}"
"""InvalidArguments as it is explained: behind its sentence, the sentences of each field at fault."""


def error_arguments(error: WifimgrdError, *, explain: bool) -> tuple[str, Sequence[Any]]:
    """The signature of an error reply and what follows its sentence.

    Only who asks to `explain` gets more than the sentence: GDBus shows no other error's text.
    """
    if explain and isinstance(error, InvalidRequest) and error.fields:
        return FIELDS_SIGNATURE, [{name: list(said) for name, said in error.fields.items()}]
    return "s", []


def error_of_reply(reply: BusError) -> WifimgrdError:
    """The error of the tree that an error reply stands for."""
    code = _CODE_OF.get(reply.name, ErrorCode.INTERNAL)
    fields = reply.body[1] if len(reply.body) > 1 and isinstance(reply.body[1], dict) else {}
    if code is ErrorCode.INVALID_REQUEST:
        return InvalidRequest(reply.message, {name: tuple(said) for name, said in fields.items()})
    return error_of(code, reply.message)


@contextmanager
def with_own_errors(no_answer: str) -> Iterator[None]:
    """Raise the errors of the tree for what comes of a call; `no_answer` is the sentence for none in time."""
    try:
        yield
    except BusError as error:
        raise error_of_reply(error) from None
    except BusClosed as error:
        raise BackendUnavailable(str(error)) from None
    except TimeoutError:
        raise BackendUnavailable(no_answer) from None
