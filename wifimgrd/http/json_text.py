"""JSON as it is sent: one line, letters unescaped, always valid UTF-8."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web


def dumps(value: Any) -> str:
    """Write a value as JSON text that can be encoded; a lone surrogate becomes `?`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def json_response(
    value: Any,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """An answer with a JSON body."""
    return web.Response(body=dumps(value).encode(), status=status, content_type=content_type, headers=headers)
