"""OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1.html) of the routes that are served."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tools.descriptions.examples import Example, example_address, example_of, value_of
from tools.descriptions.json_schema import REFERENCE, Schemas
from tools.descriptions.open_values import OPEN, open_values
from wifimgrd import __version__
from wifimgrd.client.hub import HubClient
from wifimgrd.config.configuration import TileSource
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._app import build_app
from wifimgrd.http._errors import STATUSES, UNAUTHORIZED
from wifimgrd.http._operations import JSON, Operation, Parameter, operation_of, parameter_of
from wifimgrd.http.access.token import COOKIE
from wifimgrd.http.description.resource import PLATFORM
from wifimgrd.http.settings import Settings
from wifimgrd.runtime.tasks import Tasks

_PROBLEM: Final = "application/problem+json"
_ANYWHERE: Final = (ErrorCode.INVALID_REQUEST, ErrorCode.NOT_AUTHORIZED, ErrorCode.INTERNAL)
_TAGS: Final = {
    "devices": "Registered cameras.",
    "connection": "Connecting and disconnecting cameras.",
    "control": "What cameras say of themselves, recording, and whether all are ready.",
    "power": "Cameras that sleep: found over Bluetooth, paired, woken.",
    "history": "What has happened.",
    "events": "What happens, as it does.",
    "cameras": "The cameras' own HTTP.",
    "interfaces": "The host's Wi-Fi adapters, and their scan results.",
    "tiles": "Map tiles without a network.",
    "service": "The state of the service.",
    "page": "The page, and this description.",
}
"""In the order in which people look for them."""
_ABOUT: Final = (
    "Connects Wi-Fi cameras through the USB Wi-Fi adapters of a Linux host. Every address answers with and"
    " without its trailing slash. Errors are problem details (RFC 9457) with a `code`. All changes are sent"
    f" on the WebSocket channel, which `/asyncapi.json` describes. {OPEN}"
)


@dataclass(frozen=True, slots=True)
class Described:
    """An operation at its place."""

    method: str
    path: str
    operation: Operation
    text: str


def openapi(*, with_token: bool, tile_sources: tuple[TileSource, ...] = ()) -> dict[str, Any]:
    """The description of all that is served; raises LookupError if a handler declares no operation, or one
    that has no example."""
    settings = Settings(platform=PLATFORM, token="any" if with_token else None, tile_sources=tile_sources)
    schemas = Schemas()
    paths: dict[str, dict[str, Any]] = {}
    operations: dict[str, Operation] = {}
    order = list(_TAGS)
    for one in sorted(_served(settings), key=lambda one: order.index(one.operation.tag)):
        described = _operation(one, schemas, with_token=with_token)
        if one.operation.name in operations:  # by another method
            described["operationId"] += f"_{one.method}"
        operations[one.operation.name] = one.operation
        paths.setdefault(one.path, {})[one.method] = described
    _link(operations, paths)
    schemas.named["Problem"] = _problem()
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "wifimgrd",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {"schemas": schemas.named},
    }
    if with_token:
        document["security"] = [{"bearer": []}, {"cookie": []}]
        document["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        }
    all_of_them = [one for methods in paths.values() for one in methods.values()]
    received = [one.get(part) for one in all_of_them for part in ("parameters", "requestBody")]
    open_values(document, [one["responses"] for one in all_of_them], received)
    return document


def _served(settings: Settings) -> Iterator[Described]:
    """What each route serves, in the order in which they are wired. Each is wired in two forms, first in the
    one that is described."""
    seen: set[str] = set()
    for resource in build_app(HubClient(), settings, Tasks("")).router.resources():
        path = resource.canonical
        if (path.removesuffix("/") if path.endswith("/") else path + "/") in seen:
            continue
        seen.add(path)
        for route in resource:
            operation = operation_of(route.handler)
            if operation is None:
                raise LookupError(f"{path} is not described")
            if route.method != "HEAD":
                text = inspect.cleandoc(operation.text or route.handler.__doc__ or "")
                yield Described(route.method.lower(), path, operation, text)


def _link(operations: Mapping[str, Operation], paths: Mapping[str, Mapping[str, Any]]) -> None:
    """Links to the operations that are possible next on the device that an answer describes."""
    for methods in paths.values():
        for described in methods.values():
            operation = operations.get(described["operationId"])
            if operation is not None and operation.next:
                described["responses"][str(operation.status)]["links"] = {
                    name: {
                        "operationId": name,
                        "parameters": {_names_device(operations[name]): "$response.body#/id"},
                    }
                    for name in operation.next
                }


def _names_device(operation: Operation) -> str:
    """The parameter that names the device."""
    names = (parameter_of(reader).name for reader in operation.reads)
    return next(name for name in names if name in ("id", "device_id"))


def _operation(one: Described, schemas: Schemas, *, with_token: bool) -> dict[str, Any]:
    operation = one.operation
    summary, description = (" ".join(part.split()) for part in one.text.partition("\n\n")[::2])
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": summary.rstrip("."),
        "responses": _responses(operation, summary, one.path, schemas, with_token=with_token),
    }
    if description:
        described["description"] = description
    if operation.reads:
        described["parameters"] = [
            _parameter(operation, parameter_of(reader), schemas) for reader in operation.reads
        ]
    if operation.body is not None:
        content = {"schema": schemas.of(operation.body), "example": example_of(operation).body}
        described["requestBody"] = {
            "required": not operation.is_body_optional,
            "content": dict.fromkeys(operation.body_types, content),
        }
    if operation.is_internal:
        described["x-internal"] = True
    if operation.public and with_token:
        described["security"] = []
    return described


def _parameter(operation: Operation, one: Parameter, schemas: Schemas) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": one.place,
        "required": one.required,
        "description": one.description,
        "schema": schemas.of(one.kind),
        "example": value_of(operation, one),
    }


def _responses(
    operation: Operation, summary: str, path: str, schemas: Schemas, *, with_token: bool
) -> dict[str, Any]:
    example = example_of(operation)
    success: dict[str, Any] = {"description": summary}
    if operation.answer is not None or operation.media_types != (JSON,):
        schema = {} if operation.answer is None else {"schema": schemas.of(operation.answer)}
        shown = _shown(example, example_address(operation, path))
        success["content"] = dict.fromkeys(operation.media_types, schema | shown)
        for media_type, kind in operation.others.items():
            of_other = {"schema": schemas.of(kind), "example": example.others[media_type]}
            success["content"][media_type] = of_other
    if operation.headers:
        success["headers"] = {
            name: {"description": text, "schema": {"type": "string"}}
            for name, text in operation.headers.items()
        }
    responses = {str(operation.status): success}
    responses |= {str(status): {"description": text} for status, text in operation.further.items()}
    for status, kind in operation.further_types.items():
        content = {"schema": schemas.of(kind), "example": example.further[status]}
        responses[str(status)]["content"] = {JSON: content}
    problems: dict[int, list[str]] = {}
    of_token = (UNAUTHORIZED,) if with_token and not operation.public else ()
    for code in (*operation.errors, *_ANYWHERE, *of_token):
        codes = problems.setdefault(STATUSES[code].status, [])
        if str(code) not in codes:
            codes.append(str(code))
    for status, codes in sorted(problems.items()):
        text = "; ".join(f"`{code}`: {STATUSES[code].title}" for code in codes)
        responses[str(status)] = {
            "description": text,
            "content": {_PROBLEM: {"schema": {"$ref": REFERENCE + "Problem"}}},
        }
        if "*/*" in operation.media_types:  # a camera's own answers, of any status
            responses[str(status)]["content"]["*/*"] = {}
    return responses


def _shown(example: Example, address: str) -> dict[str, Any]:
    """An example of an answer: the answer itself, or the address that has it."""
    if example.answer is not None:
        return {"example": example.answer}
    return {"examples": {"example": {"externalValue": address}}}


def _problem() -> dict[str, Any]:
    """RFC 9457, with the members that every problem of this API has."""
    return {
        "type": "object",
        "description": "The error. A field at fault is a further member, with a list of sentences.",
        "required": ["type", "title", "status", "detail", "code", "error"],
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": {"type": "string"},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string"},
            "code": {"type": "string", "enum": sorted(str(code) for code in STATUSES)},
            "error": {"type": "string", "description": "The same as `detail`."},
        },
        "additionalProperties": True,
    }
