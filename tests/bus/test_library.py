"""The one module that uses the D-Bus library."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from wifimgrd.bus import library


def private_names(tree: ast.AST) -> Iterator[str]:
    """Those of other objects than `self`, as attributes and as texts for getattr."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Attribute) and ast.unparse(one.value) != "self":
            yield from re.findall("^_[^_].*", one.attr)
        elif isinstance(one, ast.Constant):
            yield from re.findall(r"^_[a-z]\w*$", str(one.value))


def test_each_private_name_of_the_library_is_listed_with_its_reason() -> None:
    listed = re.findall(r"(?<=[.`])_\w+", inspect.getdoc(library) or "")
    assert {*private_names(ast.parse(inspect.getsource(library))), "_private"} == set(listed)
