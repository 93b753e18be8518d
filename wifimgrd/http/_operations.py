"""The declarations of handlers. `tools/generate_descriptions.py` makes OpenAPI of them; a running shim uses
them only in `access/cors.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

MarkedT = TypeVar("MarkedT", bound=Callable[..., object])

JSON: Final = "application/json"
_OPERATION: Final = "operation"
_PARAMETER: Final = "parameter"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the path, query or headers of a request. Marks the function that reads it."""

    name: str
    kind: object
    """Its type, as in `wifimgrd.client.json_types`."""
    description: str
    place: str = "query"
    """`path`, `query` or `header`."""
    required: bool = False

    def __call__(self, reader: MarkedT) -> MarkedT:
        """Mark a function."""
        setattr(reader, _PARAMETER, self)
        return reader


Reader = Callable[..., object] | Parameter
"""A function that is marked with a parameter, or the parameter itself."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation of one handler, for one method at one path. Marks the handler."""

    name: str
    tag: str
    text: str = ""
    """A summary, and a description after an empty line; by default the handler's docstring."""
    reads: tuple[Reader, ...] = ()
    """Its parameters."""
    body: object = None
    """The type of the request's body; None if it has none."""
    is_body_optional: bool = False
    body_types: tuple[str, ...] = (JSON,)
    """The media types of the body."""
    status: int = 200
    answer: object = None
    """The type of the answer's body; None if it has none, or if it is not JSON."""
    media_types: tuple[str, ...] = (JSON,)
    others: Mapping[str, object] = field(default_factory=dict)
    """Other forms of the answer that a client may ask for (Accept): their media types, and their types."""
    errors: tuple[str, ...] = ()
    """Error codes beside those that every path can answer with."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Documented headers of the answer, with their meaning."""
    public: bool = False
    """Needs no token, even if the configuration requires one."""
    is_internal: bool = False
    """Only the hub's own page asks for it; `/docs` does not show it to people."""
    further: Mapping[int, str] = field(default_factory=dict)
    """Other answers that are not errors, with their meaning."""
    further_types: Mapping[int, object] = field(default_factory=dict)
    """The types of the JSON bodies of those answers."""
    next: tuple[str, ...] = ()
    """Operations on the device that the answer describes."""

    def __call__(self, handler: MarkedT) -> MarkedT:
        """Mark a handler."""
        setattr(handler, _OPERATION, self)
        return handler


def parameter_of(reader: Reader) -> Parameter:
    """The parameter that a function reads, or that was given directly."""
    found = reader if isinstance(reader, Parameter) else getattr(reader, _PARAMETER, None)
    if not isinstance(found, Parameter):
        raise TypeError(f"{reader!r} reads no parameter")
    return found


def operation_of(handler: Callable[..., object]) -> Operation | None:
    """The operation that a handler serves; None if it declares none."""
    found = getattr(handler, _OPERATION, None)
    return found if isinstance(found, Operation) else None
