#!/usr/bin/env python3
"""generate_dbus_reference.py: write docs/dbus-api.md from the introspection XML in wifimgrd/wire.

tests/test_descriptions.py proves that it is current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from tools.introspection_comments import Comment, Member, interface_of  # noqa: E402
from wifimgrd.daemon.api import _device_object as device_object  # noqa: E402
from wifimgrd.daemon.api import _manager_object as manager_object  # noqa: E402
from wifimgrd.domain.commands import BLUETOOTH, CAMERA, POWER  # noqa: E402
from wifimgrd.domain.errors import CLASSES  # noqa: E402
from wifimgrd.wire.errors import NAME_OF  # noqa: E402

REFERENCE: Final = CHECKOUT / "docs" / "dbus-api.md"
_INTROSPECTION: Final = CHECKOUT / "wifimgrd" / "wire" / "introspection"
_ACTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Manager": manager_object.ACTIONS,
    "Device": device_object.ACTIONS,
    POWER: device_object.actions_of(POWER),
    BLUETOOTH: device_object.actions_of(BLUETOOTH),
    CAMERA: device_object.actions_of(CAMERA),
    "Interface": {},
    "Simulator": {},
}
_HEAD: Final = """\
<!-- Made by tools/generate_dbus_reference.py from wifimgrd/wire/introspection. -->

# The D-Bus API

The service is `org.wifimgrd1` on the system bus; with `make run`, it is on a bus of its own. `busctl tree
org.wifimgrd1` lists the objects. Reading is open to all; a method with an action is [authorized by
polkit](service.md#who-may-do-what). [API stability](api-stability.md) has what never changes. The same text
is in the manual page org.wifimgrd1(5).
"""
_LISTED: Final = re.compile(r"(\w+|`\w+` \([^)]*\)):")


def reference() -> str:
    """The text of the document."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    for name, actions in _ACTIONS.items():
        about, members = interface_of(_INTROSPECTION / f"org.wifimgrd1.{name}.xml")
        yield f"## org.wifimgrd1.{name}\n"
        yield from _described(about)
        for tag, title in (("method", "Methods"), ("signal", "Signals"), ("property", "Properties")):
            listed = [one for one in members if one.element.tag == tag]
            if listed:
                yield f"### {title} of {name}\n"
            for one in listed:
                yield from _member(one, actions.get(str(one.element.get("name"))))
    yield "## Errors\n"
    yield "| name | code |\n|---|---|"
    for code in CLASSES:
        yield f"| `{NAME_OF[code]}` | `{code}` |"


def _member(one: Member, action: str | None) -> Iterator[str]:
    yield f"**`{one.signature.removeprefix('signal ')}`**"
    if action is not None:
        yield f"(`{action}`)"
    if any(part.get("value") == "const" for part in one.element.findall("annotation")):
        yield "(never changes)"
    yield ""
    yield from _described(one.comment)


def _described(comment: Comment) -> Iterator[str]:
    since = dict(comment.arguments).get("since")
    arguments = [f"- `{name}`: {text}" for name, text in comment.arguments if name != "since"]
    is_list, is_over = False, True
    for line in comment.lines:
        # What is said of an argument or an entry is an item of a list; it begins after the sentence before.
        is_item = is_over and _LISTED.match(line) is not None
        if is_item and not is_list:
            is_list = True
            yield from arguments
        yield f"- {line}" if is_item else line
        is_over = not line or line.endswith((".", ":"))
    if arguments and not is_list:
        yield from ("", *arguments)
    if since is not None:
        yield f"\nSince version {since}."
    yield ""


def main() -> None:
    REFERENCE.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
