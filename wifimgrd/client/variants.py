"""Plain Python values, of any type that a client may send, as D-Bus variants."""

from __future__ import annotations

from typing import Any

from wifimgrd.bus.connection import Variant


def variant_of(value: Any) -> Any:
    """Wrap a plain value, of any JSON type or bytes, for D-Bus; None becomes an empty array.

    A text that D-Bus cannot carry (NUL, lone surrogates) is passed as its octets.
    """
    match value:
        case bool():
            return Variant("b", value)
        case str():
            octets = value.encode("utf-8", "surrogatepass")
            carried = "\0" not in value and octets.decode("utf-8", "replace") == value
            return Variant("s", value) if carried else Variant("ay", octets)
        case bytes():
            return Variant("ay", value)
        case int():
            return Variant("x", value) if -(2**63) <= value < 2**63 else Variant("d", float("inf"))
        case float():
            return Variant("d", value)
        case list() | tuple():
            return Variant("av", [variant_of(item) for item in value])
        case dict():
            return Variant("a{sv}", {str(key): variant_of(item) for key, item in value.items()})
        case _:
            return Variant("av", [])
