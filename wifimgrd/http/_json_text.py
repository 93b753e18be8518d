"""Answers with a JSON body."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from wifimgrd.client.json_text import dumps


def json_response(
    value: object,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """An answer with a JSON body."""
    return web.Response(body=dumps(value).encode(), status=status, content_type=content_type, headers=headers)
