"""The calls of the processes that only the daemon calls: one row for each method and each signal.

The service, its client and the introspection follow from the row. The text beside the row says what the call
does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A method or a signal: D-Bus types of its arguments, and of the values of a reply, by their names."""

    name: str
    arguments: Mapping[str, str]
    reply: Mapping[str, str] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """Of the arguments."""
        return "".join(self.arguments.values())

    @property
    def reply_signature(self) -> str:
        """Of the reply."""
        return "".join(self.reply.values())

    def returning(self, **values: str) -> Member:
        """The same method, with a reply."""
        return replace(self, reply=values)


def member(name: str, /, **arguments: str) -> Member:
    """A method without a reply, or a signal."""
    return Member(name, arguments)


class PrivateInterface:
    """The one interface of the one object of such a process."""

    def __init__(
        self, bus_name: str, path: str, methods: Sequence[Member], signals: Sequence[Member]
    ) -> None:
        self.name = bus_name
        """Of the interface, and of the process on the bus."""
        self.path = path
        self.methods = {method.name: method for method in methods}
        self._signals = signals

    def element(self) -> ElementTree.Element:
        """As introspection has it."""
        face = ElementTree.Element("interface", name=self.name)
        for method in self.methods.values():
            listed = ElementTree.SubElement(face, "method", name=method.name)
            for direction, values in (("in", method.arguments), ("out", method.reply)):
                for name, signature in values.items():
                    ElementTree.SubElement(listed, "arg", name=name, type=signature, direction=direction)
        for signal in self._signals:
            listed = ElementTree.SubElement(face, "signal", name=signal.name)
            for name, signature in signal.arguments.items():
                ElementTree.SubElement(listed, "arg", name=name, type=signature)
        return face
