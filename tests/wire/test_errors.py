"""The error codes, and their names on D-Bus."""

from __future__ import annotations

import pytest

from wifimgrd.bus._messages import BusError
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.wire.errors import NAME_OF, error_of_reply

NAMES = {
    "invalid-request": "InvalidArguments",
    "too-many-requests": "LimitsExceeded",
    "internal": "Failed",
}
"""The codes that have another name on D-Bus."""


@pytest.mark.parametrize("code", list(ErrorCode))
def test_a_code_has_the_contracts_name_on_the_bus(code: ErrorCode) -> None:
    name = NAMES.get(code) or "".join(part.capitalize() for part in code.split("-"))
    assert NAME_OF[code] == f"org.wifimgrd1.Error.{name}"


@pytest.mark.parametrize("code", list(ErrorCode))
def test_a_code_of_the_daemon_is_the_same_code_at_the_client(code: ErrorCode) -> None:
    error = error_of_reply(BusError(NAME_OF[code], "the reason"))
    assert (error.code, error.message) == (code, "the reason")
