"""A device's entry: each of its values is written by one module."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

import wifimgrd.daemon.manager as manager
from wifimgrd.daemon.manager._entry import DeviceEntry, Sleep, Work

FOLDER = Path(manager.__path__[0])
ENTRY = "_entry.py"
VALUES = {one.name for kind in (DeviceEntry, Sleep, Work) for one in fields(kind)}


def is_of_an_entry(target: ast.expr, module: Path) -> bool:
    """Whether it is `entry.name` or `entry.work.name`; in the entry's own module `self.name`."""
    while isinstance(target, ast.Attribute):
        target = target.value
    return isinstance(target, ast.Name) and target.id == ("self" if module.name == ENTRY else "entry")


def written(module: Path) -> set[str]:
    """The values of entries that a module assigns, once they are made."""
    tree = ast.parse(module.read_text())
    made = [node for node in ast.walk(tree) if getattr(node, "name", "") == "__post_init__"]
    first = {id(node) for method in made for node in ast.walk(method)}
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if id(node) not in first and is_of_an_entry(node, module)
    }


def test_each_value_is_written_by_one_module() -> None:
    writers = defaultdict(set)
    for module in FOLDER.glob("*.py"):
        for value in written(module) & VALUES:
            writers[value].add(module.name)
    shared = {value: modules for value, modules in writers.items() if len(modules) > 1}
    assert not shared
