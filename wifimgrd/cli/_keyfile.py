"""Key files as GLib reads them (GKeyFile): groups of keys, each on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_BLANKS: Final = " \t\f\r"
_GROUP: Final = re.compile(r"\[([^\[\]\x00-\x1f\x7f]+)\][ \t]*")
_PAIR: Final = re.compile(rf"([^=\[\]]*[^=\[\]{_BLANKS}])(\[[\w.@-]+\])?[{_BLANKS}]*=[{_BLANKS}]*(.*)")
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_ESCAPES: Final = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}

Groups = Mapping[str, Mapping[str, str]]
"""Group -> key -> value, as it stands in the file."""


class NotKeyFile(ValueError):
    """A text is not a key file; the sentence has the number of the line, and nothing of its content."""


def read_keyfile(text: str) -> Groups:
    """The groups of a key file; raises NotKeyFile.

    A line ends at LF, and blanks at its end belong to the value. Of two groups or keys with the same name the
    later one adds to the first, or replaces it. Translations of values are left out.
    """
    if "\0" in text:
        raise NotKeyFile("it has NUL characters")
    groups: dict[str, dict[str, str]] = {}
    group: dict[str, str] | None = None
    for number, whole in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        line = whole.lstrip(_BLANKS)
        if not line or line.startswith("#"):
            continue
        if found := _GROUP.fullmatch(line):
            group = groups.setdefault(found[1], {})
        elif group is not None and (found := _PAIR.fullmatch(line)):
            if found[2] is None:
                group[found[1]] = found[3]
        else:
            raise NotKeyFile(f"line {number} is neither a group nor a key with a value")
    return groups


def unescaped(value: str) -> str:
    """A string without its escapes; one that GLib does not know stays as it is."""
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0] if found[1] else ""), value)


def is_well_escaped(value: str) -> bool:
    """Whether GLib knows each escape of a string; otherwise it says that there is an error, too."""
    return all(found[1] in _ESCAPES for found in _ESCAPE.finditer(value))
