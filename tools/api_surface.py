#!/usr/bin/env python3
"""api_surface.py [--release]: what the API promises (docs/api-stability.md), a line for each promise.

It is read from what is shipped: the introspection XML, the polkit policy, OpenAPI, the AsyncAPI of the
channel and of MQTT. A line that a release had may not go, but one that begins with `needs`, which a client
has to send, may not come. --release writes the lines of this version to tests/released, with which
tests/test_api_stability.py compares.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

CHECKOUT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from tools.descriptions.open_values import REFERENCE, target  # noqa: E402
from wifimgrd import __version__  # noqa: E402

RELEASED: Final = CHECKOUT / "tests" / "released"
_UNPROMISED: Final = "org.wifimgrd1.Simulator"
_NEEDS: Final = "needs "
_PROBLEM: Final = "application/problem+json"
_TYPE_OF: Final[Mapping[type, str]] = {bool: "boolean", str: "string", int: "integer", type(None): "null"}
_CONST: Final = "org.freedesktop.DBus.Property.EmitsChangedSignal"

JsonObject = Mapping[str, Any]


def surface() -> list[str]:
    """The promises of this checkout, in order."""
    package = CHECKOUT / "wifimgrd"
    lines = {
        *_of_bus(package / "wire" / "introspection"),
        *_of_actions(CHECKOUT / "dbus-policy" / "org.wifimgrd1.policy"),
        *_of_http(_json(package / "http" / "description" / "openapi-with-token.json")),
        *_of_messages("channel", _json(package / "http" / "description" / "asyncapi.json")),
        *_of_messages("mqtt", _json(package / "mqtt" / "asyncapi.json")),
    }
    return sorted(lines)


def breaks(released: Iterable[str], now: Iterable[str]) -> list[str]:
    """The lines that break a promise: those of the release that are gone, and new needs of what it had."""
    before, after = set(released), set(now)
    gone = {line for line in before - after if not line.startswith(_NEEDS)}
    needed = {line for line in after - before if line.startswith(_NEEDS)}
    known = {_subject(line) for line in before}
    return sorted(gone | {line for line in needed if _subject(line) in known})


def _subject(line: str) -> str:
    """What a promise is about, such as `http GET /healthz`; of others the whole line."""
    words = line.removeprefix(_NEEDS).split(" ")
    return " ".join(words[:3]) if words[0] == "http" else line


def _json(file: Path) -> JsonObject:
    read: JsonObject = json.loads(file.read_text(encoding="utf-8"))
    return read


# -- D-Bus


def _of_bus(introspection: Path) -> Iterator[str]:
    for file in sorted(introspection.glob("org.wifimgrd1.*.xml")):
        if file.stem == _UNPROMISED:
            continue
        xml = file.read_text(encoding="utf-8")
        [face] = ElementTree.fromstring(xml).findall("interface")  # noqa: S314 - our own file
        for member in face:
            at = f"dbus {file.stem} {member.tag} {member.get('name')}"
            if member.tag == "property":
                constant = [one for one in member if one.get("name") == _CONST]
                yield f"{at} {member.get('type')} {member.get('access')}{' const' * bool(constant)}"
                continue
            arguments = [(one.get("direction", "out"), one.get("type", "")) for one in member.findall("arg")]
            question = "".join(kind for direction, kind in arguments if direction == "in")
            answer = "".join(kind for direction, kind in arguments if direction == "out")
            yield f"{at} ({question}) -> ({answer})"


def _of_actions(policy: Path) -> Iterator[str]:
    for action in ElementTree.fromstring(policy.read_text(encoding="utf-8")).findall("action"):  # noqa: S314
        yield f"polkit {action.get('id')}"


# -- HTTP


def _of_http(document: JsonObject) -> Iterator[str]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if "operationId" not in operation:
                continue
            at = f"http {method.upper()} {path}"
            yield at
            for parameter in operation.get("parameters", ()):
                one = _resolved(parameter, document)
                place = f"{at} {one['in']} {one['name']}"
                yield place
                if one.get("required") and one["in"] != "path":
                    yield f"{_NEEDS}{place}"
            body = _resolved(operation.get("requestBody", {}), document)
            for kind, content in body.get("content", {}).items():
                yield from _of_input(f"{at} takes {kind}", content.get("schema", {}), document)
            for status, answer in operation["responses"].items():
                yield f"{at} answers {status}"
                for kind, content in _resolved(answer, document).get("content", {}).items():
                    # A problem is the same everywhere.
                    shape = f"http {kind}" if kind == _PROBLEM else f"{at} {status} {kind}"
                    yield from _members(shape, content.get("schema", {}), document)


def _of_input(at: str, schema: JsonObject, document: JsonObject) -> Iterator[str]:
    whole = _resolved(schema, document)
    yield at
    for name, inner in whole.get("properties", {}).items():
        yield from _of_input(f"{at} {name}", inner, document)
        if name in whole.get("required", ()):
            yield f"{_NEEDS}{at} {name}"


# -- the channel and MQTT


def _of_messages(name: str, document: JsonObject) -> Iterator[str]:
    for key, channel in document["channels"].items():
        at = f"{name} {channel.get('address') or key}"
        yield at
        for message in channel.get("messages", {}).values():
            one = _resolved(message, document)
            yield f"{at} {one['name']}"
            yield from _members(f"{at} {one['name']}", one.get("payload", {}), document)


# -- JSON Schema


def _members(at: str, schema: JsonObject, document: JsonObject, seen: tuple[int, ...] = ()) -> Iterator[str]:
    """A line for each member of a value, with its types; the values of enumerations are not promises."""
    whole = _resolved(schema, document)
    if id(whole) in seen:
        return
    seen = (*seen, id(whole))
    yield f"{at}: {_types(whole, document)}"
    for part in (*whole.get("anyOf", ()), *whole.get("oneOf", ()), *whole.get("allOf", ())):
        inner = _resolved(part, document)
        if "properties" in inner or "items" in inner:
            yield from _members(at, inner, document, seen)
    for name, member in whole.get("properties", {}).items():
        always = "" if name in whole.get("required", ()) else "?"
        yield from _members(f"{at} {name}{always}", member, document, seen)
    if isinstance(whole.get("items"), Mapping):
        yield from _members(f"{at} []", whole["items"], document, seen)
    if isinstance(whole.get("additionalProperties"), Mapping) and whole["additionalProperties"]:
        yield from _members(f"{at} *", whole["additionalProperties"], document, seen)


def _types(schema: JsonObject, document: JsonObject) -> str:
    if "const" in schema:
        return _TYPE_OF[type(schema["const"])]
    parts = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    if parts:
        return "|".join(sorted({_types(_resolved(one, document), document) for one in parts}))
    kind = schema.get("type", "any")
    return "|".join(sorted(kind)) if isinstance(kind, list) else str(kind)


def _resolved(schema: JsonObject, document: JsonObject) -> JsonObject:
    while REFERENCE in schema:
        schema = target(schema[REFERENCE], document)
    return schema


def main() -> None:
    lines = surface()
    if "--release" not in sys.argv[1:]:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    RELEASED.mkdir(exist_ok=True)
    (RELEASED / f"{__version__}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
