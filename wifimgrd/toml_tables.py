"""Strict reading of TOML: tables become frozen dataclasses, whose fields are the allowed keys.

Errors have the form `KEY: expected WHAT`; the caller prepends the name of the file.
"""

from __future__ import annotations

import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

_TYPE_NAMES: Final[Mapping[object, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
}


def parse(file: Path) -> dict[str, Any]:
    """Read a file; raises ValueError where it cannot be read or is no TOML."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no TOML: {error}") from None


def build(table_class: type[_T], table: object, where: str) -> _T:
    """Build a dataclass from a parsed table; raises ValueError with the key and what was expected.

    A class checks its values further in its `__post_init__`, with `expect`.
    """
    if not isinstance(table, dict):
        raise ValueError(f"{where}: expected a table")  # noqa: TRY004 - one type for all errors
    hints = typing.get_type_hints(table_class)
    known = {one.name for one in fields(typing.cast("Any", table_class))}
    for key in table:
        if key not in known:
            raise ValueError(
                f"{_joined(where, key)}: unknown key; expected one of {', '.join(sorted(known))}"
            )
    values = {key: _value(hints[key], value, _joined(where, key)) for key, value in table.items()}
    try:
        return table_class(**values)
    except TypeError:
        names = (one.name for one in fields(typing.cast("Any", table_class)))
        required = [name for name in names if name not in values]
        raise ValueError(f"{where}: expected the key {required[0]}") from None
    except ValueError as error:
        raise ValueError(_joined(where, str(error))) from None


def expect(fits: object, key: str, expected: str) -> None:
    """Raise ValueError for `key` unless its value fits."""
    if not fits:
        raise ValueError(f"{key}: expected {expected}")


def _value(hint: Any, value: Any, where: str) -> Any:
    """Check a value against a field's type and convert it to that type."""
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list")
        return tuple(_value(item, one, f"{where}[{number}]") for number, one in enumerate(value))
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for choice in choices:
        if is_dataclass(choice):
            return build(typing.cast("type", choice), value, where)
        if choice is float and type(value) in (int, float):
            return float(value)
        if choice is Path and type(value) is str:
            return Path(value)
        if type(value) is choice:
            return value
        if _is_enum(choice) and value in list(choice):
            return choice(value)
    raise ValueError(f"{where}: expected {' or '.join(_described(choices))}, not {value!r}")


def _described(choices: typing.Iterable[Any]) -> typing.Iterator[str]:
    for choice in choices:
        if choice in _TYPE_NAMES:
            yield _TYPE_NAMES[choice]
        elif _is_enum(choice):
            yield " or ".join(f'"{one}"' for one in choice)


def _is_enum(choice: object) -> bool:
    return isinstance(choice, type) and issubclass(choice, StrEnum)


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
