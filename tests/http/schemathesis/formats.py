"""How schemathesis makes texts that JSON Schema alone cannot describe."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import schemathesis
from hypothesis import strategies as st

_LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))

# An SSID has 32 bytes at most, whatever number of characters that is.
schemathesis.openapi.format("ssid", st.text(_LETTERS, min_size=1, max_size=8))
# What people call a thing has something in it that can be seen, and no two devices have one name.
_NUMBERS = count(1)
_EXAMPLE = re.compile(r"(Front|Nose)( [0-9]+)?")
"""The names in the examples."""
_KEY = re.compile("[ -~]{1,255}")
schemathesis.openapi.format(
    "label", st.text(_LETTERS, max_size=90).map(lambda text: f"{text}{next(_NUMBERS)}")
)


@schemathesis.hook
def before_call(context: object, case: Any, **_: object) -> None:
    """A request may be sent more than once, but a name and an idempotency key are for one camera."""
    del context
    body, headers = case.body, case.headers or {}
    if isinstance(body, dict) and _EXAMPLE.fullmatch(str(body.get("name"))):
        body["name"] = f"Front {next(_NUMBERS)}"
    if _KEY.fullmatch(headers.get("Idempotency-Key", "")):
        headers["Idempotency-Key"] = f"key {next(_NUMBERS)}"
