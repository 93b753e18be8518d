"""JSON as it is sent and read: one line, letters unescaped, always valid UTF-8."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from wifimgrd.domain.errors import InvalidRequest


def dumps(value: object) -> str:
    """Write a value as JSON text that can be encoded; a lone surrogate becomes `?`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def loads(data: bytes, what: str) -> Any:
    """Read JSON: UTF-8 (RFC 8259), no duplicate keys, no NaN. Raises InvalidRequest, in whose sentence the
    text is called `what`."""

    def members(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise InvalidRequest(f"{what} names a member twice")
        return found

    def constant(_: str) -> NoReturn:
        raise InvalidRequest(f"{what} holds NaN or Infinity, which JSON does not have")

    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=members, parse_constant=constant)
    except RecursionError:
        raise InvalidRequest(f"{what} is nested too deeply") from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"{what} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"{what} is not JSON: {error.msg}, at character {error.pos}") from None
    except ValueError:
        raise InvalidRequest(f"{what} holds a number out of bounds") from None
