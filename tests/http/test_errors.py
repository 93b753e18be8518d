"""Problems against the contract's table, and how fields at fault are nested."""

from __future__ import annotations

import pytest

from wifimgrd.domain.errors import ErrorCode, InvalidRequest
from wifimgrd.http._errors import STATUSES, Problem, field_members, problem_of

OF_CONTRACT = {
    "invalid-request": 400,
    "payload-too-large": 413,
    "unsupported-media-type": 415,
    "idempotency-key-reused": 422,
    "not-found": 404,
    "method-not-allowed": 405,
    "unauthorized": 401,
    "cancelled": 409,
    "device-not-found": 404,
    "interface-not-found": 404,
    "group-not-found": 404,
    "no-interface-available": 409,
    "busy": 409,
    "device-not-reachable": 504,
    "authentication-failed": 502,
    "association-refused": 502,
    "address-failed": 504,
    "interface-lost": 502,
    "connection-lost": 502,
    "backend-unavailable": 503,
    "not-authorized": 403,
    "too-many-requests": 429,
    "tile-not-found": 404,
    "tile-source-unavailable": 502,
    "not-supported": 409,
    "not-paired": 409,
    "pairing-failed": 502,
    "wake-failed": 504,
    "bluetooth-unavailable": 503,
    "camera-busy": 409,
    "camera-refused": 502,
    "not-connected": 409,
    "unconfirmed": 504,
    "internal": 500,
}


@pytest.mark.parametrize(("code", "status"), OF_CONTRACT.items())
def test_a_code_has_the_contracts_status(code: str, status: int) -> None:
    assert STATUSES[code].status == status


def test_the_contract_has_every_code() -> None:
    assert STATUSES.keys() == OF_CONTRACT.keys()
    assert STATUSES.keys() >= set(ErrorCode)


def test_a_problem_has_the_members_of_rfc_9457_and_ours() -> None:
    response = Problem("busy", "it is disconnecting").response()
    assert response.status == 409
    assert response.content_type == "application/problem+json"
    assert response.body == (
        b'{"type":"urn:wifimgrd:error:busy","title":"The device is busy","status":409,'
        b'"detail":"it is disconnecting","code":"busy","error":"it is disconnecting"}'
    )


def test_fields_of_the_settings_are_nested_as_they_were_sent() -> None:
    fields = {"codename": ("A.",), "ssid": ("B.", "C."), "password": ("D.",)}
    assert field_members(fields) == {
        "codename": ["A."],
        "connection_settings": {"ssid": ["B.", "C."], "password": ["D."]},
    }


def test_a_field_never_takes_the_place_of_a_member_of_the_problem() -> None:
    problem = problem_of(InvalidRequest("no", {"status": ("odd",), "code": ("odd",)}))
    body = problem.response().body
    assert isinstance(body, bytes)
    assert b'"status":400' in body
    assert b"odd" not in body


def test_only_what_is_unavailable_says_when_to_come_again() -> None:
    assert "Retry-After" in Problem("backend-unavailable", "gone").response().headers
    assert "Retry-After" not in Problem("busy", "no").response().headers


def test_half_a_surrogate_pair_does_not_break_an_answer() -> None:
    body = Problem("invalid-request", "\ud800 ä").response().body
    assert isinstance(body, bytes)
    assert "? ä" in body.decode()
