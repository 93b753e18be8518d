"""The colours and sizes of the hub's page, for the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_VARIABLE: Final = re.compile(r"^  --[\w-]+: [^;]+;$", re.MULTILINE)
_LIGHT, _DARK = ":root", ':root[data-theme="dark"]'


def colours(style: Path) -> str:
    """The variables of the page's style sheet, of which the site follows the system instead of a choice."""
    sheet = style.read_text(encoding="utf-8")
    light, dark = (_variables(sheet, selector) for selector in (_LIGHT, _DARK))
    return f":root {{\n{light}\n}}\n@media (prefers-color-scheme: dark) {{\n:root {{\n{dark}\n}}\n}}\n"


def _variables(sheet: str, selector: str) -> str:
    [block] = re.findall(rf"^{re.escape(selector)} {{\n(.*?)^}}", sheet, re.MULTILINE | re.DOTALL)
    return "\n".join(_VARIABLE.findall(block))
