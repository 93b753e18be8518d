"""OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1.html) of the routes that are served."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from wifimgrd import __version__
from wifimgrd.client.json_schema import REFERENCE, Schemas
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.access.token import COOKIE
from wifimgrd.http.description.examples import Example, example_address, example_of, value_of
from wifimgrd.http.description.operations import JSON, Operation, Parameter
from wifimgrd.http.errors import KINDS, UNAUTHORIZED
from wifimgrd.http.routes import Route

_PROBLEM: Final = "application/problem+json"
_ANYWHERE: Final = (ErrorCode.INVALID_REQUEST, ErrorCode.NOT_AUTHORIZED, ErrorCode.INTERNAL)
_TAGS: Final = {
    "devices": "Registered cameras.",
    "connection": "Connecting and disconnecting cameras.",
    "cameras": "The cameras' own HTTP.",
    "interfaces": "The host's Wi-Fi adapters, and their scan results.",
    "tiles": "Map tiles without a network.",
    "service": "The state of the service, its features, and this description.",
}
_ABOUT: Final = (
    "Connects Wi-Fi cameras through the USB Wi-Fi adapters of a Linux host. Every address answers with and"
    " without its trailing slash. Errors are problem details (RFC 9457) with a `code`. All changes are sent"
    " on the WebSocket channel, which `/asyncapi.json` describes."
)


def openapi(routes: Collection[Route], *, with_token: bool) -> dict[str, Any]:
    """The description of routes; raises LookupError where a handler declares no operation, or one that has no
    example."""
    schemas = Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.operation is None:
            raise LookupError(f"{route.path} is not described")
        path = re.sub(r"\{(\w+):[^{}]*\}", r"{\1}", route.path)
        first, *others = [method for method in route.methods if method != "HEAD"]
        for method in (first, *others):
            described = _operation(route.operation, path, schemas, with_token=with_token)
            if method != first:
                described["operationId"] += f"_{method.lower()}"
            paths.setdefault(path, {})[method.lower()] = described
    _link({route.operation.name: route.operation for route in routes if route.operation}, paths)
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
    return document


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
    return next(one.name for one in operation.parameters if one.name in ("id", "device_id"))


def _operation(operation: Operation, path: str, schemas: Schemas, *, with_token: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary.rstrip("."),
        "responses": _responses(operation, path, schemas, with_token=with_token),
    }
    if operation.description:
        described["description"] = operation.description
    if operation.parameters:
        described["parameters"] = [_parameter(operation, one, schemas) for one in operation.parameters]
    if operation.body is not None:
        content = {"schema": schemas.of(operation.body), "example": example_of(operation).body}
        described["requestBody"] = {"required": True, "content": {JSON: content}}
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


def _responses(operation: Operation, path: str, schemas: Schemas, *, with_token: bool) -> dict[str, Any]:
    example = example_of(operation)
    success: dict[str, Any] = {"description": operation.summary}
    if operation.answer is not None or operation.media_types != (JSON,):
        schema = {} if operation.answer is None else {"schema": schemas.of(operation.answer)}
        shown = _shown(example, example_address(operation, path))
        success["content"] = dict.fromkeys(operation.media_types, schema | shown)
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
    problems = operation.problems()
    for code in (*_ANYWHERE, *((UNAUTHORIZED,) if with_token and not operation.public else ())):
        codes = problems.setdefault(KINDS[code].status, [])
        if str(code) not in codes:
            codes.append(str(code))
    for status, codes in sorted(problems.items()):
        text = "; ".join(f"`{code}`: {KINDS[code].title}" for code in codes)
        responses[str(status)] = {
            "description": text,
            "content": {_PROBLEM: {"schema": {"$ref": REFERENCE + "Problem"}}},
        }
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
            "code": {"type": "string", "enum": sorted(str(code) for code in KINDS)},
            "error": {"type": "string", "description": "The same as `detail`."},
        },
        "additionalProperties": True,
    }
