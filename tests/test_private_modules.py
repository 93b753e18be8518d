"""A module that is imported only within its own package begins with an underscore, and no other does."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "wifimgrd").rglob("*.py"))
}


def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    found = defaultdict(set)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            for name in names:
                if name in MODULES and name != module:
                    found[name].add(module)
    return found


def test_modules_that_are_nobody_elses_business_begin_with_an_underscore() -> None:
    wrong = []
    for module, users in importers().items():
        package, _, name = module.rpartition(".")
        if package == "wifimgrd" or name.startswith("__") or MODULES[module].name == "__init__.py":
            continue
        is_private = all(user == package or user.startswith(f"{package}.") for user in users)
        if is_private != name.startswith("_"):
            wrong.append(module)
    assert not wrong
