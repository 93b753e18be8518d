"""How a file is sent: compressed, or not at all where the client has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import ETag, web

from wifimgrd.http.page.files import File

KNOWN: Final = {304: "The client has it."}
"""A further answer, for the description of the API."""


def sent(request: web.Request, file: File, headers: Mapping[str, str]) -> web.Response:
    """The answer with a file and these headers: compressed where the client takes that, and without the file
    where it has it."""
    data, tag = file.data, file.tag
    answer = dict(headers)
    if file.compressed is not None:
        answer["Vary"] = "Accept-Encoding"
        if accepts_gzip(request.headers.get("Accept-Encoding", "")):
            data, tag = file.compressed, tag + "-gzip"
            answer["Content-Encoding"] = "gzip"
    answer["ETag"] = f'"{tag}"'
    if _is_known(request.if_none_match, tag):
        answer.pop("Content-Encoding", None)
        return web.Response(status=304, headers=answer)
    return web.Response(body=data, headers={**answer, "Content-Type": file.content_type})


def accepts_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding takes gzip (RFC 9110, 12.5.3)."""
    weights: dict[str, str] = {}
    for part in accepted.lower().split(","):
        coding, _, parameters = part.partition(";")
        weights[coding.strip()] = parameters.replace(" ", "").removeprefix("q=")
    weight = weights.get("gzip", weights.get("*"))
    return weight is not None and (weight == "" or weight.strip("0.") != "")


def _is_known(tags: tuple[ETag, ...] | None, tag: str) -> bool:
    return tags is not None and any(one.value in (tag, "*") for one in tags)
