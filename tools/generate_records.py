#!/usr/bin/env python3
"""generate_records.py [--page]: write what is derived from the records' fields (wifimgrd/domain/records.py).

- frontend/src/records.ts, the page's types, which the build makes and git does not hold;
- the properties, and the entries of rows, in wifimgrd/wire/introspection, unless --page.

--page needs only Python's standard library. tests/wire/test_records.py proves that the XML is current.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from tools.descriptions.json_schema import REFERENCE, Schemas  # noqa: E402
from wifimgrd.client.channel_messages import DATA  # noqa: E402
from wifimgrd.client.json_members import BluetoothDeviceJson, SearchJson  # noqa: E402
from wifimgrd.domain.commands import BLUETOOTH, CAMERA, CONNECT, POWER  # noqa: E402
from wifimgrd.domain.errors import ErrorCode  # noqa: E402
from wifimgrd.domain.records import (  # noqa: E402
    BluetoothRecord,
    DeviceRecord,
    FindingRecord,
    HistoryRecord,
    InterfaceRecord,
    NetworkRecord,
    OutcomeRecord,
    ResultRecord,
    ServiceRecord,
    TakeRecord,
)
from wifimgrd.mqtt._hub_record import HubRecordJson  # noqa: E402
from wifimgrd.wire.names import ERROR_PREFIX  # noqa: E402

INTROSPECTION: Final = CHECKOUT / "wifimgrd" / "wire" / "introspection"
TYPES: Final = CHECKOUT / "frontend" / "src" / "records.ts"
RECORDS: Final = {
    "Device": DeviceRecord,
    POWER: DeviceRecord,
    BLUETOOTH: DeviceRecord,
    CAMERA: DeviceRecord,
    "Interface": InterfaceRecord,
    "Manager": ServiceRecord,
}
ROWS: Final = {
    "networks": NetworkRecord,
    "rows": HistoryRecord,
    "devices": BluetoothRecord,
    "results": ResultRecord,
    "outcomes": OutcomeRecord,
    "takes": TakeRecord,
    "findings": FindingRecord,
}
"""The arguments of methods that are rows, by name."""
_ROWS: Final = re.compile(rf"(?<=      )({'|'.join(ROWS)})(: .*)\n(?:        .*\n)+")
_FIRST_PROPERTY: Final = re.compile(r"    <!--(?:(?!-->)[\s\S])*-->\s*<property ")
_NAMES: Final = {"integer": "number"}
_ATTEMPT_ERRORS: Final = re.compile(r"(?<=with `wait` also )[^.]*(?=\.)")
_REFUSALS: Final = frozenset(
    {
        ErrorCode.NO_INTERFACE_AVAILABLE,
        ErrorCode.BUSY,
        ErrorCode.BACKEND_UNAVAILABLE,
        ErrorCode.INTERNAL,
    }
)
"""With these Connect answers at once."""
_END: Final = "  </interface>\n</node>\n"


def introspection(name: str) -> str:
    """The introspection XML of a D-Bus interface with its record's properties; needs the D-Bus library."""
    from wifimgrd.wire.properties import property_xml, row_xml  # noqa: PLC0415

    text = (INTROSPECTION / f"org.wifimgrd1.{name}.xml").read_text(encoding="utf-8")
    first = _FIRST_PROPERTY.search(text)
    head = text[: first.start()] if first else text.removesuffix(_END)
    head = _ROWS.sub(lambda found: f"{found[1]}{found[2]}\n{row_xml(ROWS[found[1]])}\n", head)
    if name == "Device":
        head = _ATTEMPT_ERRORS.sub(_attempt_errors(), head)
    own = name if name in (POWER, BLUETOOTH, CAMERA) else ""
    return head + property_xml(RECORDS[name], own) + _END


def _attempt_errors() -> str:
    """The names of the errors by which Connect fails with `wait` only."""
    from wifimgrd.wire.errors import NAME_OF  # noqa: PLC0415

    names = (NAME_OF[code].removeprefix(ERROR_PREFIX) for code in CONNECT.errors if code not in _REFUSALS)
    text = ", ".join(names)
    return textwrap.fill(text, 96, subsequent_indent=" " * 8)


def typescript() -> str:
    """The types of the JSON objects that the page uses, from their JSON Schemas."""
    schemas = Schemas()
    for kind in (*DATA.values(), SearchJson, BluetoothDeviceJson, HubRecordJson):
        schemas.of(kind)
    lines = ["// Made by tools/generate_records.py from the fields in wifimgrd/domain/records.py.\n"]
    for name, schema in sorted(schemas.named.items()):
        lines.append(f"\n/** {schema['description']} */\nexport interface {name} {{\n")
        for member, of in schema["properties"].items():
            if "description" in of:
                lines.append(f"  /** {of['description']} */\n")
            optional = "" if member in schema.get("required", ()) else "?"
            lines.append(f"  {member}{optional}: {type_of(of)};\n")
        lines.append("}\n")
    return "".join(lines)


def type_of(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as a type; raises KeyError for a schema that no record has."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REFERENCE)
    if "anyOf" in schema:
        return " | ".join(type_of(one) for one in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        values = schema.get("enum") or [schema["const"]]
        return " | ".join("null" if one is None else f'"{one}"' for one in values)
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(_plain_type(kind, schema) for kind in kinds)


def _plain_type(kind: str, schema: Mapping[str, Any]) -> str:
    match kind:
        case "array":
            items = type_of(schema["items"])
            return f"({items})[]" if "|" in items else f"{items}[]"
        case "object" if "properties" in schema:
            members = "; ".join(f"{name}?: {type_of(one)}" for name, one in schema["properties"].items())
            return f"{{ {members} }}"
        case "object":
            return f"Record<string, {type_of(schema['additionalProperties'])}>"
    return _NAMES.get(kind, kind)


def main() -> None:
    _update(TYPES, typescript())
    if "--page" not in sys.argv[1:]:
        for name in RECORDS:
            _update(INTROSPECTION / f"org.wifimgrd1.{name}.xml", introspection(name))


def _update(path: Path, text: str) -> None:
    """Write a file, but for one that is current, which may lie where nothing can be written."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
