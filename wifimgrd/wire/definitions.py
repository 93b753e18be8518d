"""The interfaces that the introspection XML defines, and the answer to Introspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from wifimgrd.bus.library import introspection

_SHIPPED: Final = Path(__file__).parent / "introspection"
_DOCTYPE: Final = (
    '<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"\n'
    ' "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">\n'
)


@dataclass(frozen=True, slots=True)
class Signatures:
    """The signatures of a method's arguments and of its reply."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class InterfaceDefinition:
    """One D-Bus interface, as its introspection XML defines it."""

    name: str
    methods: Mapping[str, Signatures]
    signals: Mapping[str, str]
    properties: Mapping[str, str]
    element: ElementTree.Element
    """The XML element itself, without comments."""


def parse_interface(xml: str) -> InterfaceDefinition:
    """Parse the one interface in an introspection document."""
    [parsed] = introspection.Node.parse(xml).interfaces
    return InterfaceDefinition(
        parsed.name,
        {method.name: Signatures(method.in_signature, method.out_signature) for method in parsed.methods},
        {signal.name: signal.signature for signal in parsed.signals},
        {prop.name: prop.signature for prop in parsed.properties},
        ElementTree.fromstring(xml)[0],  # noqa: S314 - our own file
    )


def describe_object(
    interfaces: Sequence[ElementTree.Element],
    *,
    is_object_manager: bool = False,
    has_properties: bool = False,
    children: Sequence[str] = (),
) -> str:
    """The introspection XML of an object's interfaces, of the standard ones, and of its children."""
    node = ElementTree.Element("node")
    standard: str = introspection.Node.default().tostring()
    for face in ElementTree.fromstring(standard).findall("interface"):  # noqa: S314 - the library's own
        match str(face.get("name")).rpartition(".")[2]:
            case "ObjectManager" if not is_object_manager:
                continue
            case "Properties" if not has_properties:
                continue
        node.append(face)
    node.extend(interfaces)
    for child in children:
        ElementTree.SubElement(node, "node", name=child)
    return _DOCTYPE + ElementTree.tostring(node, encoding="unicode")


@cache
def definition(interface: str) -> InterfaceDefinition:
    """The definition of one of the project's interfaces, from its shipped file."""
    shipped = _SHIPPED / f"{interface}.xml"
    return parse_interface(shipped.read_text(encoding="utf-8"))
