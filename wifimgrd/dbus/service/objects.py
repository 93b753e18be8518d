"""What every exported object is: a path, one interface of ours, property values, methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from wifimgrd.dbus.bus import MethodCall
from wifimgrd.dbus.definitions import definition

Method = Callable[[MethodCall], Awaitable[Sequence[Any]]]
"""Does what a call asks for and returns the reply's arguments; raises WifimgrdError."""


class ExportedObject:
    """An object on the bus. Its values are kept ready, so that reading them never fails."""

    def __init__(self, path: str, interface: str, values: Mapping[str, Any]) -> None:
        self.path = path
        self.definition = definition(interface)
        self.values: dict[str, Any] = dict(values)
        self.methods: Mapping[str, Method] = {}
        self.actions: Mapping[str, str] = {}
        """The polkit action that a method needs; those that need none are open to all."""

    def change(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Take new values in and return those that differ from before."""
        changed = {name: value for name, value in values.items() if self.values.get(name) != value}
        self.values.update(changed)
        return changed
