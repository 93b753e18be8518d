"""One tree of errors, one code each."""

from __future__ import annotations

import pytest

from wifimgrd.domain import errors
from wifimgrd.domain.errors import ErrorCode, InvalidRequest, NoInterfaceAvailable, WifimgrdError, error_of


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_has_its_error(code: ErrorCode) -> None:
    error = error_of(code, "why")
    assert isinstance(error, WifimgrdError)
    assert (error.code, error.message, str(error)) == (code, "why", "why")


def test_no_two_errors_share_a_code_but_a_special_case_with_its_case() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, WifimgrdError) and kind is not WifimgrdError
    ]
    cases = [kind for kind in kinds if kind.__base__ is WifimgrdError]
    assert len({kind.code for kind in cases}) == len(cases)
    for kind in kinds:
        assert any(issubclass(kind, case) and kind.code is case.code for case in cases)


def test_the_codes_are_those_of_the_contract() -> None:
    assert set(ErrorCode) == {
        "invalid-request",
        "cancelled",
        "device-not-found",
        "interface-not-found",
        "group-not-found",
        "no-interface-available",
        "busy",
        "device-not-reachable",
        "authentication-failed",
        "association-refused",
        "address-failed",
        "interface-lost",
        "connection-lost",
        "backend-unavailable",
        "not-authorized",
        "too-many-requests",
        "idempotency-key-reused",
        "not-supported",
        "not-paired",
        "pairing-failed",
        "wake-failed",
        "bluetooth-unavailable",
        "camera-busy",
        "camera-refused",
        "not-connected",
        "unconfirmed",
        "internal",
    }


def test_what_an_error_carries_cannot_be_changed() -> None:
    invalid = InvalidRequest("bad", {"ssid": ("The SSID must not be empty.",)})
    refused = NoInterfaceAvailable("none", {"wlan0": "in use by device 1"})
    for carried in (invalid.fields, refused.reasons):
        with pytest.raises(TypeError):
            carried["other"] = "x"  # type: ignore[index]
    assert not InvalidRequest("bad").fields
    assert not NoInterfaceAvailable("none").reasons
