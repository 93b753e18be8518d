"""Enumerations in what the hub sends stay open: a later version may send a value that a client does not know.

A client that was generated from the description would refuse it. What clients send keeps its `enum`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

REFERENCE: Final = "$ref"
KNOWN_VALUES: Final = "x-extensible-enum"
"""The keyword with the values of today: https://opensource.zalando.com/restful-api-guidelines/#112"""
OPEN: Final = f"Later versions may send further values of a member with `{KNOWN_VALUES}`."
"""For the description of a document."""


def open_values(document: dict[str, Any], sent: Iterable[object], received: Iterable[object]) -> None:
    """Open the enumerations that are reached from the parts that the hub sends, but not those that are also
    reached from the parts that it receives."""
    closed = {id(one) for part in received for one in _schemas(part, document, set())}
    for part in sent:
        for schema in _schemas(part, document, set()):
            if isinstance(schema.get("enum"), list) and id(schema) not in closed:
                schema[KNOWN_VALUES] = [one for one in schema.pop("enum") if one is not None]


def _schemas(part: object, document: dict[str, Any], seen: set[int]) -> Iterator[dict[str, Any]]:
    """Every dictionary below a part, through references; each once."""
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, list):
        for one in part:
            yield from _schemas(one, document, seen)
    if not isinstance(part, dict):
        return
    yield part
    for key, one in part.items():
        if key == REFERENCE:
            yield from _schemas(target(str(one), document), document, seen)
        elif key not in ("example", "examples"):
            yield from _schemas(one, document, seen)


def target(reference: str, document: Mapping[str, Any]) -> Any:
    """What a reference within a document refers to (RFC 6901)."""
    place: Any = document
    for key in reference.removeprefix("#/").split("/"):
        place = place[key.replace("~1", "/").replace("~0", "~")]
    return place
