"""The operation that a handler serves, as declared at the handler, for the API's description."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from wifimgrd.http.errors import KINDS

HandlerT = TypeVar("HandlerT", bound=Callable[..., object])
ReaderT = TypeVar("ReaderT", bound=Callable[..., object])

JSON: Final = "application/json"
_OPERATION: Final = "operation"
_PARAMETER: Final = "parameter"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the path, query or headers of a request."""

    name: str
    place: str
    """`path`, `query` or `header`."""
    description: str
    kind: Any
    """Its type, as in `wifimgrd.client.json_types`."""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """What one handler does for one method at one path."""

    name: str
    tag: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body; None if it has none."""
    status: int = 200
    answer: Any = None
    """The type of the answer's body; None if it has none, or if it is not JSON."""
    media_types: tuple[str, ...] = (JSON,)
    errors: tuple[str, ...] = ()
    """Error codes beside those that every path can answer with."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Documented headers of the answer, with their meaning."""
    public: bool = False
    """Needs no token, even if the configuration requires one."""
    further: Mapping[int, str] = field(default_factory=dict)
    """Other answers that are not errors, with their meaning."""
    further_types: Mapping[int, Any] = field(default_factory=dict)
    """The types of the JSON bodies of those answers."""

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
    """Mark a function that reads a parameter of a request with that parameter."""

    def mark(reader: ReaderT) -> ReaderT:
        setattr(reader, _PARAMETER, Parameter(name, place, description, kind, required))
        return reader

    return mark


def parameter_of(reader: Callable[..., object] | Parameter) -> Parameter:
    """The parameters that a function reads, or that were given directly."""
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
    """Mark a handler with the operation that it serves. Its docstring is the text, if none is given.

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
    """The operation that a handler serves; None if it declares none."""
    found = getattr(handler, _OPERATION, None)
    return found if isinstance(found, Operation) else None
