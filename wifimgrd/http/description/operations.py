"""What a handler says of itself: the operation that it serves, for the API's description."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from wifimgrd.http.problems import KINDS

HandlerT = TypeVar("HandlerT", bound=Callable[..., object])
ReaderT = TypeVar("ReaderT", bound=Callable[..., object])

JSON: Final = "application/json"
_OPERATION: Final = "operation"
_PARAMETER: Final = "parameter"


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that a request says in its path, query or headers."""

    name: str
    place: str
    """`path`, `query` or `header`."""
    description: str
    kind: Any
    """Its type, as in `wifimgrd.dbus.client.json_types`."""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """What one handler does for one method at one address."""

    name: str
    tag: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body; None where it has none."""
    status: int = 200
    answer: Any = None
    """The type of the answer's body; None where it has none, or another than JSON."""
    media_types: tuple[str, ...] = (JSON,)
    errors: tuple[str, ...] = ()
    """Codes, beside those that every address can answer with."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the answer worth knowing, with what they say."""
    public: bool = False
    """Needs no token, also where the configuration asks for one."""
    further: Mapping[int, str] = field(default_factory=dict)
    """Other answers without a body that are no errors, with what they say."""

    next: tuple[str, ...] = ()
    """Operations on the device that the answer describes."""

    def problems(self) -> dict[int, list[str]]:
        """The codes of its errors by HTTP status."""
        by_status: dict[int, list[str]] = {}
        for code in self.errors:
            by_status.setdefault(KINDS[code].status, []).append(str(code))
        return by_status


def parameter(
    name: str, kind: Any, description: str, *, place: str = "query", required: bool = False
) -> Callable[[ReaderT], ReaderT]:
    """Mark a function that reads a parameter of a request with what it reads."""

    def mark(reader: ReaderT) -> ReaderT:
        setattr(reader, _PARAMETER, Parameter(name, place, description, kind, required))
        return reader

    return mark


def parameter_of(reader: Callable[..., object] | Parameter) -> Parameter:
    """What a function reads, or what was said directly."""
    if isinstance(reader, Parameter):
        return reader
    found = getattr(reader, _PARAMETER, None)
    if not isinstance(found, Parameter):
        raise TypeError(f"{reader!r} reads no parameter")
    return found


def operation(
    name: str,
    tag: str,
    *,
    reads: tuple[Callable[..., object] | Parameter, ...] = (),
    text: str | None = None,
    **details: Any,
) -> Callable[[HandlerT], HandlerT]:
    """Mark a handler with the operation that it serves; its docstring is the text, where none is given.

    `reads` are the functions by which it reads the request's parameters, `details` further
    fields of Operation.
    """

    def mark(handler: HandlerT) -> HandlerT:
        summary, _, description = inspect.cleandoc(text or handler.__doc__ or "").partition("\n\n")
        parameters = tuple(parameter_of(reader) for reader in reads)
        summary, description = (" ".join(part.split()) for part in (summary, description))
        found = Operation(name, tag, summary, description, parameters, **details)
        setattr(handler, _OPERATION, found)
        return handler

    return mark


def operation_of(handler: Callable[..., object]) -> Operation | None:
    """What a handler serves; None where it does not say."""
    found = getattr(handler, _OPERATION, None)
    return found if isinstance(found, Operation) else None
