"""JSON Schema (2020-12) of the types that JSON values are made of.

Understands what `wifimgrd.dbus.client.json_types` uses and nothing else; raises TypeError for that.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired, get_args, get_origin, is_typeddict

from wifimgrd.dbus.client.json_types import Keywords

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
    """Makes schemas, and collects those that have names."""

    def __init__(self) -> None:
        self.named: dict[str, dict[str, Any]] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type; one that has a name is referred to."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._annotated(arguments[0], arguments[1:])
        if isinstance(kind, type) and kind in _PLAIN:
            return dict(_PLAIN[kind])
        if is_typeddict(kind):
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
            self.named[name] = {}  # it may hold itself
            self.named[name] = self._object(kind)
        return {"$ref": REFERENCE + name}

    def _object(self, kind: type) -> dict[str, Any]:
        hints = typing.get_type_hints(kind, include_extras=True)
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


def schema_name(kind: type) -> str:
    """What a type is called in a description."""
    return kind.__name__.removesuffix("Json")


def _nullable(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """A union; `T | None` in the short form where the schema has one type."""
    null = {"type": "null"}
    if len(choices) == 2 and null in choices:
        choices.remove(null)
        [choice] = choices
        if isinstance(choice.get("type"), str):
            enum = {"enum": [*choice["enum"], None]} if "enum" in choice else {}
            return choice | {"type": [choice["type"], "null"]} | enum
        choices.append(null)
    return {"anyOf": choices}
