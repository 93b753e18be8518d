"""JSON Schema (2020-12) of the types of the JSON values.

Supports the types that `json_types` and `json_members` use; raises TypeError for
all others.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired, TypeGuard, get_args, get_origin, is_typeddict

from wifimgrd.client.json_members import JsonObject
from wifimgrd.client.json_types import Keywords

REFERENCE: Final = "#/components/schemas/"
_PLAIN: Final[Mapping[object, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


class Schemas:
    """Makes schemas, and collects the named ones."""

    def __init__(self) -> None:
        self.named: dict[str, dict[str, Any]] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type; a named type becomes a reference."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._annotated(arguments[0], arguments[1:])
        if isinstance(kind, type) and kind in _PLAIN:
            return dict(_PLAIN[kind])
        if is_typeddict(kind) or _is_record(kind):
            return self._reference(kind)
        if origin is list:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is dict and arguments[0] is str:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if origin in (types.UnionType, typing.Union):
            return _nullable([self.of(one) for one in arguments])
        raise TypeError(f"there is no JSON Schema for {kind!r}")

    def _annotated(self, kind: Any, notes: tuple[object, ...]) -> dict[str, Any]:
        schema = self.of(kind)
        for note in notes:
            schema |= note.keywords if isinstance(note, Keywords) else {"description": note}
        return schema

    def _reference(self, kind: type) -> dict[str, Any]:
        name = schema_name(kind)
        if name not in self.named:
            self.named[name] = {}  # the type may refer to itself
            self.named[name] = self._object(kind)
        return {"$ref": REFERENCE + name}

    def _object(self, kind: type) -> dict[str, Any]:
        hints = kind.members if _is_record(kind) else typing.get_type_hints(kind, include_extras=True)
        properties, required = {}, []
        for name, hint in hints.items():
            optional = get_origin(hint) is NotRequired
            properties[name] = self.of(get_args(hint)[0] if optional else hint)
            if not optional and getattr(kind, "__total__", True):
                required.append(name)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if kind.__doc__:
            schema["description"] = inspect.cleandoc(kind.__doc__)
        return schema


def _is_record(kind: Any) -> TypeGuard[type[JsonObject]]:
    return isinstance(kind, type) and issubclass(kind, JsonObject)


def schema_name(kind: type) -> str:
    """The name of a type in a description."""
    return kind.__name__.removesuffix("Json")


def _nullable(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """A union; `T | None` in the short form if the schema has one type."""
    null = {"type": "null"}
    if len(choices) == 2 and null in choices:
        choices.remove(null)
        [choice] = choices
        if isinstance(choice.get("type"), str):
            enum = {"enum": [*choice["enum"], None]} if "enum" in choice else {}
            return choice | {"type": [choice["type"], "null"]} | enum
        choices.append(null)
    return {"anyOf": choices}
