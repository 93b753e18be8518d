"""Strict reading of TOML: tables become frozen dataclasses, whose fields are the allowed keys.

The type of a field is what its value has to be; `Annotated[..., Check]` limits it further, and so does the
`__post_init__` of a class, with `expect`.
"""

from __future__ import annotations

import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from wifimgrd.domain.checks import Check, Invalid, Key, either
from wifimgrd.domain.device import Passphrase

_T = TypeVar("_T")

_TYPE_NAMES: Final[Mapping[object, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "bytes",
    Path: "a path",
    Passphrase: "a text",
}
_LONGEST_SHOWN: Final = 40
"""An invalid value is quoted up to this many characters."""
_known_hints: Final[dict[type, Mapping[str, Any]]] = {}
"""Of the classes that were built: they are evaluated from texts, which takes longer than the rest."""


class TomlError(ValueError):
    """A file cannot be used; the text has the file, the key, what was expected, and the line."""


class TomlUnreadable(TomlError):
    """A file cannot be read, which may pass."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text in TOML, and the table that it is."""

    name: str
    """That of its file, for errors."""
    text: str
    table: Mapping[str, Any]

    @classmethod
    def parsed(cls, name: str, text: str) -> Document:
        """Raises TomlError."""
        try:
            return cls(name, text, tomllib.loads(text))
        except (ValueError, RecursionError) as error:
            raise TomlError(f"{name}: is not TOML: {error}") from None

    @classmethod
    def read(cls, file: Path) -> Document:
        """The document in a file; raises TomlError."""
        try:
            return cls.parsed(str(file), file.read_text(encoding="utf-8"))
        except OSError as error:
            raise TomlUnreadable(f"{file}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise TomlError(f"{file}: is not TOML: expected UTF-8") from None

    def build(self, table_class: type[_T]) -> _T:
        """The object that the function `build` makes of the document; raises TomlError."""
        with self.naming():
            return build(table_class, self.table)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Raise an Invalid as TomlError, with the document's name and the line."""
        try:
            yield
        except Invalid as invalid:
            line = _line(self.text, self.table, invalid.keys)
            raise TomlError(f"{self.name}: {invalid}" + (f" (at line {line})" if line else "")) from None


def build(table_class: type[_T], table: object) -> _T:
    """Build a dataclass from a parsed table; raises Invalid."""
    if not isinstance(table, Mapping):
        raise Invalid((), "expected a table")
    hints = _hints(table_class)
    known = {one.name: one for one in fields(typing.cast("Any", table_class))}
    for key in table:
        if key not in known:
            raise Invalid((key,), f"unknown key; expected one of {', '.join(sorted(known))}")
    for name, one in known.items():
        if name not in table and one.default is one.default_factory is MISSING:
            raise Invalid((), f"expected the key {name}")
    return table_class(**{key: _below(key, hints[key], value) for key, value in table.items()})


def _hints(table_class: type) -> Mapping[str, Any]:
    if table_class not in _known_hints:
        _known_hints[table_class] = typing.get_type_hints(table_class, include_extras=True)
    return _known_hints[table_class]


def _below(key: Key, hint: Any, value: object) -> Any:
    try:
        return _value(hint, value)
    except Invalid as invalid:
        raise Invalid((key, *invalid.keys), invalid.problem) from None


def _value(hint: Any, value: Any) -> Any:
    """Check a value against a field's type and convert it to that type."""
    if typing.get_origin(hint) is Annotated:
        checked = _value(hint.__origin__, value)
        for check in hint.__metadata__:
            if isinstance(check, Check) and not check.fits(checked):
                found = "" if isinstance(checked, Passphrase) else _found(value)
                raise Invalid((), f"expected {check.expected}{found}")
        return checked
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        if not isinstance(value, list):
            raise Invalid((), "expected a list")
        return tuple(_below(number, item, one) for number, one in enumerate(value))
    is_union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    choices = [one for one in typing.get_args(hint) if one is not types.NoneType] if is_union else [hint]
    if is_union and len(choices) == 1:
        return _value(choices[0], value)
    for choice in choices:
        if is_dataclass(choice):
            return build(typing.cast("type", choice), value)
        if choice is float and type(value) in (int, float):
            return float(value)
        if choice in (Path, Passphrase) and type(value) is str:
            return choice(value)
        if type(value) is choice:
            return value
        if _is_enum(choice) and value in list(choice):
            return choice(value)
    found = "" if Passphrase in choices else _found(value)
    raise Invalid((), f"expected {either(_described(choices))}{found}")


def _described(choices: typing.Iterable[Any]) -> Iterator[str]:
    for choice in choices:
        if choice in _TYPE_NAMES:
            yield _TYPE_NAMES[choice]
        elif _is_enum(choice):
            yield from (f'"{one}"' for one in choice)


def _is_enum(choice: object) -> bool:
    return isinstance(choice, type) and issubclass(choice, StrEnum)


def _found(value: object) -> str:
    match value:
        case bool():
            text = "true" if value else "false"
        case Mapping():
            text = "a table"
        case list():
            text = "a list"
        case _:
            text = repr(value)
    return f", not {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '...'}"


def _line(text: str, table: object, keys: Sequence[Key]) -> int | None:
    """The number of the line at which the statement begins that sets a value, or else the table around it.

    tomllib has no positions. But the first lines of a file are TOML, too, unless they end within a
    statement; the one that sets the value is the last of the fewest lines that have it.
    """
    while keys and not _has(table, keys):
        keys = keys[:-1]
    if not keys:
        return None
    lines = text.replace("\r\n", "\n").split("\n")
    without, with_it = 0, len(lines)
    while with_it - without > 1:
        middle = (without + with_it) // 2
        whole, first = _first_lines(lines, middle)
        if _has(first, keys):
            with_it = whole
        else:
            without = middle
    return _first_lines(lines, without)[0] + 1


def _first_lines(lines: Sequence[str], most: int) -> tuple[int, object]:
    """The most first lines that are TOML, and their table."""
    for count in range(most, 0, -1):
        try:
            return count, tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
    return 0, {}


def _has(table: object, keys: Sequence[Key]) -> bool:
    for key in keys:
        try:
            table = typing.cast("Any", table)[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def merge(into: dict[str, Any], table: Mapping[str, Any]) -> None:
    """Add a table to another one: its keys win, its arrays of tables are appended."""
    for key, value in table.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        elif _is_array_of_tables(value) and _is_array_of_tables(into.get(key)):
            into[key] = [*into[key], *value]
        else:
            into[key] = value


def _is_array_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
