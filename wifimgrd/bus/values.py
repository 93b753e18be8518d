"""Values of declared types, from the arguments of messages that came over a bus.

The other side may send anything. A value is checked once, where it comes in, against the type that the code
expects: a class, `list[str]`, `dict[str, object]`, a tuple or a NamedTuple for the arguments of a
message, a TypedDict for the properties of an interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

from wifimgrd.bus import names
from wifimgrd.bus._messages import BusError

_T = TypeVar("_T")
_Check = Callable[[object], object]
"""Returns the value, or what is left of it; raises _OfAnotherType."""


_CHECKS: Final[dict[object, _Check]] = {}
"""By the type: each is made once."""


class _OfAnotherType(Exception):
    """A value is not of the declared type."""


def typed(shape: type[_T], value: object) -> _T:
    """The value, which is of the type `shape`; raises BusError if it is not.

    Of a TypedDict only the declared properties are left, without those of another type: a service that sends
    such ones is treated as one that does not have them.
    """
    check = _CHECKS.get(shape)
    if check is None:
        check = _CHECKS[shape] = _check_of(shape)
    try:
        return cast(_T, check(value))  # the check has just shown it
    except _OfAnotherType:
        raise BusError(names.INVALID_SIGNATURE, f"what came is not {_name(shape)}") from None


def _name(shape: object) -> str:
    return getattr(shape, "__name__", "") if isinstance(shape, type) else str(shape)


def _check_of(shape: object) -> _Check:
    origin, parts = get_origin(shape), get_args(shape)
    if shape is object:
        return _anything
    if is_typeddict(shape):
        return partial(_properties, _checks_of_fields(shape))
    if origin is list:
        return partial(_list, _check_of(parts[0]))
    if (origin, parts) == (dict, (str, object)):
        return _named_values
    if origin is dict:
        return partial(_dictionary, _check_of(parts[0]), _check_of(parts[1]))
    if origin is tuple:
        return partial(_arguments, None, [_check_of(part) for part in parts])
    assert isinstance(shape, type)  # noqa: S101 - for the type checker
    if issubclass(shape, tuple):
        return partial(_arguments, shape, list(_checks_of_fields(shape).values()))
    return partial(_instance, shape)


def _checks_of_fields(shape: object) -> dict[str, _Check]:
    return {name: _check_of(part) for name, part in get_type_hints(shape).items()}


def _anything(value: object) -> object:
    return value


def _instance(kind: type, value: object) -> object:
    if not isinstance(value, kind):
        raise _OfAnotherType
    return value


def _list(check: _Check, value: object) -> list[object]:
    if not isinstance(value, list):
        raise _OfAnotherType
    return [check(item) for item in value]


def _named_values(value: object) -> object:
    """Check an `a{sv}`, which is common, and is not copied."""
    if not isinstance(value, dict) or not {str}.issuperset(map(type, value)):  # the fastest way
        raise _OfAnotherType
    return value


def _dictionary(check_key: _Check, check: _Check, value: object) -> dict[object, object]:
    if not isinstance(value, dict):
        raise _OfAnotherType
    return {check_key(key): check(item) for key, item in value.items()}


def _arguments(named: Callable[..., object] | None, checks: list[_Check], value: object) -> object:
    """The arguments of a message, or a struct; `named` is their NamedTuple."""
    if not isinstance(value, list) or len(value) != len(checks):
        raise _OfAnotherType
    values = [check(item) for check, item in zip(checks, value, strict=True)]
    return tuple(values) if named is None else named(*values)


def _properties(checks: Mapping[str, _Check], value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _OfAnotherType
    found: dict[str, object] = {}
    for name, item in value.items():
        if (check := checks.get(name)) is not None:
            try:
                found[name] = check(item)
            except _OfAnotherType:
                continue
    return found
