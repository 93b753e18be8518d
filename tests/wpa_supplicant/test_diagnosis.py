from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.backends.networkmanager.failure_reasons import (
    at_deadline,
    attempt_failed,
    device_gone,
    link_ended,
)
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.networkmanager.definitions import DeviceState
from wifimgrd.wpa_supplicant.diagnosis import SupplicantDiagnosis, interrupted, is_down, not_seen

SSID = Ssid(b"CAM")
Changes = list[Mapping[str, Any]]


def verdict(changes: Changes, *, sae: bool = False, protected: bool = True) -> str | None:
    diagnosis = SupplicantDiagnosis(SSID, sae, protected)
    for changed in changes:
        if error := diagnosis.properties_changed(changed):
            assert '"CAM"' in error.message
            return error.code.value
    return None


UP: Changes = [{"State": "authenticating"}, {"State": "associating"}, {"State": "associated"}]
SHAKING: Changes = [*UP, {"State": "4way_handshake"}]
# As recorded from wpa_supplicant 2.10 in the lab.
HEARD: list[tuple[str, Changes, bool, str | None]] = [
    ("joined", [*SHAKING, {"State": "completed"}], False, None),
    (
        "wrong WPA2 password",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": 15}],
        False,
        "authentication-failed",
    ),
    (
        "the reply to the last message of the handshake lost",
        [
            *SHAKING,
            {"State": "completed"},
            {"State": "4way_handshake"},
            {"State": "disconnected", "DisconnectReason": 15},
        ],
        False,
        "device-not-reachable",
    ),
    (
        "wrong WPA2 password, reason first",
        [*SHAKING, {"DisconnectReason": 15}, {"State": "disconnected"}],
        False,
        "authentication-failed",
    ),
    (
        "the same, by another vendor",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": 2}],
        False,
        "authentication-failed",
    ),
    (
        "the same, states lost",
        [{"State": "disconnected", "DisconnectReason": 15}],
        False,
        "authentication-failed",
    ),
    (
        "switched off in the handshake",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": 3}],
        False,
        None,
    ),
    (
        "power cut in the handshake",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": -4}],
        False,
        None,
    ),
    (
        "wrong SAE password",
        [{"State": "authenticating"}, {"AuthStatusCode": 1, "State": "disconnected"}],
        True,
        "authentication-failed",
    ),
    ("the same, by another vendor", [{"AuthStatusCode": 15}], True, "authentication-failed"),
    ("full", [{"State": "disconnected", "AuthStatusCode": 17}], False, "association-refused"),
    ("full, SAE", [{"State": "disconnected", "AuthStatusCode": 17}], True, "association-refused"),
    ("access list", [{"AuthStatusCode": 1}], False, "association-refused"),
    (
        "weak signal",
        [*UP[:2], {"AssocStatusCode": 34, "State": "disconnected"}],
        False,
        "association-refused",
    ),
    (
        "full, told late",
        [*UP, {"DisconnectReason": 5, "State": "disconnected"}],
        False,
        "association-refused",
    ),
    ("come back later", [{"AssocStatusCode": 30}], False, None),
    ("SAE negotiation", [{"AuthStatusCode": 76}, {"AuthStatusCode": 126}], True, None),
    ("begin", [{"State": "associating", "AuthStatusCode": 0}], False, None),
    (
        "no answer",
        [{"State": "authenticating"}, {"State": "disconnected"}, {"State": "scanning"}],
        False,
        None,
    ),
]


@pytest.mark.parametrize(
    ("changes", "sae", "code"), [row[1:] for row in HEARD], ids=[row[0] for row in HEARD]
)
def test_what_the_supplicant_says(changes: Changes, sae: bool, code: str | None) -> None:
    assert verdict(changes, sae=sae) == code


def test_an_open_network_has_no_wrong_password() -> None:
    assert verdict([*UP, {"State": "disconnected", "DisconnectReason": 2}], protected=False) is None


@pytest.mark.parametrize(
    ("changes", "device_state", "visible", "code"),
    [
        ([*SHAKING, {"State": "completed"}], DeviceState.IP_CONFIG, True, "address-failed"),
        (SHAKING, DeviceState.CONFIG, True, "authentication-failed"),
        ([{"State": "scanning"}], DeviceState.CONFIG, False, "device-not-reachable"),
        ([{"State": "scanning"}], DeviceState.CONFIG, True, "association-refused"),
        (UP, DeviceState.CONFIG, True, "device-not-reachable"),
    ],
)
def test_at_the_deadline(changes: Changes, device_state: DeviceState, visible: bool, code: str) -> None:
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    assert [diagnosis.properties_changed(changed) for changed in changes] == [None] * len(changes)
    assert at_deadline(diagnosis, device_state, visible=visible).code.value == code


# What NetworkManager gives as the reason for FAILED, and as what it comes out.
@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (7, ErrorCode.AUTHENTICATION_FAILED),
        (8, ErrorCode.AUTHENTICATION_FAILED),
        (5, ErrorCode.ADDRESS_FAILED),
        (15, ErrorCode.ADDRESS_FAILED),
        (16, ErrorCode.ADDRESS_FAILED),
        (17, ErrorCode.ADDRESS_FAILED),
        (53, ErrorCode.DEVICE_NOT_REACHABLE),
        (11, ErrorCode.DEVICE_NOT_REACHABLE),
        (10, ErrorCode.BACKEND_UNAVAILABLE),
        (37, ErrorCode.BACKEND_UNAVAILABLE),
        (4, ErrorCode.BACKEND_UNAVAILABLE),
        (3, ErrorCode.INTERFACE_LOST),
        (39, ErrorCode.INTERFACE_LOST),
        (60, ErrorCode.INTERFACE_LOST),
    ],
)
def test_what_networkmanager_says_of_an_attempt(reason: int, code: ErrorCode) -> None:
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    assert attempt_failed(reason, diagnosis, "wlan0").code is code


def test_what_networkmanager_takes_for_a_wrong_password_is_none_after_a_completed_handshake() -> None:
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    diagnosis.properties_changed({"State": "completed"})
    assert attempt_failed(7, diagnosis, "wlan0").code is ErrorCode.DEVICE_NOT_REACHABLE


@given(st.integers(0, 100))
def test_a_link_that_networkmanager_lets_go_is_lost(reason: int) -> None:
    error = link_ended(reason, SSID, "wlan0")
    assert error.code is ErrorCode.CONNECTION_LOST
    assert '"CAM"' in error.message


def test_who_let_the_device_go() -> None:
    assert device_gone("wlan0", unplugged=True).code is ErrorCode.INTERFACE_LOST
    assert device_gone("wlan0", unplugged=False).code is ErrorCode.BACKEND_UNAVAILABLE


@pytest.mark.parametrize("state", ["disconnected", "inactive", "interface_disabled", "scanning"])
def test_down(state: str) -> None:
    assert is_down(state)


@pytest.mark.parametrize("state", ["completed", "group_handshake", "4way_handshake", "associating"])
def test_rekeying_and_roaming_are_not_down(state: str) -> None:
    assert not is_down(state)


@given(st.binary(min_size=1, max_size=32), st.integers(-10, 70))
def test_every_sentence_can_be_shown(octets: bytes, code: int) -> None:
    ssid = Ssid(octets)
    diagnosis = SupplicantDiagnosis(ssid, sae=True, protected=True)
    errors: list[WifimgrdError | None] = [
        interrupted(ssid, code),
        link_ended(abs(code), ssid, "wlan0"),
        attempt_failed(abs(code), diagnosis, "wlan0"),
        not_seen(ssid),
        diagnosis.properties_changed({"AuthStatusCode": code}),
        diagnosis.properties_changed({"DisconnectReason": code}),
        *(at_deadline(diagnosis, state, visible=True) for state in (50, 70)),
    ]
    assert all(error.message.isprintable() for error in errors if error)
