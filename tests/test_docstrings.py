"""The English of docstrings and comments: the rules of CONTRIBUTING that a pattern can check."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent / "wifimgrd"
RULES: Final = {
    "only, not alone": re.compile(r"\balone\b"),
    "is not a, not is no": re.compile(r"(?<![Tt]here )\b(is|are) no\b(?! longer\b)"),
    "no longer, not any more": re.compile(r"\b(any more|anymore)\b"),
    "bytes, not octets": re.compile(r"\boctets?\b(?!.*802\.11)(?!.*OUI)", re.DOTALL),
    "a noun for the thing, not what": re.compile(r"\AWhat\b"),
}


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings, also those of attributes, and the comments, each with its line."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else []:
            match one:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield one.lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def test_docstrings_and_comments_follow_the_rules() -> None:
    wrong = [
        f"{rule}: {file.relative_to(ROOT.parent)}:{line}: {' '.join(text.split())[:100]}"
        for file in sorted(ROOT.rglob("*.py"))
        for line, text in texts(file.read_text(encoding="utf-8"))
        for rule, pattern in RULES.items()
        if pattern.search(text)
    ]
    assert not wrong, "\n".join(wrong)
