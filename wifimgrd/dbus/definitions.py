"""What the introspection XML defines, read for serving and written for whoever asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from wifimgrd.dbus.bus import introspection


@dataclass(frozen=True, slots=True)
class Signatures:
    """What a method takes and what it answers."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class InterfaceDefinition:
    """One D-Bus interface, as its introspection XML defines it."""

    name: str
    methods: Mapping[str, Signatures]
    signals: Mapping[str, str]
    properties: Mapping[str, str]
    parsed: Any
    """The library's own form of it."""


def parse_interface(xml: str) -> InterfaceDefinition:
    """Read the one interface in an introspection document; its comments are dropped."""
    [parsed] = introspection.Node.parse(xml).interfaces
    return InterfaceDefinition(
        parsed.name,
        {method.name: Signatures(method.in_signature, method.out_signature) for method in parsed.methods},
        {signal.name: signal.signature for signal in parsed.signals},
        {prop.name: prop.signature for prop in parsed.properties},
        parsed,
    )


def describe_object(
    definition: InterfaceDefinition | None, *, is_object_manager: bool, children: Sequence[str]
) -> str:
    """The introspection XML of an object, of its standard interfaces and its children."""
    node = introspection.Node.default()
    if not is_object_manager:
        node.interfaces = [face for face in node.interfaces if not face.name.endswith("ObjectManager")]
    if definition is None:
        node.interfaces = [face for face in node.interfaces if not face.name.endswith("Properties")]
    else:
        node.interfaces.append(definition.parsed)
    node.nodes = [introspection.Node(child) for child in children]
    return str(node.tostring())


@cache
def definition(interface: str) -> InterfaceDefinition:
    """The definition of one of our interfaces, from its shipped file."""
    shipped = resources.files("wifimgrd.dbus").joinpath("introspection", f"{interface}.xml")
    return parse_interface(shipped.read_text(encoding="utf-8"))
