"""The base of what is exported: one interface of an object, with its path, property values and methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from wifimgrd.bus.connection import MethodCall, Variant
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.wire.definitions import definition

Method = Callable[[MethodCall], Awaitable[Sequence[object]]]
"""Carries out a call and returns the reply's arguments; raises WifimgrdError."""


class ExportedInterface:
    """One interface of an object on the bus. Its values are stored, so that reading them never fails."""

    def __init__(self, path: str, interface: str, values: Mapping[str, object]) -> None:
        self.path = path
        self.definition = definition(interface)
        self.values: dict[str, object] = dict(values)
        self.methods: Mapping[str, Method] = {}
        self.actions: Mapping[str, str] = {}
        """The polkit action that a method needs; methods without one are open to every caller."""

    def change(self, values: Mapping[str, object]) -> list[str]:
        """Store new values and return the names of those that differ from before."""
        changed = [name for name, value in values.items() if self.values.get(name) != value]
        self.values.update(values)
        return changed

    def variant(self, name: str) -> Variant:
        """One value, for an outgoing message."""
        return Variant(self.definition.properties[name], self.values[name])

    def variants(self, names: Iterable[str] | None = None) -> dict[str, Variant]:
        """The values of these names, or all, for an outgoing message."""
        return {name: self.variant(name) for name in (self.values if names is None else names)}


def text_option(options: Mapping[str, object], name: str) -> str | None:
    """An option that is a text, or None without it; raises InvalidRequest."""
    value = options.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(f"the option {name} is a text", {name: ("Not a valid string.",)})
    return value


def all_of(interfaces: Mapping[str, ExportedInterface]) -> dict[str, dict[str, Variant]]:
    """The interfaces of an object with all values, as an object manager sends them."""
    return {name: one.variants() for name, one in interfaces.items()}


def switch(options: Mapping[str, object], name: str, *, default: bool) -> bool:
    """An option that is true or false; raises InvalidRequest."""
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise InvalidRequest(f"the option {name} is a boolean", {name: ("Not a boolean.",)})
    return value
